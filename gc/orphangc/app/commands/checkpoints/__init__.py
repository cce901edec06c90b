"""TODO app/commands/checkpoints."""
