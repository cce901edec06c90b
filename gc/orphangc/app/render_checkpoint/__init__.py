"""TODO app/render_checkpoint."""
