"""TODO adapters/flink."""
