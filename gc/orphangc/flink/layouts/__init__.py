"""How records of ``_metadata`` are laid out in each version."""
