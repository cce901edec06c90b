"""From what a cycle saw to the verdicts of the real rule.

``verdicts`` makes the values that the real functions take, and asks them:
``core.decision.judge.judge_all`` with the real guards and conditions,
``core.decision.bounds_of_job``, the oracle of the kernel. What stands between an observation
and those values in the real code (``collect.mark.mark``, ``collect.mark.job_dependencies``) is
restated here, small; ``test_ties.py`` holds it against the real functions.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import md5
from typing import Literal, NamedTuple

from flinkstate.places.locations import Location
from orphangc.core.areas.table import AREAS
from orphangc.core.cluster.job_facts import JobFacts, RestoredFacts
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.bounds_of_job import area_facts_of, bounds_of_job
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.evidence import Checkpoint as RealRoot
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence, Survey
from orphangc.core.decision.guards import GUARDS
from orphangc.core.decision.judge import Judgement, judge, judge_all
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    IssuedCheckpoint,
    RegistryEntries,
    RegistryEntry,
    RegistrySnapshot,
    RetainedCheckpoint,
)
from orphangc.core.model.bounds import Bound, BoundName, JobBounds, SafetyMargins
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.naming import Artifact, FilePlace, artifact_name, parse_artifact_name
from orphangc.core.model.types import (
    AreaName,
    DirectoryLayout,
    JobId,
    Mode,
    ObjectKey,
    Scope,
    StoredObject,
)
from orphangc.core.times.instants import LATEST
from safety.model_checking.world import PRIVATE, File, Place, Rest, Root
from support.builders import BASE, T0, a_checkpoint, some_facts
from support.oracle import Live, decide
from support.oracle import Verdict as RealVerdict
from support.tombstone_tables import Tombstone

NEVER_ASKED = frozenset({Guard.COPIED_TREE})
"""A few objects of one instant are no copied tree: the model's tree is too small for this one."""
NEVER_MET = frozenset({Condition.NOTHING_PROTECTED, Condition.MAX_DELETE_SHARE})
"""Safety must not rest on how much of a directory would go."""


OF_JOB_MANAGERS = frozenset({BoundName.FIRST_SNAPSHOT, BoundName.OLDEST_ISSUED})
"""Bounds that a JobManager's clock has dated."""

TICK = timedelta(seconds=10)
"""One instant of the model: longer than the two seconds that an HTTP date may be off (R10)."""


def margins(sigma: int) -> SafetyMargins:
    """Return margins of nothing but the slack of clocks, in instants."""
    return SafetyMargins(
        grace_period=timedelta(0),
        quarantine_period=timedelta(0),
        checkpoint_id_margin=0,
        clock_skew=sigma * TICK,
        quiet_period=timedelta(0),
    )


NO_MARGINS = margins(0)
"""Order alone must be safe."""


class Snapshot(NamedTuple):
    """What an exporter wrote, and when."""

    epoch: int
    taken: int  # by the JobManager's clock
    heard: int  # when it was read, as the store tells it
    retained: tuple[tuple[int, bool], ...]
    issued: tuple[tuple[int, int], ...]
    entries: tuple[File, ...]
    is_whole: bool = True  # it lacks no entries, and has its footer


class JobSeen(NamedTuple):
    """What a cycle saw of one job."""

    is_declared_ended: bool = False
    before: Rest | None = None
    after: Rest | None = None
    ids_at_start: tuple[int, ...] = ()
    ids_before: tuple[int, ...] = ()
    ids_after: tuple[int, ...] = ()
    roots: tuple[Root, ...] = ()
    first: Snapshot | None = None
    second: Snapshot | None = None
    is_exporting: bool = False


class Seen(NamedTuple):
    """What a cycle saw; ``concurrent`` and the margins are the same throughout a scenario."""

    now: int
    until: int
    jobs: tuple[JobSeen, ...]
    listing: tuple[tuple[File, int], ...]
    skew: int = 0  # how far the clock that the store tells is ahead of the collector's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a collector judges; the defaults are orphangc's."""

    without: frozenset[Guard | Condition] = frozenset()  # guards and conditions that are taken away
    # A reference protects its very path, and no other spelling of it (no R5)
    is_path_only: bool = False
    # parts of the cutoff that are taken away (R9, R16)
    without_bounds: frozenset[BoundName] = frozenset()
    # T2 alone: O of E1, the entries of E2, ids in file names, and no time
    has_ids_only: bool = False
    passes_on: bool = True  # what stops a living job stops those whose files it needs (R12)
    has_names_with_ids: bool = False  # files are named ``<id>_<uuid>``
    # the listing is whole, so that R8 can tell what the latest root lacks
    sees_missing: bool = False
    concurrent: int = 1  # what REST says of ``max_concurrent``
    margins: SafetyMargins = NO_MARGINS  # all 0 unless said otherwise
    registry_slack: int = 2  # how often the slack is taken from a JobManager's times (R16: twice)
    # how private files, which then lie in ``chk-<n>/``, are judged, and nothing else: by R31's
    # id alone, or by nothing; whatever their age (T3)
    chk_n: Literal["", "by its id", "by nothing"] = ""


