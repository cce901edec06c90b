"""TODO flink/values."""
