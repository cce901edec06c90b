"""`lineage` and `expire`: jobs that are over, and what a policy lets go."""
