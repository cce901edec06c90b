"""TODO adapters/s3/pages."""
