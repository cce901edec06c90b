"""Verdicts in sentences, for the page of an object and for ``explain``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.console.text import duration, instant
from orphangc.app.render.reason_groups import REASON_TEXT
from orphangc.core.model.types import Action, Reason
from orphangc.core.times.instants import from_iso, shifted

_NAMED = 5
REASON_MEANINGS: Mapping[Reason, str] = {
    Reason.REFERENCED: (
        "A checkpoint, a savepoint, a registry snapshot or a pin refers to it, by its path, its"
        " name or its UUID. A job can still restore from it, so it stays."
    ),
    Reason.NOT_OLDER_THAN_OLDEST_RETAINED: (
        "Nothing refers to it, but its name carries the id of a checkpoint that is not older than"
        " the oldest retained one: a checkpoint that is still being written may need it. It is"
        " judged again when the job has gone on."
    ),
    Reason.TOO_YOUNG: (
        "Nothing refers to it, but it was stored after the cutoff (or has no usable store time):"
        " files are stored before the checkpoint that names them, so it may be about to be used."
        " It is judged again when it is older."
    ),
    Reason.ORPHAN: (
        "Nothing refers to it, and it is older than everything that may still be written: an"
        " orphan, seen for the first time by this plan. Its sweep, or a run in mode quarantine or"
        " delete, writes a tombstone for it; its bytes stay untouched."
    ),
    Reason.IN_QUARANTINE: (
        "It is an orphan and has a tombstone, but not for long enough, or no newer checkpoint of"
        " the running job has completed since. It stays until both are so."
    ),
    Reason.QUARANTINE_OVER: (
        "It was an orphan when its tombstone was laid, it is one again, and it is still the same"
        " object. A sweep with --delete, or a run in mode delete, deletes it, if nothing blocks its"
        " job."
    ),
    Reason.JOB_REFUSED: (
        "A guard stopped the work on its job: what is live there cannot be known, so everything of"
        " the job stays."
    ),
    Reason.REPORT_ONLY: (
        "It is the _metadata of a checkpoint, which orphangc expire alone judges, or in an area"
        " that has no proven rule while its job is in this state, or that the setting scope does"
        " not name: it is counted and kept."
    ),
    Reason.UNRECOGNISED: (
        "Its name fits none of Flink's naming schemes: it is probably a file of another"
        " program. It is counted and never touched."
    ),
}

ACTION_MEANINGS: Mapping[Action, str] = {
    Action.KEEP: "It stays.",
    Action.TOMBSTONE: "It stays, and is written down as an orphan.",
    Action.REVIVE: "It stays, and is no longer written down as an orphan.",
    Action.DELETE: "It is to be deleted.",
}


def headline_of(action: Action, reason: Reason) -> str:
    """Return a verdict in a sentence."""
    return f"{ACTION_MEANINGS[action][:-1]}: {REASON_TEXT[reason]}."


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
    yield REASON_MEANINGS[reason]
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
