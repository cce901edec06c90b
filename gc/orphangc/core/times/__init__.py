"""The one way from a stored number or text to a ``datetime``, and from there to arithmetic."""
