"""State in a checkpoint: names, kinds, serializers, byte ranges."""