def job_id(index: int) -> JobId:
    return JobId("abc"[index] * 32)


def directory(index: int) -> Location:
    return BASE.child(job_id(index))


def at(instant: int) -> datetime:
    return T0 + instant * TICK


@cache
def name_of(file: File, *, has_id: bool = False) -> str:
    uuid = md5(repr(file).encode(), usedforsecurity=False).digest()
    return artifact_name(file[1] if has_id else None, uuid)


@cache
def artifact_of(file: File, *, has_id: bool = False) -> Artifact:
    number, uuid = parse_artifact_name(name_of(file, has_id=has_id)) or (None, None)
    layout = DirectoryLayout.FLAT if number is None else DirectoryLayout.FLAT_WITH_ID
    return Artifact(layout, uuid=uuid, checkpoint_id=number)


@cache
def stored(file: File, instant: int, *, has_id: bool = False) -> StoredObject:
    key = ObjectKey(f"{job_id(file[0])}/shared/{name_of(file, has_id=has_id)}")
    return StoredObject(key=key, size=1, modified_at=at(instant), etag=None)


def places(root: Root, *, has_id: bool = False) -> dict[Location, FileNames]:
    found: dict[Location, list[str]] = {}
    for file in root.files:
        names = found.setdefault(directory(file[0]).child("shared"), [])
        names.append(name_of(file, has_id=has_id))
    return {folder: FileNames(names) for folder, names in found.items()}


@cache
def real_root(root: Root, *, has_id: bool = False) -> RealRoot:
    """Return a root as the reader gives it."""
    uuids = [uuid for f in root.files if (uuid := artifact_of(f).uuid) is not None]
    return RealRoot(
        folder=directory(root.home).child(f"chk-{root.number}"),
        directory=directory(root.home),
        job_id=job_id(root.home),
        checkpoint_id=root.number,
        format_version=4,
        is_savepoint=False,
        modified_at=at(root.at),
        sha256=md5(repr(root).encode(), usedforsecurity=False).hexdigest() * 2,
        files=places(root, has_id=has_id),
        raw=UuidSet(uuids),
    )


@cache
def real_facts(index: int, rest: Rest, concurrent: int) -> JobFacts:
    """Return what REST says as the adapter gives it."""
    return replace(
        some_facts(job_id(index)),
        status="RUNNING" if rest.is_running else "CANCELED",
        ended_at=LATEST,  # the looser rule: Flink's time could only forbid more
        incarnation=str(rest.epoch),
        max_concurrent=concurrent,
        latest_completed_id=None if rest.latest < 0 else rest.latest,
        restored=None if rest.restored is None else _restored(rest.restored),
        checkpoints=tuple(
            a_checkpoint(number, external_path=_folder((index, number))) for number in rest.lasting
        ),
    )


def _folder(place: Place) -> str:
    return str(directory(place[0]).child(f"chk-{place[1]}"))


def _restored(place: Place) -> RestoredFacts:
    return RestoredFacts(id=place[1], external_path=_folder(place), is_savepoint=False)


@cache
def real_snapshot(index: int, seen: Snapshot, number: int, *, has_id: bool) -> RegistrySnapshot:
    """Return a registry snapshot as the reader gives it."""
    return RegistrySnapshot(
        source=Mode.REGISTRY,
        flink_version="1.20.5",
        job_id=job_id(index),
        jm_epoch=f"epoch-{seen.epoch}",
        sequence=number,
        nonce="nonce" if number > 1 else None,
        taken_at=at(seen.taken),
        checkpoint_dir=str(directory(index)),
        max_concurrent=None,
        retained=tuple(
            RetainedCheckpoint(id=n, is_savepoint=is_savepoint, path="")
            for n, is_savepoint in seen.retained
        ),
        issued=tuple(IssuedCheckpoint(id=n, at=at(t)) for n, t in seen.issued),
        restored=(),
        entries=RegistryEntries(
            RegistryEntry(
                str(directory(f[0]).child(f"shared/{name_of(f, has_id=has_id)}")),
                EntryKind.FILE,
                1,
                f[1],
                f[1],
            )
            for f in seen.entries
        ),
    )


