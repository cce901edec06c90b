"""TODO adapters/spark/exchange."""
