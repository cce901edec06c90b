"""TODO collect/delete."""
