"""What Flink and its surroundings say of jobs, and what follows from it."""
