"""TODO core/columns."""
