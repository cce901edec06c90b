"""Entries of keyed state in canonical savepoints and full RocksDB snapshots."""
