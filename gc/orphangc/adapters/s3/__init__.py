"""Storages and state locations in S3: list, HEAD, read, delete."""
