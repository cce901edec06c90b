"""The reasons of verdicts: in sentences, and grouped into the few kinds that a picture can show."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any

from flinkstate.text.shown_text import KindText, counted, human_bytes
from orphangc.app.console.text import duration, entries, instant
from orphangc.core.documents.plan import Tally
from orphangc.core.model.bounds import BoundName
from orphangc.core.model.tallies import AgeBucket, Amount, Cell, summed, total
from orphangc.core.model.types import Action, JobState, Reason
from orphangc.core.times.instants import from_iso, shifted


class ReasonKind(StrEnum):
    """Kind of verdicts; the value names its colour and its pattern."""

    LIVE = "live"
    YOUNG = "young"
    ORPHAN = "orphan"
    QUARANTINE = "quarantine"
    DUE = "due"
    REFUSED = "refused"
    REPORT_ONLY = "report"
    UNRECOGNISED = "unrecognised"


KINDS: Mapping[ReasonKind, KindText] = {
    ReasonKind.LIVE: KindText("Live", "a checkpoint, snapshot or pin refers to it; kept"),
    ReasonKind.YOUNG: KindText("Too young", "not referred to, but too new to be judged; kept"),
    ReasonKind.ORPHAN: KindText("Orphan, new", "nothing needs it; a sweep lays a tombstone"),
    ReasonKind.QUARANTINE: KindText(
        "In quarantine", "has a tombstone that is not old enough; kept"
    ),
    ReasonKind.DUE: KindText("Due for deletion", "an orphan whose quarantine is over"),
    ReasonKind.REFUSED: KindText("Refused", "what is live in this job cannot be known; kept"),
    ReasonKind.REPORT_ONLY: KindText(
        "Report only", "a _metadata, or in an area without a proven rule for now; counted and kept"
    ),
    ReasonKind.UNRECOGNISED: KindText("Unrecognised", "no name of Flink's; counted, never touched"),
}
"""Kinds in the order of a bar: what stays, what is on its way to deletion, the rest."""

_REASONS = tuple(
    entries("""\
referenced (live): referred to
    A checkpoint, a savepoint, a registry snapshot or a pin refers to it, by its path, its name or
    its UUID. A job can still restore from it, so it stays.
not_older_than_oldest_retained (young): not older than the oldest retained checkpoint
    Nothing refers to it, but its name carries the id of a checkpoint that is not older than the
    oldest retained one: a checkpoint that is still being written may need it. It is judged again
    when the job has gone on.
too_young (young): stored after the cutoff, or no usable time
    Nothing refers to it, but it was stored after the cutoff (or has no usable store time): files
    are stored before the checkpoint that names them, so it may be about to be used. It is judged
    again when it is older.
orphan (orphan): orphan, found for the first time
    Nothing refers to it, and it is older than everything that may still be written: an orphan, seen
    for the first time by this plan. Its sweep, or a run in mode quarantine or delete, writes a
    tombstone for it; its bytes stay untouched.
in_quarantine (quarantine): orphan, in quarantine
    It is an orphan and has a tombstone, but not for long enough, or no newer checkpoint of the
    running job has completed since. It stays until both are so.
quarantine_over (due): orphan, quarantine over
    It was an orphan when its tombstone was laid, it is one again, and it is still the same object.
    A sweep with --delete, or a run in mode delete, deletes it, if nothing blocks its job.
job_refused (refused): its job is refused
    A guard stopped the work on its job: what is live there cannot be known, so everything of the
    job stays.
report_only (report): area or layout that is only reported
    It is the _metadata of a checkpoint, which orphangc expire alone judges, or in an area that has
    no proven rule while its job is in this state, or that the setting scope does not name: it is
    counted and kept.
unrecognised (unrecognised): no name of Flink's
    Its name fits none of Flink's naming schemes: it is probably a file of another program. It is
    counted and never touched.
