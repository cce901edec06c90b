"""Which jobs still need foreign files: self-sustained state, users of a snapshot."""
