"""TODO flink/rescale."""
