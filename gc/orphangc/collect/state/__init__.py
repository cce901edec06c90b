"""The state location: tombstones, lock, run history."""
