"""Layouts of the records of ``_metadata`` in each version."""
