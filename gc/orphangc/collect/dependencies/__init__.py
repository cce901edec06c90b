"""TODO collect/dependencies."""
