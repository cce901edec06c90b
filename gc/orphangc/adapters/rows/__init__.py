"""TODO adapters/rows."""
