"""``world`` and ``world acknowledge``, and checks of ``doctor`` for the world."""
