"""Reads and writes the checkpoints and savepoints of Apache Flink, without Flink."""
