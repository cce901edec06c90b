"""TODO collect/observe."""
