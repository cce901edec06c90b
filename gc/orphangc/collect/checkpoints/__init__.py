"""TODO collect/checkpoints."""
