"""Phase 2: list the storage root in parallel key ranges."""