""")
)
"""Each reason with its kind, in a few words and in sentences."""
KIND_OF: Mapping[str, ReasonKind] = {Reason(e.code): ReasonKind(e.mark) for e in _REASONS}
REASONS: Mapping[Reason, KindText] = {Reason(e.code): KindText(e.title, e.text) for e in _REASONS}

ACTIONS: Mapping[Action, KindText] = {
    Action.KEEP: KindText("keep", "It stays."),
    Action.TOMBSTONE: KindText("lay a tombstone", "It stays, and is written down as an orphan."),
    Action.REVIVE: KindText(
        "drop its tombstone", "It stays, and is no longer written down as an orphan."
    ),
    Action.DELETE: KindText("delete", "It is to be deleted."),
}

STATE_TEXT: Mapping[JobState, str] = {
    JobState.RUNNING: "running",
    JobState.SUSPENDED: "suspended, not over",
    JobState.ENDED: "ended",
    JobState.UNKNOWN: "unknown, treated as running",
}

BOUND_TEXT: Mapping[BoundName, str] = {
    BoundName.GRACE_PERIOD: "start of the cycle less the grace period",
    BoundName.OLDEST_OWN_ROOT: "oldest checkpoint that bounds the job, less the clock slack",
    BoundName.QUIET_PERIOD: "start of the cycle less the quiet period (the job has ended)",
    BoundName.NEWEST_TRIGGER: "trigger of the newest checkpoint, less twice the clock slack",
    BoundName.FIRST_SNAPSHOT: "first registry snapshot less twice the clock slack",
    BoundName.OLDEST_ISSUED: "oldest unfinished checkpoint less twice the clock slack",
    BoundName.CHECKPOINT_TIMEOUT: "start of the cycle less the longest checkpoint timeout and"
    " twice the clock slack",
    BoundName.INVENTORY: "start of the inventory less the clock slack",
}

AGE_LABELS: Mapping[AgeBucket, str] = {
    AgeBucket.UNDER_1_HOUR: "under 1 h",
    AgeBucket.HOURS_1_TO_24: "1-24 h",
    AgeBucket.DAYS_1_TO_3: "1-3 d",
    AgeBucket.DAYS_3_TO_7: "3-7 d",
    AgeBucket.DAYS_7_TO_30: "7-30 d",
    AgeBucket.DAYS_30_TO_90: "30-90 d",
    AgeBucket.OLDER: "older",
    AgeBucket.UNKNOWN: "unknown",
}


def kind_order(reason: str) -> tuple[int, int]:
    """Return the sort key of a reason: by its kind, then by itself."""
    return list(KINDS).index(KIND_OF[reason]), [*Reason].index(Reason(reason))


def by_kind(found: Iterable[Tally | Cell]) -> dict[ReasonKind, Amount]:
    """Return the number and size of each kind; every kind, in order."""
    return dict.fromkeys(KINDS, Amount()) | summed(found, lambda each: KIND_OF[each.reason])


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKind:
    """What is stored; every kind has an amount."""

    kinds: Mapping[ReasonKind, Amount]

    @property
    def total(self) -> Amount:
        """Return all kinds together."""
        return total(self.kinds.values())

    @property
    def orphaned(self) -> Amount:
        """Return what nothing needs: new, in quarantine or due."""
        return total(self.kinds[each] for each in _ORPHANED)

    @property
    def unproven(self) -> Amount:
        """Return what stays because nothing proves it dead, or because it is no file of Flink's."""
        return total(self.kinds[each] for each in _UNPROVEN)


_ORPHANED = (ReasonKind.ORPHAN, ReasonKind.QUARANTINE, ReasonKind.DUE)
_UNPROVEN = (ReasonKind.REFUSED, ReasonKind.REPORT_ONLY, ReasonKind.UNRECOGNISED)


_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of a bar; ``x`` and ``width`` are per cent of the picture's width."""

    kind: ReasonKind
    x: float
    width: float
    amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar(ByKind):
    """One bar of the picture, and one row of the table beside it."""

    name: str
    segments: tuple[Segment, ...]

    @property
    def alternative(self) -> str:
        """Return a description of the bar."""
        parts = (
            f"{KINDS[each.kind].label} {human_bytes(each.amount.bytes)}" for each in self.segments
        )
        return f"{self.name}: {', '.join(parts) or 'nothing'}"


def stacked(rows: Sequence[tuple[str, Mapping[ReasonKind, Amount]]]) -> tuple[Bar, ...]:
    """Return one bar for each row; the longest is as wide as the picture, zero is the left edge."""
    widest = max((total(amounts.values()).bytes for _, amounts in rows), default=0)
    return tuple(
        Bar(name=name, kinds=amounts, segments=_segments(amounts, widest)) for name, amounts in rows
    )


def _segments(amounts: Mapping[ReasonKind, Amount], widest: int) -> tuple[Segment, ...]:
    found = {kind: amounts[kind] for kind in KINDS if amounts[kind].bytes}
    places = spans([amount.bytes for amount in found.values()], widest)
    return tuple(
        Segment(kind=kind, x=x, width=width, amount=amount)
        for (kind, amount), (x, width) in zip(found.items(), places, strict=True)
    )


def spans(sizes: Sequence[int], widest: int) -> list[tuple[float, float]]:
    """Return place and width of the parts of a bar, in per cent of the picture's width.

    Edges are rounded, not widths, so that gaps do not add up.
    """
    edges = (
        [round(100 * at / widest, _DIGITS) for at in accumulate(sizes, initial=0)] if sizes else []
    )
    return [(left, round(right - left, _DIGITS)) for left, right in pairwise(edges)]


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
