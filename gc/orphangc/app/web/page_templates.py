"""Render pages from templates, with the texts and values that all of them need."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse

from flinkstate.tables.checkpoint_view import PARTS
from flinkstate.text.shown_text import KindText
from orphangc import __version__
from orphangc.app.console.text import Entry, entries
from orphangc.app.render.advice import condition_advice
from orphangc.app.render.stops import Fate
from orphangc.app.render.template_environment import page_environment
from orphangc.core.documents.run_record import RunResult
from orphangc.core.model.shown import RunMode

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


MODE_TEXT: Mapping[RunMode, KindText] = {
    RunMode.REPORT: KindText("Report only", "It reports; it changes and deletes nothing."),
    RunMode.QUARANTINE: KindText(
        "Quarantine",
        "It writes down which objects are orphans, a tombstone each; it deletes nothing.",
    ),
    RunMode.DELETE: KindText(
        "Delete", "It deletes what has stayed an orphan for the whole quarantine period."
    ),
}


RESULT_TEXT: Mapping[RunResult, Entry] = {
    RunResult(each.code): each
    for each in entries("""\
done (clear): done
    Nothing to do.
blocked (blocked): blocked
    Nothing can be deleted before what stops the jobs is resolved; it is shown below.
some_deletes_failed (refused): some deletions failed
    Look at the errors in the run's outcomes.parquet, and whether the credentials may delete there;
    what failed stays an orphan, and the next run tries again.
refused (refused): refused
    See why; nothing is deleted until that is resolved.
failed (refused): failed
    Look at the log of this run by its id; orphangc doctor --config FILE checks settings and
    permissions.
unreachable (refused): storage unreachable
    Check endpoint, network and credentials: orphangc doctor --config FILE tries them one by one.
locked (blocked): another run held the lock
    Nothing to do if the other run is meant to be there; else let only one daemon or CronJob have
    this storage root.
interrupted (blocked): interrupted
    Nothing to do if you stopped it: the next run starts again. Otherwise check whether its process
    ran out of memory.
missed (blocked): missed
    Nothing to do if this machine was asleep; else give the schedule a longer interval than a run
    takes.
""")
}
"""Each result in words, marked with the fate whose colour it has, and advice about it."""

FATE_TEXT: Mapping[Fate, str] = {
    Fate.REFUSED: "cannot be judged",
    Fate.BLOCKED: "deletion blocked",
    Fate.CLEAR: "clear",
}

SUSTAINED_TEXT: Mapping[bool | None, tuple[str, Fate, str]] = {
    True: ("yes", Fate.CLEAR, "it needs no file of the snapshot that it was restored from"),
    False: ("no", Fate.BLOCKED, "keep the snapshot that it was restored from: it uses files of it"),
    None: ("cannot be known", Fate.BLOCKED, "keep the snapshot that it was restored from"),
}
"""Short text, the fate whose mark it has, and what follows from the answer."""


def utc_minute(at: datetime) -> str:
    """Return a time in UTC to the minute."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def span_text(span: timedelta) -> str:
    """Return an approximate duration in one unit: ``3 days``, ``12 minutes``."""
    seconds = round(abs(span.total_seconds()))
    for unit, size in _UNITS:
        # two of a smaller unit are more exact than one of a larger
        if seconds >= size * (2 if unit != "minute" else 1):
            count = round(seconds / size)
            return f"{count} {unit}" + ("" if count == 1 else "s")
    return f"{seconds} second" + ("" if seconds == 1 else "s")


def relative_time(at: datetime, now: datetime) -> str:
    """Return a time relative to now: ``12 minutes ago``, ``in 5 hours``, ``just now``."""
    span = at - now
    if abs(span) < timedelta(seconds=10):
        return "just now"
    return f"{span_text(span)} ago" if span < timedelta(0) else f"in {span_text(span)}"


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
