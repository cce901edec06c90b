"""Read and write ``_metadata``, versions 2 to 7."""
