"""TODO app/console."""
