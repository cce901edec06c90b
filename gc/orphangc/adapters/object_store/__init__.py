"""Storages and state locations in object stores: S3, Azure, Google Cloud Storage."""
