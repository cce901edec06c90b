"""What ``_metadata`` says, as values."""
