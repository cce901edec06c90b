"""``doctor``, ``policy``, ``explain``, ``registry``, ``users-of``, ``undelete``, ``demo``."""
