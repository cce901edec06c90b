"""TODO app/daemon."""
