"""TODO core/decision."""
