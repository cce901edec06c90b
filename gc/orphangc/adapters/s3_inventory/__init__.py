"""S3 Inventory reports in the place of a listing."""
