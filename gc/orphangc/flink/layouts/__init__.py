"""TODO flink/layouts."""
