"""The phases of a collection, written against ports only."""
