"""TODO collect/decide."""
