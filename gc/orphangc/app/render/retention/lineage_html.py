"""Lineages as one HTML file: no script, no asset, no request; it can be mailed and printed."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment

from orphangc.app.render.retention.lineage_picture import lineage_picture
from orphangc.app.render.retention.unneeded_text import unneeded_sentence
from orphangc.app.render.template_environment import page_environment
from orphangc.core.documents.lineage_report import LineageReport

_LIMITS = {"limit_lineages": 200, "limit_rows": 2000}
"""Maximum numbers of entries; the JSON document has all of them."""


def render_lineages(report: LineageReport, price: float) -> str:
    """Return lineages as one self-contained page."""
    drawn = [
        (each, lineage_picture(each, report.created_at))
        for each in report.lineages[: _LIMITS["limit_lineages"]]
    ]
    return (
        _environment()
        .get_template("lineages.html.j2")
        .render(
            report=report,
            drawn=drawn,
            now=report.created_at,
            sentence_of_bytes=unneeded_sentence(report.unneeded, price),
        )
    )


@cache
def _environment() -> Environment:
    environment = page_environment("orphangc.app.render")
    environment.globals.update(_LIMITS)
    return environment
