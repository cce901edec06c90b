"""Checkpoints as JSON documents, and the contents of each operator."""
