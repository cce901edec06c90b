"""TODO collect/sweep."""
