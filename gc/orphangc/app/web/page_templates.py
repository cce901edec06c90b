"""Render pages from templates, with the values that all of them need."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse

from flinkstate.tables.checkpoint_view import PARTS
from orphangc import __version__
from orphangc.app.render.advice import condition_advice
from orphangc.app.render.template_environment import page_environment
from orphangc.app.web.page_text import (
    FATE_TEXT,
    MODE_TEXT,
    RESULT_TEXT,
    SUSTAINED_TEXT,
    relative_time,
    span_text,
    utc_minute,
)

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8"'
    ' fill="#2563b8"/><circle cx="8" cy="8" r="4" fill="none" stroke="#fff" stroke-width="2"'
    ' stroke-dasharray="19 6"/></svg>'
)

_ROWS = 500
"""Maximum number of checkpoints in a table."""


@cache
def _environment() -> Environment:
    environment = page_environment("orphangc.app.web", "orphangc.app.render")
    environment.filters.update(ago=relative_time, minute=utc_minute, span=span_text)
    environment.globals.update(
        version=__version__,
        advice_about=condition_advice,
        fate_text=FATE_TEXT,
        mode_text=MODE_TEXT,
        result_text=RESULT_TEXT,
        sustained_text=SUSTAINED_TEXT,
        anchors={},  # bars of the report link to anchors on its page; here they link to pages
        fates={},
        parts=PARTS,
        limit_rows=_ROWS,
    )
    return environment


class Asset(NamedTuple):
    """A file of all pages; its name changes with its contents."""

    name: str
    media_type: str
    text: str


@cache
def assets() -> Mapping[str, Asset]:
    """Return the style sheet, the script of pages that change while they are shown, the icon."""
    style, script = (_environment().get_template(n).render() for n in ("web.css.j2", "refresh.js"))
    return {
        "style": Asset(f"style-{_digest(style)}.css", "text/css", style),
        "script": Asset(f"refresh-{_digest(script)}.js", "text/javascript", script),
        "icon": Asset("icon.svg", "image/svg+xml", _ICON),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def page(
    request: Request, template: str, context: Mapping[str, Any], status: int = 200
) -> HTMLResponse:
    """Return a page."""
    base = str(request.scope.get("root_path", "")).rstrip("/")
    names = {f"{kind}_name": each.name for kind, each in assets().items()}
    text = _environment().get_template(template).render(base=base, **names, **context)
    return HTMLResponse(text, status)
