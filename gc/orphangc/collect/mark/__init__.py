"""TODO collect/mark."""
