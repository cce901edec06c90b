"""The contents of a checkpoint as tables and as a page."""
