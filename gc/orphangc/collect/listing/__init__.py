"""TODO collect/listing."""
