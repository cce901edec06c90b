"""TODO app/config."""
