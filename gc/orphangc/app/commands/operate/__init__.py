"""TODO app/commands/operate."""