def _exported(index: int, seen: JobSeen, *, has_id: bool) -> Exported | None:
    if not seen.is_exporting:
        return None
    first = None if seen.first is None else real_snapshot(index, seen.first, 1, has_id=has_id)
    second, heard = None, None
    unread = None
    if seen.second is not None:
        second = real_snapshot(index, seen.second, 2, has_id=has_id)
        heard = at(seen.second.heard)
    if any(each is not None and not each.is_whole for each in (seen.first, seen.second)):
        unread = "cannot read registry snapshot at line 9"
    return Exported(
        job_id=job_id(index),
        baseline=first,
        response=second,
        unread=unread,
        nonce="nonce",
        asked_at=heard,
        heard_at=heard,
        directories=frozenset({directory(index)}),
    )


def depends_on(index: int, seen: Seen) -> frozenset[int]:
    """Return the jobs whose files a job needs; mirrors
    ``collect.mark.survey_listing.gather_evidence``.
    """
    job = seen.jobs[index]
    restored = {r.restored for r in (job.before, job.after) if r is not None and r.restored}
    taken = [each for each in (job.first, job.second) if each is not None]
    if job.is_exporting and (not taken or any(not each.is_whole for each in taken)):
        return frozenset(range(len(seen.jobs))) - {index}
    files = {file for root in job.roots for file in root.files}
    files |= {f for one in seen.jobs for r in one.roots if r.place in restored for f in r.files}
    files |= {file for each in taken for file in each.entries}
    return frozenset({file[0] for file in files} | {home for home, _ in restored}) - {index}


def is_origin_unread(index: int, seen: Seen) -> bool:
    """Return whether a job was restored from what no look read; mirrors the same."""
    job = seen.jobs[index]
    restored = {r.restored for r in (job.before, job.after) if r is not None and r.restored}
    return bool(restored - {root.place for one in seen.jobs for root in one.roots})


def is_known(seen: JobSeen, index: int, listing: Iterable[tuple[File, int]]) -> bool:
    """Return whether anything shows that the job exists; see ``collect.mark.evidence_of_jobs``."""
    ids = (*seen.ids_at_start, *seen.ids_before, *seen.ids_after)
    told = any(rest is not None and rest.is_running for rest in (seen.before, seen.after))
    return bool(ids) or told or seen.is_exporting or any(f[0] == index for f, _ in listing)


def evidence(seen: Seen, rules: Rules) -> list[JobEvidence]:
    """Return what the guards look at, for each job that is known."""
    has_id = rules.has_names_with_ids
    return [
        JobEvidence(
            key=job_id(index),
            job_id=job_id(index),
            is_collected=True,
            is_declared_ended=job.is_declared_ended,
            directories=(directory(index),),
            own_checkpoints=tuple(real_root(root, has_id=has_id) for root in job.roots),
            ids_at_start=frozenset(job.ids_at_start),
            ids_before=frozenset(job.ids_before),
            ids_after=frozenset(job.ids_after),
            before=_facts(index, job.before, rules),
            after=_facts(index, job.after, rules),
            snapshots=() if (exp := _exported(index, job, has_id=has_id)) is None
            else exp.snapshots,
            exported=exp,
            depends_on=frozenset(job_id(each) for each in depends_on(index, seen)),
            is_origin_unread=is_origin_unread(index, seen),
            survey=_survey(index, seen, rules),
        )
        for index, job in enumerate(seen.jobs)
        if is_known(job, index, seen.listing)
    ]  # fmt: skip


def _facts(index: int, rest: Rest | None, rules: Rules) -> tuple[JobFacts, ...]:
    return () if rest is None else (real_facts(index, rest, rules.concurrent),)


def _survey(index: int, seen: Seen, rules: Rules) -> Survey:
    """Return what the listing shows: times, and what the latest root lacks (R8)."""
    job = seen.jobs[index]
    times = [instant for file, instant in seen.listing if file[0] == index]
    times += [root.at for root in job.roots]
    standing = {*job.ids_before} & {*job.ids_after}
    settled = [root for root in job.roots if root.number in standing]
    latest = max(settled, key=lambda root: root.number, default=None)
    listed = {file for file, _ in seen.listing}
    named = latest.files if latest is not None and rules.sees_missing else ()
    lacking = [file for file in named if file not in listed]
    return Survey(
        objects=len(times),
        size=len(times),
        live_in_shared=1,
        oldest_modified_at=at(min(times)) if times else None,
        newest_modified_at=at(max(times)) if times else None,
        shared_directories={directory(index)},
        missing_of_latest=[name_of(f, has_id=rules.has_names_with_ids) for f in lacking],
    )


def cycle_evidence(seen: Seen, rules: Rules) -> CycleEvidence:
    """Return what concerns all jobs."""
    return CycleEvidence(
        now=at(seen.now),
        is_store_time=True,
        skew_seconds=(seen.skew * TICK).total_seconds(),
        margins=rules.margins,
        is_closed_world=True,
        is_tested_storage=True,
        observed_until=at(seen.until),
        is_registry_mode=any(job.is_exporting for job in seen.jobs),
    )


