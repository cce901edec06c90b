"""A plan with all that is said of it, as one value that every form of it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.console.text import expiry_hint, instant
from orphangc.app.render.reason_groups import ByKind, by_kind, kind_order
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Fate, ShownJob, Stop, fate_of, is_deferred, stops
from orphangc.app.render.world_tables import statement
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.areas.table import AREAS
from orphangc.core.documents.plan import ExtrasPart, ExtraStatus, Plan, Tally
from orphangc.core.groups import grouped
from orphangc.core.model.tallies import Amount, Cell, summed, total
from orphangc.core.model.types import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaRow(ByKind):
    """One area of a storage root, and why files of it are kept unjudged."""

    scope: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView(ByKind):
    """A plan in words and numbers.

    Attributes:
        cells: Verdicts by job, area and age.
        jobs: Jobs in the order of the plan.
        tombstones: Objects that a sweep lays tombstones for, unless it is deferred.
        deferred: Part of ``tombstones`` in jobs with an unmet condition of the world, which get
            none.
        due: Objects that ``sweep --delete`` would delete if no job were blocked.
        due_but_blocked: Part of ``due`` in blocked jobs.
        extras: What no listing shows.
        hint: What ``expire`` could free.
        statement: What a closed world states.
        source: What a reader must know of a plan from an inventory.
    """

    plan: Plan
    names: JobNames
    cells: tuple[Cell, ...]
    jobs: tuple[ShownJob, ...]
    stops: tuple[Stop, ...]
    warnings: tuple[str, ...]
    fates: Mapping[Fate, int]
    missing: int
    tombstones: Amount
    deferred: Amount
    revived: Amount
    due: Amount
    due_but_blocked: Amount
    tallies: tuple[Tally, ...]
    areas: tuple[AreaRow, ...]
    extras: tuple[ExtraRow, ...]
    hint: str | None
    statement: str | None
    source: str | None

    @property
    def deletable(self) -> Amount:
        """Return what ``sweep --delete`` would delete."""
        back = self.due_but_blocked
        return Amount(self.due.objects - back.objects, self.due.bytes - back.bytes)

    @property
    def headline(self) -> str:
        """Return one sentence about what a sweep of this plan would do."""
        if not self.jobs:
            return "No job was judged; nothing would be touched."
        if self.plan.is_wholly_refused:
            return "Every job is refused: nothing would be touched, as it is unknown what is live."
        due, back, later = self.deletable, self.due_but_blocked, self.deferred
        deletion = f"delete {_amount(due)}" if due.objects else "delete nothing"
        sentence = f"A sweep would {_tombstones(self)} and, with --delete, {deletion}."
        if later.objects:
            sentence += (
                f" {_amount(later)} get no tombstone yet: not all that their jobs rest on was"
                " found."
            )
        if back.objects:
            sentence += f" {_amount(back)} more are due in blocked jobs, and stay."
        return sentence


def plan_view(plan: Plan, breakdown: Breakdown) -> PlanView:
    """Return a plan in words and numbers.

    Args:
        breakdown: Breakdown of the same cycle; it counts what each job holds, and what is due in
            blocked jobs.
    """
    names, cells = JobNames.of(plan.jobs), breakdown.cells()
    own = grouped(cells, lambda cell: cell.job_id)
    fates = [fate_of(job) for job in plan.jobs]
    is_blocked, waits = [each is Fate.BLOCKED for each in fates], [*map(is_deferred, plan.jobs)]
    return PlanView(
        plan=plan,
        names=names,
        cells=cells,
        kinds=by_kind(plan.tallies),
        jobs=tuple(
            ShownJob.of(job, own.get(job.job_id, ()) if job.job_id else ()) for job in plan.jobs
        ),
        stops=stops(plan.jobs, names),
        warnings=tuple(map(names.in_text, plan.warnings)),
        fates={fate: fates.count(fate) for fate in Fate},
        missing=sum(job.missing_objects for job in plan.jobs),
        tombstones=_with_action(plan, Action.TOMBSTONE),
        deferred=_of_jobs(plan, Action.TOMBSTONE, waits, cells),
        revived=_with_action(plan, Action.REVIVE),
        due=_with_action(plan, Action.DELETE),
        due_but_blocked=_of_jobs(plan, Action.DELETE, is_blocked, cells),
        tallies=tuple(
            sorted(plan.tallies, key=lambda tally: (tally.scope, kind_order(tally.reason)))
        ),
        areas=_areas(plan),
        extras=() if plan.extras is None else extra_rows(plan.extras),
        hint=expiry_hint(plan),
        statement=None if plan.world is None else statement(plan.world),
        source=inventory_sentence(plan),
    )


def _with_action(plan: Plan, action: Action) -> Amount:
    return total(tally.amount for tally in plan.tallies if tally.action is action)


def _of_jobs(plan: Plan, action: Action, chosen: Sequence[bool], cells: Sequence[Cell]) -> Amount:
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
    own = (cell for cell in cells if cell.action is action)
    return summed(own, lambda cell: cell.job_id not in free).get(True, Amount())


def _tombstones(view: PlanView) -> str:
    number = view.tombstones.objects - view.deferred.objects
    laid = f"lay {counted(number, 'tombstone')}" if number else "lay no tombstones"
    if not view.revived.objects:
        return laid
    return f"{laid}, drop {view.revived.objects:,} of what is in use again"


def _amount(amount: Amount) -> str:
    return f"{counted(amount.objects, 'object')} ({human_bytes(amount.bytes)})"


def _areas(plan: Plan) -> tuple[AreaRow, ...]:
    found = grouped(plan.tallies, lambda tally: tally.scope.value)
    reasons = _reasons_by_scope(plan)
    return tuple(
        AreaRow(scope=scope, kinds=by_kind(tallies), reasons=reasons.get(scope, ()))
        for scope, tallies in sorted(found.items())
    )


def _reasons_by_scope(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return why files are kept unjudged, by scope: of refused jobs the refusal says it."""
    jobs = Counter(
        (folder.scope.value, part.kept_because)
        for job in plan.jobs
        for part in job.areas
        if part.kept_because is not None
        for folder in AREAS[part.area].folders
    )
    found = grouped(jobs.items(), lambda it: it[0][0])
    return {
        scope: tuple(f"{counted(number, 'job')}: {why}" for (_, why), number in reasons)
        for scope, reasons in found.items()
    }


