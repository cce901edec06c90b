"""Foreign text, sizes and numbers as people read them."""
