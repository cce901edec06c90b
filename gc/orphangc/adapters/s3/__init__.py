"""Buckets of S3: pages, facts, conditional deletion, undeletion, what no listing shows."""
