"""Phase 5: act only where a saved plan and a fresh cycle agree; lay tombstones."""
