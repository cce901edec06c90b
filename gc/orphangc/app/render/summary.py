"""Summary of a plan, as a value that every rendering shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.render.reason_groups import KIND_OF, ReasonKind, by_kind
from orphangc.app.render.stops import Fate, fate_of, is_deferred
from orphangc.core.areas.table import AREAS
from orphangc.core.documents.plan import Plan
from orphangc.core.model.tallies import Amount, summed
from orphangc.core.model.types import Action

if TYPE_CHECKING:  # the status page summarizes a plan without loading Arrow
    from orphangc.collect.decide.breakdown import Breakdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The plan in a few numbers.

    Attributes:
        tombstones: Objects that a sweep lays tombstones for, unless it is deferred.
        deferred: Part of ``tombstones`` in jobs with an unmet condition of the world, which get
            none; ``None`` if not counted.
        due: Objects that ``sweep --delete`` would delete if no job were blocked.
        held_back: Part of ``due`` in blocked jobs; ``None`` if not counted.
    """

    kinds: Mapping[ReasonKind, Amount]
    tombstones: Amount
    deferred: Amount | None
    revived: Amount
    due: Amount
    held_back: Amount | None
    fates: Mapping[Fate, int]
    missing: int

    @property
    def deletable(self) -> Amount:
        """Return what ``sweep --delete`` would delete, as far as it was counted."""
        back = self.held_back or Amount()
        return Amount(self.due.objects - back.objects, self.due.bytes - back.bytes)


def summarise(plan: Plan, breakdown: Breakdown | None = None) -> Summary:
    """Return the plan in a few numbers.

    Args:
        breakdown: Breakdown of the same cycle; it counts what is due in blocked jobs.
    """
    fates = [fate_of(job) for job in plan.jobs]
    return Summary(
        kinds=by_kind(plan.tallies),
        tombstones=_with_action(plan, Action.TOMBSTONE),
        deferred=_of_jobs(plan, Action.TOMBSTONE, [*map(is_deferred, plan.jobs)], breakdown),
        revived=_with_action(plan, Action.REVIVE),
        due=_with_action(plan, Action.DELETE),
        held_back=_of_jobs(
            plan, Action.DELETE, [fate is Fate.BLOCKED for fate in fates], breakdown
        ),
        fates={fate: fates.count(fate) for fate in Fate},
        missing=sum(job.missing_objects for job in plan.jobs),
    )


def _with_action(plan: Plan, action: Action) -> Amount:
    parts = (Amount(t.objects, t.bytes) for t in plan.tallies if t.action is action)
    return sum(parts, Amount())


def _of_jobs(
    plan: Plan, action: Action, chosen: Sequence[bool], breakdown: Breakdown | None
) -> Amount | None:
    """Return the part of an action in the chosen jobs; if all or no jobs are chosen it needs no
    count.

    An object of no job, or of a refused job, counts as in the chosen jobs.
    """
    amount = _with_action(plan, action)
    if not amount.objects or True not in chosen:
        return Amount()
    pairs = [*zip(plan.jobs, chosen, strict=True)]
    free = {job.job_id for job, is_chosen in pairs if not is_chosen and not job.is_wholly_refused}
    free -= {job.job_id for job, is_chosen in pairs if is_chosen}
    if not free:
        return amount
    if breakdown is None:
        return None
    cells = (cell for cell in breakdown.cells() if cell.action is action)
    return summed(cells, lambda cell: cell.job_id not in free).get(True, Amount())


def headline(plan: Plan, summary: Summary) -> str:
    """Return one sentence about what a sweep of this plan would do."""
    if not plan.jobs:
        return "No job was judged; nothing would be touched."
    if plan.is_wholly_refused:
        return "Every job is refused: nothing would be touched, as it is unknown what is live."
    due = summary.deletable
    at_most = "at most " if summary.held_back is None else ""
    deletion = f"delete {at_most}{_amount(due)}" if due.objects else "delete nothing"
    sentence = f"A sweep would {_tombstones(summary)} and, with --delete, {deletion}."
    if summary.deferred is not None and summary.deferred.objects:
        sentence += (
            f" {_amount(summary.deferred)} get no tombstone yet: not all that their jobs rest on"
            " was found."
        )
    if summary.held_back is None:
        return f"{sentence} Files of blocked jobs stay."
    if summary.held_back.objects:
        return f"{sentence} {_amount(summary.held_back)} more are due in blocked jobs, and stay."
    return sentence


def _tombstones(summary: Summary) -> str:
    back = summary.deferred or Amount()
    number = summary.tombstones.objects - back.objects
    at_most = "at most " if summary.deferred is None else ""
    laid = f"lay {at_most}{counted(number, 'tombstone')}" if number else "lay no tombstones"
    if not summary.revived.objects:
        return laid
    return f"{laid}, drop {summary.revived.objects:,} of what is in use again"


def _amount(amount: Amount) -> str:
    return f"{counted(amount.objects, 'object')} ({human_bytes(amount.bytes)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaRow:
    """One area of a storage root.

    Attributes:
        orphaned: What nothing needs: new, in quarantine or due.
        unproven: What stays because nothing proves it dead, or because it is no file of Flink's.
    """

    scope: str
    live: Amount
    orphaned: Amount
    young: Amount
    unproven: Amount
    reasons: tuple[str, ...]


_ORPHANED = (ReasonKind.ORPHAN, ReasonKind.QUARANTINE, ReasonKind.DUE)
_UNPROVEN = (ReasonKind.REFUSED, ReasonKind.REPORT_ONLY, ReasonKind.UNRECOGNISED)


def area_rows(plan: Plan) -> tuple[AreaRow, ...]:
    """Return what each area holds: live, orphaned, not provable, and why."""
    amounts: dict[tuple[str, ReasonKind], Amount] = {}
    for tally in plan.tallies:
        cell = (tally.scope.value, KIND_OF[tally.reason])
        amounts[cell] = amounts.get(cell, Amount()) + Amount(tally.objects, tally.bytes)

    def total(scope: str, *kinds: ReasonKind) -> Amount:
        return sum((amounts.get((scope, kind), Amount()) for kind in kinds), Amount())

    reasons = _reasons_by_scope(plan)
    return tuple(
        AreaRow(
            scope=scope,
            live=total(scope, ReasonKind.LIVE),
            orphaned=total(scope, *_ORPHANED),
            young=total(scope, ReasonKind.YOUNG),
            unproven=total(scope, *_UNPROVEN),
            reasons=reasons.get(scope, ()),
        )
        for scope in sorted({scope for scope, _ in amounts})
    )


def _reasons_by_scope(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return why files are kept unjudged, by scope: of refused jobs the refusal says it."""
    jobs: dict[tuple[str, str], int] = {}
    for job in plan.jobs:
        for part in job.areas:
            why = part.kept_because
            if why is None:
                continue
            for folder in AREAS[part.area].folders:
                key = (folder.scope.value, why)
                jobs[key] = jobs.get(key, 0) + 1
    found: dict[str, tuple[str, ...]] = {}
    for (scope, why), number in jobs.items():
        found[scope] = (*found.get(scope, ()), f"{counted(number, 'job')}: {why}")
    return found
