"""Which foreign files the checkpoints of a job still name."""
