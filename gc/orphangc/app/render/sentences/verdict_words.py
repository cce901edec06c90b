"""Verdicts in sentences, for the page of an object and for ``explain``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.console.text import duration, instant
from orphangc.app.render.reason_groups import ACTIONS, REASONS
from orphangc.core.model.types import Action, Reason
from orphangc.core.times.instants import from_iso, shifted

_NAMED = 5


def headline_of(action: Action, reason: Reason) -> str:
    """Return a verdict in a sentence."""
    return f"{ACTIONS[action].meaning[:-1]}: {REASONS[reason].label}."


def explanation_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield an explanation in sentences: verdict, who needs it, what must pass, how to pin it."""
    verdict = document["verdict"]
    action, reason = Action(verdict["action"]), Reason(verdict["reason"])
    stored = document["object"]["modified_at"]
    size = human_bytes(document["object"]["size"])
    yield document["uri"]
    yield f"{size}, stored {'at an unknown time' if stored is None else instant(stored)}"
    yield ""
    yield headline_of(action, reason)
    yield REASONS[reason].meaning
    if document["scheme"]["remark"]:
        yield document["scheme"]["remark"]
    yield ""
    yield from _needed_by(document["referenced_by"])
    yield from _awaited(document, action, reason)
    if action is not Action.KEEP or reason is not Reason.REFERENCED:
        yield ""
        yield "To keep it whatever comes: plan with"
        yield f"  --pin {shlex.quote(document['uri'])}"


def _needed_by(checkpoints: list[dict[str, Any]]) -> Iterator[str]:
    if not checkpoints:
        yield "No checkpoint or savepoint names it."
        return
    number = counted(len(checkpoints), "checkpoint or savepoint", "checkpoints and savepoints")
    yield f"Needed by {number}:"
    yield from (f"  {each['root']} (by its {each['how']})" for each in checkpoints[:_NAMED])
    if len(checkpoints) > _NAMED:
        yield f"  and {len(checkpoints) - _NAMED:,} more; --output json names all"


def _awaited(document: Mapping[str, Any], action: Action, reason: Reason) -> Iterator[str]:
    job = document["job"] or {}
    refused = job.get("refused")
    stops = [] if refused is None else [(refused["guard"], refused["message"])]
    stops += [(each["condition"], each["message"]) for each in job.get("blocked", ())]
    if stops:
        yield "Nothing of its job is deleted while this stands:"
        yield from (f"  {code}: {message}" for code, message in stops)
    if reason not in _ON_ITS_WAY or document["bounds"] is None:
        return
    quarantine = timedelta(seconds=document["bounds"]["quarantine_period_seconds"])
    since = None if document["tombstone"] is None else document["tombstone"]["since"]
    if since is not None:
        at = since if not isinstance(since, str) else from_iso(since)
        if at is not None:
            due = instant(shifted(at, quarantine))
            yield f"Its tombstone is of {instant(at)}; it may go from {due} on."
        return
    if action is Action.TOMBSTONE:
        yield f"It may go {duration(quarantine)} after a sweep or run has written its tombstone."
    elif job.get("cutoff"):
        at = from_iso(str(job["cutoff"]))
        if at is not None:
            yield f"The cutoff is {instant(at)}: what was stored after it is too young."


_ON_ITS_WAY = frozenset(
    {Reason.ORPHAN, Reason.IN_QUARANTINE, Reason.QUARANTINE_OVER, Reason.TOO_YOUNG}
)
