"""What single checkpoints contain, read from storage."""
