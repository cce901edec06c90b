"""TODO flink/metadata."""
