"""Flink's own formats, as pure functions over bytes."""
