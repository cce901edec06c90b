"""Compact columns: listings, UUID sets, live set, tombstones."""
