"""TODO app/commands/world."""
