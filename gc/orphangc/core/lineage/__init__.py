"""Which job continued which, and which checkpoints a retention policy keeps (R40-R44)."""
