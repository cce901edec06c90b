"""TODO core/ranges."""
