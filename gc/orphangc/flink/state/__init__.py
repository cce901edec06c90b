"""What state a checkpoint holds: names, kinds, serializers, byte ranges."""
