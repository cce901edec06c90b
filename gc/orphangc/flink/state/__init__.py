"""TODO flink/state."""
