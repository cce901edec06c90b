"""The collection, one phase in each folder; it knows ports only, no adapter."""
