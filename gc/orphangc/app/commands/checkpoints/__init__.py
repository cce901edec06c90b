"""``inspect``, ``extract``, ``declare``, ``unclaimed``: commands about single checkpoints."""
