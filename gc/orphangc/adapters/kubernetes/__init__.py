"""TODO adapters/kubernetes."""
