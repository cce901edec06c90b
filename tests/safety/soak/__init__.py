"""A soak on a real Flink that is collected all the time, and who proves that nothing was lost."""