STATUS_TEXT = {
    ExtraStatus.COUNTED: "",
    ExtraStatus.NOT_ASKED: "not asked for: --noncurrent-versions takes a second listing",
    ExtraStatus.FORBIDDEN: "unknown: these credentials may not ask",
    ExtraStatus.NOT_TOLD: "unknown: the store has no such request",
    ExtraStatus.FAILED: "unknown: the store did not answer to the end",
}

EXTRAS_ADVICE = (
    "None of this is ever touched by a sweep. A lifecycle rule of the bucket removes it:"
    " AbortIncompleteMultipartUpload after 7 days or more, NoncurrentVersionExpiration after as"
    " many days as deletions shall be undone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraRow:
    """One kind in all areas together.

    Attributes:
        number: Number of items; "" if unknown.
        size: Rounded bytes, with "at least" if a part is unknown; "" if unknown or without size.
    """

    name: str
    number: str
    size: str = ""
    exactly: str = ""
    remark: str = ""


def is_worth_showing(part: ExtrasPart | None) -> bool:
    """Return whether anything besides objects was found, or could not be counted."""
    quiet = {ExtraStatus.COUNTED, ExtraStatus.NOT_ASKED}
    return part is not None and bool(part.areas or {part.uploads, part.versions} - quiet)


def extra_rows(part: ExtrasPart) -> tuple[ExtraRow, ...]:
    """Return what an object store holds besides objects; an unknown number is never zero."""
    rows = [_uploads(part)]
    unknown = STATUS_TEXT[part.versions]
    if unknown:
        rows.append(ExtraRow(name="Noncurrent versions", number="", remark=unknown))
        rows.append(ExtraRow(name="Delete markers", number="", remark=unknown))
    else:
        old = sum(area.noncurrent_versions or 0 for area in part.areas)
        size = sum(area.noncurrent_bytes or 0 for area in part.areas)
        rows.append(_row("Noncurrent versions", old, size))
        markers = sum(area.delete_markers or 0 for area in part.areas)
        rows.append(ExtraRow(name="Delete markers", number=f"{markers:,}"))
    folders = sum(area.directory_markers for area in part.areas)
    remark = "empty objects in the listing; kept" if folders else ""
    rows.append(ExtraRow(name="Directory markers", number=f"{folders:,}", remark=remark))
    return tuple(rows)


def _uploads(part: ExtrasPart) -> ExtraRow:
    name, unknown = "Unfinished uploads", STATUS_TEXT[part.uploads]
    if unknown:
        return ExtraRow(name=name, number="", remark=unknown)
    unsized = sum(area.uploads_of_unknown_size or 0 for area in part.areas)
    oldest = [area.oldest_upload_at for area in part.areas if area.oldest_upload_at is not None]
    remarks = [f"the oldest of {instant(min(oldest))}"] if oldest else []
    dead = sum(area.dead_uploads for area in part.areas)
    remarks += [f"nothing completes {dead:,} of them any more"] if dead else []
    remarks += [f"bytes of {unsized:,} of them unknown"] if unsized else []
    return _row(
        name,
        sum(area.uploads or 0 for area in part.areas),
        sum(area.upload_bytes or 0 for area in part.areas),
        remark="; ".join(remarks),
        at_least="at least " if unsized else "",
    )


def _row(name: str, number: int, size: int, *, remark: str = "", at_least: str = "") -> ExtraRow:
    return ExtraRow(
        name=name,
        number=f"{number:,}",
        size=f"{at_least}{human_bytes(size)}" if number else "",
        exactly=f"{at_least}{size:,}" if number else "",
        remark=remark,
    )


def inventory_sentence(plan: Plan) -> str | None:
    """Return what a reader must know about a plan from an inventory."""
    if plan.inventory is None:
        return None
    return (
        f"Planned from an inventory begun {instant(plan.inventory.created_at)}, of"
        f" {counted(plan.inventory.objects, 'object')} in all its bucket. What was stored,"
        " replaced or deleted since is not seen; a sweep looks at each object before it deletes it."
    )