class _Names(frozenset[bytes]):
    """A live set of UUIDs: what ``decide`` asks."""


def live_files(seen: Seen, *, first_too: bool = True) -> frozenset[File]:
    named = {file for job in seen.jobs for root in job.roots for file in root.files}
    for job in seen.jobs:
        for each in (job.first if first_too else None, job.second):
            named.update(() if each is None else each.entries)
    return frozenset(named)


def _live(seen: Seen, rules: Rules) -> Live:
    """Return the live set; without R5 only files that lie where the root itself says count."""
    files = live_files(seen, first_too=not rules.has_ids_only)
    if rules.is_path_only:
        files = frozenset(
            file
            for job in seen.jobs
            for root in job.roots
            for file in root.files
            if file[0] == root.home
        )
    return _Names(uuid for f in files if (uuid := artifact_of(f).uuid) is not None)


def judgements(seen: Seen, rules: Rules) -> tuple[list[JobEvidence], dict[str, Judgement]]:
    """Return the real judge's answer."""
    jobs, cycle = evidence(seen, rules), cycle_evidence(seen, rules)
    without = rules.without | NEVER_ASKED | NEVER_MET
    guards = {name: check for name, check in GUARDS.items() if name not in without}
    conditions = {name: check for name, check in CONDITIONS.items() if name not in without}
    if rules.passes_on:
        return jobs, judge_all(jobs, cycle, guards=guards, conditions=conditions)
    return jobs, {job.key: judge(job, cycle, guards=guards, conditions=conditions) for job in jobs}


@cache
def verdicts(
    seen: Seen, tombstones: tuple[tuple[File, int], ...], rules: Rules
) -> tuple[tuple[File, RealVerdict, bool], ...]:
    """Return the real rule's verdict for each listed file, and whether its job is not blocked."""
    jobs, judged = judgements(seen, rules)
    cycle, live = cycle_evidence(seen, rules), _live(seen, rules)
    by_key = {job.key: job for job in jobs}
    since = dict(tombstones)
    found: list[tuple[File, RealVerdict, bool]] = []
    for file, instant in seen.listing:
        key = job_id(file[0])
        judgement = judged[key]
        bounds = bounds_of_job(by_key[key], judgement, cycle, None)
        listed = stored(file, instant, has_id=rules.has_names_with_ids)
        verdict = decide(
            listed,
            artifact_of(file, has_id=rules.has_names_with_ids),
            live=live,
            bounds=_in_folder(bounds, by_key[key], cycle, file=file, rules=rules)
            if rules.chk_n
            else _weakened(bounds, by_key[key], cycle, rules),
            tombstone=None
            if file not in since
            else Tombstone(object=listed, job_id=key, since=at(since[file]), plan_id="p"),
        )
        found.append((file, verdict, not judgement.blocked))
    return tuple(found)


def _in_folder(
    bounds: JobBounds, job: JobEvidence, cycle: CycleEvidence, *, file: File, rules: Rules
) -> JobBounds:
    """Return the bounds of a file of ``chk-<n>/`` by R31 without R9: no age protects it."""
    facts = area_facts_of(job, cycle)
    place = FilePlace(str(job_id(file[0])), job.job_id, Scope.EXCLUSIVE, checkpoint_id=file[1])
    objection = AREAS[AreaName.EXCLUSIVE].objection(facts, place)
    is_kept = objection is not None and rules.chk_n != "by nothing"
    now = (Bound(BoundName.GRACE_PERIOD, cycle.now + timedelta(days=1)),)
    return replace(bounds, bounds=now, is_report_only=file[2] != PRIVATE or is_kept)


def _weakened(bounds: JobBounds, job: JobEvidence, cycle: CycleEvidence, rules: Rules) -> JobBounds:
    """Return the bounds of a collector that looks at less."""
    if rules.has_ids_only:
        now = (Bound(BoundName.GRACE_PERIOD, cycle.now + timedelta(days=1)),)
        assert job.exported is not None
        first = job.exported.baseline
        assert first is not None
        oldest = min((r.id for r in first.retained if not r.is_savepoint), default=None)
        return replace(bounds, bounds=now, oldest_retained_checkpoint_id=oldest)
    less = (2 - rules.registry_slack) * rules.margins.clock_skew
    kept = tuple(
        Bound(each.name, each.at + less)
        if each.at is not None and each.name in OF_JOB_MANAGERS
        else each
        for each in bounds.bounds
        if each.name not in rules.without_bounds
    )
    return replace(bounds, bounds=kept)
