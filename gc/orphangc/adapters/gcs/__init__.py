"""Buckets of Google Cloud Storage: pages, facts, conditional deletion, restoring."""
