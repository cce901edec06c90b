"""A checkpoint as a JSON document, and the contents of each operator."""
