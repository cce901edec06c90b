"""What each command about single checkpoints does, for any program that opens places."""
