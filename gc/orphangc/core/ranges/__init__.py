"""Key ranges, and where to split them."""
