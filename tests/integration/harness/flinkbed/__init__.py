"""A real, unmodified Apache Flink session cluster on loopback, to be broken on purpose."""
