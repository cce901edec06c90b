"""TODO adapters/s3."""
