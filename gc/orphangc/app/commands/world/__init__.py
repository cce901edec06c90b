"""``world`` and ``world acknowledge``, and what ``doctor`` says of the world."""
