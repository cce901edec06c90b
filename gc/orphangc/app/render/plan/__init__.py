"""A plan as tables, as Markdown and as a page."""
