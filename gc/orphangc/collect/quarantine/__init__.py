"""Carry out an expiry: a `_metadata` goes, may come back, and leaves its files (R44)."""
