"""Phase 1: read clusters, exporters and checkpoints in the safe order."""
