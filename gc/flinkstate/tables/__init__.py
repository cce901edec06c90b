"""The contents of checkpoints as tables and trees, and how tables are printed."""
