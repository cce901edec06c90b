"""Files of checkpoints, on this machine and in any storage."""
