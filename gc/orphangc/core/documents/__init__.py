"""TODO core/documents."""
