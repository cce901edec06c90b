"""TODO adapters/s3/requests."""
