"""A garbage collector for orphaned Apache Flink checkpoint files."""

__version__ = "0.1.0"
