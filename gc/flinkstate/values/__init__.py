"""Content of ``_metadata`` as values."""
