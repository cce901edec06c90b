"""Render pages from templates, with the values that all of them need."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

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
    minute,
    relative_time,
    span_text,
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
    environment.filters.update(ago=relative_time, minute=minute, span=span_text)
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


@cache
def style() -> str:
    """Return the style sheet of all pages."""
    return _environment().get_template("web.css.j2").render()


@cache
def style_name() -> str:
    """Return the name of the style sheet, which changes with its contents."""
    return f"style-{_digest(style())}.css"


@cache
def script() -> str:
    """Return the script of the pages that change while they are looked at."""
    return _environment().get_template("refresh.js").render()


@cache
def script_name() -> str:
    """Return the name of the script, which changes with its contents."""
    return f"refresh-{_digest(script())}.js"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def icon() -> str:
    """Return the icon of all pages."""
    return _ICON


def page(
    request: Request, template: str, context: Mapping[str, Any], status: int = 200
) -> HTMLResponse:
    """Return a page.

    Args:
        request: Request, whose root path is that of a proxy.
    """
    base = str(request.scope.get("root_path", "")).rstrip("/")
    names = {"style_name": style_name(), "script_name": script_name()}
    text = _environment().get_template(template).render(base=base, **names, **context)
    return HTMLResponse(text, status)
