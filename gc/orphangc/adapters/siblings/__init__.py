"""Storage roots beside the collected one: searched for checkpoints, never deleted from."""
