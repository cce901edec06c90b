"""What a plan and an outcome look like to people: terminal, Markdown, HTML."""

from orphangc.shell.render.html import render_html
from orphangc.shell.render.markdown import render_markdown
from orphangc.shell.render.tables import outcome_tables, plan_tables
from orphangc.shell.render.words import human_bytes

__all__ = ["human_bytes", "outcome_tables", "plan_tables", "render_html", "render_markdown"]
