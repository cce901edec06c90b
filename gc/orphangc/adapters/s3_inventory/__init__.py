"""S3 Inventory reports instead of a listing."""
