"""Plans and reports as text, Markdown and HTML."""
