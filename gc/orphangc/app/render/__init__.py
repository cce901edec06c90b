"""What a plan and an outcome look like to people: terminal, Markdown, HTML."""
