"""TODO core/memory."""
