"""TODO flink/compatibility."""
