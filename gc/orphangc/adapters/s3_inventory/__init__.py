"""TODO adapters/s3_inventory."""
