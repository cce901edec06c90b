"""Versioned JSON documents: plan, run record, S3 Inventory manifest."""
