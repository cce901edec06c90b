"""TODO core/dependencies."""
