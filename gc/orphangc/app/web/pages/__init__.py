"""TODO app/web/pages."""
