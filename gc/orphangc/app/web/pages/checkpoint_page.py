"""The page of one checkpoint: what its ``_metadata`` holds, read on request by a child process."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from markupsafe import Markup

from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import visible
from orphangc.app.web.pages.lineage_page import shown_lineages
from orphangc.app.web.problem_documents import problem
from orphangc.app.web.runs import FoundRun
from orphangc.errors import OrphanGcError

_UNKNOWN = "This run read no such checkpoint."


ReadPagePart = Callable[[str, Sequence[str]], str]
"""Reads a checkpoint, with aliases, in bounded time as HTML; see ``Children.page_part``."""


def checkpoints_context(found: FoundRun, job_id: str | None) -> dict[str, Any]:
    """Return the values for the page that lists the checkpoints of a run, or of one job of it."""
    shown = shown_lineages(found.record)
    listed = [each for each in shown.checkpoints if job_id in {None, each.job_id}]
    newest = sorted(listed, key=lambda each: (each.job_id, -each.checkpoint_id, each.uri))
    return {"run": found.record, "job_id": job_id, "shown": shown, "checkpoints": newest}


def checkpoint_context(found: FoundRun, uri: str, page_part: ReadPagePart) -> dict[str, Any]:
    """Return the values for the page of one checkpoint.

    Only what the run itself has read is read: a request cannot name other places.

    Raises:
        HTTPException: The run has read no such checkpoint, or it cannot be read now.
    """
    record = found.record
    each = next((e for e in shown_lineages(record).checkpoints if e.uri == uri), None)
    if each is None:
        raise problem(HTTPStatus.NOT_FOUND, _UNKNOWN)
    aliases = found.root.settings.alias
    try:
        part = page_part(uri, aliases)
    except OrphanGcError as err:
        raise problem(HTTPStatus.SERVICE_UNAVAILABLE, redacted(f"{uri}: {err}.")) from err
    words = ["orphangc", "inspect", uri, *(w for a in aliases for w in ("--alias", a))]
    is_shown = visible("".join(words)) == "".join(words)
    command = shlex.join(words) if is_shown else None
    return {"run": record, "checkpoint": each, "part": Markup(part), "command": command}  # noqa: S704 - our own template escaped it
