"""Which device or bucket holds a place."""
