"""Lineages of jobs, and the checkpoints that a retention policy lets go (R40-R44)."""
