"""Storages and state locations in local folders and on any file system that fsspec knows."""
