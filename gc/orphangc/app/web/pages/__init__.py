"""The status page, one module for each kind of page."""
