"""TODO app/wiring."""
