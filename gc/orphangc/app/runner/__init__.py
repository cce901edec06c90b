"""TODO app/runner."""
