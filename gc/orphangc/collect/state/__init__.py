"""TODO collect/state."""
