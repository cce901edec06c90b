"""TODO app/status."""
