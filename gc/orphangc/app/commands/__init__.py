"""TODO app/commands."""
