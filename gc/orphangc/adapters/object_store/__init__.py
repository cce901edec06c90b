"""Storages and state locations in object stores that delete under a condition (Azure, Google)."""
