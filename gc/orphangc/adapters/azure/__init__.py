"""Containers of Azure Blob Storage: pages, facts, conditional deletion, restoring."""
