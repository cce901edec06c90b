"""Phase 5: carry out a cycle, or a saved plan where a fresh cycle agrees; lay tombstones."""
