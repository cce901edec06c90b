"""Lineages, and what would expire, as tables for a terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.text.shown_text import human_bytes
from orphangc.app.console.text import duration, minute, money, unneeded_sentence
from orphangc.app.render.shown_names import JobNames, name_of
from orphangc.app.render.stops import Fate, unmet_by
from orphangc.app.render.text_table import as_text, text_table
from orphangc.core.documents.lineage_report import LineageCheckpointPart, LineagePart, LineageReport
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.checkpoint_fates import RetentionAction, RetentionReason
from orphangc.core.model.types import JobState

_RESTORABLE = {
    True: "",
    False: " (cannot be restored: a file that it names is missing or too short)",
    None: " (unknown whether it can be restored: not all of its files were looked for)",
}


def lineage_tables(report: LineageReport) -> Iterator[RenderableType]:
    """Yield one table for each lineage: its jobs, and what each of them left."""
    names = JobNames.of(job for lineage in report.lineages for job in lineage.jobs)
    for lineage in report.lineages:
        yield as_text(lineage.name or "no job is known", "bold")
        yield _jobs(lineage)
        yield _checkpoints(lineage, names)
    if not report.lineages:
        yield Text("no checkpoint was found")


def _jobs(lineage: LineagePart) -> Table:
    rows: list[tuple[object, ...]] = []
    older = {edge.newer: edge for edge in lineage.continuations}
    places = {place: name_of(job) for job in lineage.jobs for place in job.directories}
    own = Counter(each.job_id for each in lineage.checkpoints)
    for job in lineage.jobs:
        edges = [older[place] for place in job.directories if place in older]
        origin = next((places.get(e.older, e.older) for e in edges), "")
        by = next((f" ({e.source})" for e in edges), "")
        name = name_of(job) if job.job_id else ", ".join(job.directories)
        life = (minute(job.first_life_at), minute(job.last_life_at))
        held = (own[job.job_id], human_bytes(job.bytes_only))
        rows.append((name, job.state, *life, *held, f"{origin}{by}"))
    columns = ("job", "state", "from", "to", "checkpoints", "only it holds", "continued")
    return text_table(columns, rows)


def _checkpoints(lineage: LineagePart, names: JobNames) -> Table:
    return text_table(
        ("checkpoint", "stored", "restored by", "verdict"),
        (
            (e.uri, minute(e.stored_at), ", ".join(map(names, e.restored_by)), verdict(e))
            for e in lineage.checkpoints
        ),
    )


def verdict(checkpoint: LineageCheckpointPart) -> str:
    """Return action, reason and explanation of one checkpoint, as one phrase."""
    why = f": {checkpoint.why}" if checkpoint.why else ""
    return f"{checkpoint.action} {checkpoint.reason}{why}{_RESTORABLE[checkpoint.is_restorable]}"


def expiry_tables(plan: Plan, price: float) -> Iterator[RenderableType]:
    """Yield what no living job needs, oldest lineage first, and what the policy would let go."""
    report = plan.expiry
    if report is None:
        return
    names = JobNames.of(job for lineage in report.lineages for job in lineage.jobs)
    grace = plan.settings.grace_period
    for table in (_unneeded(report, price), _going(report, names), _kept(report, grace)):
        if table.row_count:
            yield table
    yield Text(unneeded_sentence(report.unneeded, price))
    if report.policy is None:
        yield Text(
            "No retention policy: nothing expires, not even what Flink was to delete. Try"
            " --keep-last 1."
        )
    else:
        size = human_bytes(report.expiring_bytes)
        yield Text(f"{len(report.expiring)} checkpoints would expire; only they hold {size}.")
    names = JobNames.of(plan.jobs)
    yield from map(as_text, _stops(plan, names))
    yield from (as_text(f"warning: {names.in_text(each)}", "yellow") for each in plan.warnings)


def _unneeded(report: LineageReport, price: float) -> Table:
    rows = (
        (
            *(lineage.name, len(lineage.jobs), len(lineage.checkpoints)),
            _ago(lineage.last_life_at, report.created_at),
            *(human_bytes(lineage.unneeded_bytes), money(lineage.unneeded_bytes, price)),
        )
        for lineage in report.lineages
        if lineage.unneeded_bytes
    )
    return text_table(("lineage", "jobs", "checkpoints", "last sign", "unneeded", "a month"), rows)


def _stops(plan: Plan, names: JobNames) -> Iterator[str]:
    for job in plan.jobs:
        for each in unmet_by(job):
            if each.fate is Fate.REFUSED or job.state is JobState.ENDED:
                yield f"job {name_of(job)}: {each.code}: {names.in_text(each.message)}"


def _going(report: LineageReport, names: JobNames) -> Table:
    rows = (
        (
            *(names(each.job_id), f"{each.checkpoint_id} ({each.kind})"),
            *(_ago(each.stored_at, report.created_at), human_bytes(each.bytes_only)),
            names.in_text(f"{each.reason}: {each.why.rpartition('/')[2]}".rstrip(": ")),
        )
        for each in report.expiring
    )
    return text_table(("would go", "id", "stored", "only it holds", "why"), rows)


def _kept(report: LineageReport, grace: timedelta) -> Table:
    rows: list[tuple[object, ...]] = []
    ended = report.policy.ended_for if report.policy is not None else timedelta()
    times = {"grace": duration(grace), "ended": duration(ended)}
    kept = [each for each in report.checkpoints if each.action is RetentionAction.KEEP]
    counts = Counter(each.reason for each in kept)
    for reason, count in sorted(counts.items()):
        whys = {each.why for each in kept if each.reason is reason and each.why}
        why = f"{reason}: {next(iter(whys))}" if len(whys) == 1 else reason
        rows.append((why, count, CHANGES[reason].format(**times)))
    return text_table(("kept because", "checkpoints", "what would change that"), rows)


def _ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return ""
    age = now - at
    return f"{duration(age if age.days < 1 else timedelta(days=age.days))} ago"


CHANGES: Mapping[RetentionReason, str] = {
    RetentionReason.UNKNOWN_JOB: "--extra-root: search the place of its job's directory",
    RetentionReason.STOPPED: "orphangc plan says what stops the work on its job",
    RetentionReason.HELD: "what holds it gives it up: a pin, a resource, a job of its own state",
    RetentionReason.JOB_NOT_OVER: (
        "the job ends, or --ended-job states that it has; of one that is said to be over, orphangc"
        " plan says what stops the work"
    ),
    RetentionReason.ORIGIN_UNKNOWN: (
        "--continued JOB=OLDER@ID, or JOB=nothing, states what the job began with; a copy in a"
        " folder without a job id is no job's once that it is in is not called chk-<n>"
    ),
    RetentionReason.NOT_COLLECTABLE: (
        "--alias says where the files of a storage that was moved are now; --savepoints names the"
        " place of a self-contained savepoint"
    ),
    RetentionReason.MAKER_UNPROVEN: "a cycle that sees the job take it, while that runs",
    RetentionReason.STORE_TIME_UNKNOWN: "a storage that says when it was stored",
    RetentionReason.TOO_YOUNG: "{grace} have passed since it was stored (--grace-period)",
    RetentionReason.NO_POLICY: "--keep-last 1, or another policy",
    RetentionReason.ENDED_RECENTLY: (
        "{ended} have passed since the job's last sign of life (--ended-for)"
    ),
    RetentionReason.LINEAGE_LIVES: "--dead names the job, and what may have continued it is over",
    RetentionReason.NO_SUCCESSOR: (
        "--continued NEWER=OLDER@ID, if so it was, of a job whose id never comes back; --dead gives"
        " it up where no living job may have continued it"
    ),
    RetentionReason.SUCCESSOR_NEEDS_FILES: "the job is RUNNING, and names only files of its own",
    RetentionReason.KEEP_LAST: "a smaller --keep-last",
    RetentionReason.KEEP_WITHIN: "a shorter --keep-within",
    RetentionReason.KEEP_DAILY: "a smaller --keep-daily",
    RetentionReason.KEEP_WEEKLY: "a smaller --keep-weekly",
    RetentionReason.KEEP_MONTHLY: "a smaller --keep-monthly",
    RetentionReason.IN_QUARANTINE: "time; orphangc undelete brings it back before",
}
