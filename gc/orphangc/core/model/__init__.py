"""TODO core/model."""
