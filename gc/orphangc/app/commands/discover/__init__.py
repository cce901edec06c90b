"""`discover`, and the check of `doctor` for it."""
