"""Flink's redistribution of operator state and keyed state."""
