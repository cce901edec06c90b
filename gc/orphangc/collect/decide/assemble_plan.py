"""What a cycle found, as the plan that people and sweeps read."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from flinkstate.places.locations import Location, canonical, places_of
from orphangc import __version__
from orphangc.collect.decide.abandoned_savepoints import empty_savepoints_warning
from orphangc.collect.decide.decide_listing import DecidedListing
from orphangc.collect.decide.judge_uploads import UploadRule
from orphangc.collect.decide.judged_cycle import JudgedCycle
from orphangc.collect.decide.verdicts import HeldBack, JobView, Reported, decided_job
from orphangc.collect.dependencies.foreign_usage import ForeignUsages
from orphangc.collect.mark.hidden_sums import extras_part
from orphangc.collect.mark.mark import MarkedCycle
from orphangc.collect.mark.missing import Missing, missing_of_lasting
from orphangc.collect.mark.pins import empty_pins
from orphangc.collect.mark.survey import Surveyed
from orphangc.collect.mark.survey_listing import ListingSurvey
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.table import AREAS
from orphangc.core.cluster.place_options import CHECKPOINT_OPTIONS, SAVEPOINT_OPTIONS
from orphangc.core.decision.entropy_injection import entropy_in_listing, entropy_of
from orphangc.core.decision.evidence import Checkpoint, CycleEvidence, JobEvidence, mode_of
from orphangc.core.decision.judge import Judgement
from orphangc.core.documents.plan import (
    MOST_MISSING,
    AreaPart,
    BlockedPart,
    BoundPart,
    BoundsPart,
    EvidencePart,
    HeldBackPart,
    JobPart,
    Plan,
    RefusedPart,
    ReportedPart,
    RootPart,
    tallies_of,
)
from orphangc.core.documents.self_sustained_record import UsageCheckPart
from orphangc.core.groups import grouped
from orphangc.core.memory.remembered import RememberedJob
from orphangc.core.model.bounds import Bound
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import AreaName, DirectoryLayout, EvidenceSource, JobId, Scope
from orphangc.core.times.instants import from_microseconds, shifted
from orphangc.ports import Storage


def plan_of(
    marked: MarkedCycle,
    survey: ListingSurvey,
    known: JudgedCycle,
    decided: DecidedListing,
    *,
    missing: Mapping[str, Sequence[str]],
    usages: ForeignUsages,
    environment: Environment,
) -> Plan:
    """Return the unsigned plan of what a cycle found, phase by phase.

    Args:
        missing: Keys that lasting checkpoints name and nothing shows, by the key of their job.
    """
    settings, storage = environment.settings, environment.storage
    seen, surveyed, counts = marked.seen, survey.surveyed, decided.counts
    jobs = {key: decided_job(view) for key, view in decided.views.items()}
    return Plan(
        tool_version=__version__,
        root=str(settings.location),
        scopes=settings.scope,
        created_at=known.evidence.now,
        engine=environment.engine.name,
        bounds=_bounds_part(known.evidence),
        jobs=tuple(_job_parts(known, decided, missing, usages=usages, settings=settings)),
        roots=tuple(root_part(checkpoint) for checkpoint in marked.mark.checkpoints),
        tallies=tallies_of(counts.objects, counts.bytes),
        objects_listed=surveyed.objects,
        bytes_listed=surveyed.size,
        list_requests=storage.list_requests,
        duration_seconds=round((storage.now().local - seen.time.local).total_seconds(), 3),
        live_set_sha256=marked.mark.live.digest(),
        reported=tuple(_reported_part(key, each) for key, each in sorted(counts.reported.items())),
        inventory=storage.inventory,
        listed_at=known.evidence.listed_at,
        extras=extras_part(
            *(environment.with_hidden, surveyed.markers),
            with_versions=settings.noncurrent_versions,
            is_dead=UploadRule(marked.mark, jobs).is_dead,
        ),
        world=known.world,
        warnings=tuple(_warnings(marked, survey, known, decided, missing, environment)),
        settings=settings,
    )


def _reported_part(key: tuple[Scope, str], shown: Reported) -> ReportedPart:
    return ReportedPart(
        scope=key[0],
        job_id=key[1],
        objects=shown.objects,
        bytes=shown.size,
        unreferenced_objects=shown.unreferenced_objects,
        unreferenced_bytes=shown.unreferenced_size,
        oldest_modified_at=from_microseconds(shown.oldest_us),
    )


def _bounds_part(evidence: CycleEvidence) -> BoundsPart:
    margins = evidence.margins
    return BoundsPart(
        cutoff=shifted(evidence.now, -margins.grace_period),
        grace_period_seconds=margins.grace_period.total_seconds(),
        quarantine_period_seconds=margins.quarantine_period.total_seconds(),
        checkpoint_id_margin=margins.checkpoint_id_margin,
        clock_skew_seconds=margins.clock_skew.total_seconds(),
    )


def _job_parts(
    known: JudgedCycle,
    decided: DecidedListing,
    missing: Mapping[str, Sequence[str]],
    *,
    usages: ForeignUsages,
    settings: StorageRootSettings,
) -> Iterator[JobPart]:
    memory = known.comparison.memory
    records, resources = grouped(memory.jobs, lambda e: str(e.job_id)), memory.lineage.resources
    for key, view in decided.views.items():
        job = view.evidence
        yield job_part(
            job,
            view.judgement,
            bounds=view.bounds.bounds,
            cutoff=view.bounds.cutoff,
            oldest_retained_checkpoint_id=view.bounds.oldest_retained_checkpoint_id,
            missing=missing[key],
            evidence=evidence_of(job, known.evidence, job.clusters),
            looks=usages.check(key, _origins(job, records.get(job.job_id, ()), settings)),
            held_back=_held_back_part(decided.counts.held_back.get(job.key)),
            areas=area_parts(view.facts, job.survey.areas, settings.scope, view.judgement),
            resources=resources.get(job.job_id, ()),
        )


def _origins(
    job: JobEvidence, records: Iterable[RememberedJob], settings: StorageRootSettings
) -> list[Location]:
    """Return the foreign snapshots that cycles saw as a job's origin: Flink forgets them."""
    restored = (uri for each in (records if job.job_id else ()) for uri in each.restored)
    places = places_of(restored, settings.aliases)
    return [e for e in places if not any(own.contains(e) for own in job.directories)]


def root_part(checkpoint: Checkpoint) -> RootPart:
    """Return a checkpoint as the plan shows it."""
    return RootPart.like(checkpoint, uri=str(checkpoint.folder))


def evidence_of(job: JobEvidence, cycle: CycleEvidence, uris: Iterable[str]) -> list[EvidencePart]:
    """Return the evidence that the job's liveness depends on, checkpoints first."""
    parts = [
        EvidencePart(
            source=EvidenceSource.METADATA,
            uri=str(checkpoint.folder),
            sequence=checkpoint.checkpoint_id,
            taken_at=checkpoint.modified_at,
        )
        for checkpoint in job.own_checkpoints
    ]
    parts += [
        EvidencePart(
            source=EvidenceSource.SNAPSHOT,
            uri=snapshot.checkpoint_dir,
            sequence=snapshot.sequence,
            taken_at=snapshot.taken_at,
        )
        for snapshot in job.snapshots
    ]
    parts += [EvidencePart(source=EvidenceSource.REST, uri=uri, taken_at=cycle.now) for uri in uris]
    held = {hold.uri: hold for hold in job.holds}
    parts += [
        EvidencePart(
            source=hold.source,
            uri=uri,
            sequence=max(hold.retained_ids, default=None),
            taken_at=cycle.now,
        )
        for uri, hold in sorted(held.items())
    ]
    if (end := job.recorded_end) is not None:
        parts.append(EvidencePart(source=EvidenceSource.END_RECORD, uri=end.uri, taken_at=end.at))
    if job.is_declared_ended:
        parts.append(EvidencePart(source=EvidenceSource.OPERATOR, uri="ended-job"))
    parts += [
        EvidencePart(source=EvidenceSource.OPERATOR, uri=f"accept-flink-version {version}")
        for version in sorted(job.flink_versions & cycle.accepted_versions)
    ]
    return parts


def job_part(
    job: JobEvidence,
    judgement: Judgement,
    *,
    bounds: tuple[Bound, ...],
    cutoff: datetime,
    oldest_retained_checkpoint_id: int | None,
    missing: Iterable[str],
    evidence: Iterable[EvidencePart],
    looks: tuple[UsageCheckPart, ...] = (),
    **others: Any,
) -> JobPart:
    """Return one job as the plan shows it, with ``others`` as they are."""
    absent, refused = sorted(missing), judgement.refused
    return JobPart(
        job_id=job.job_id,
        directories=tuple(str(place) for place in job.directories),
        state=job.state,
        mode=mode_of(job),
        oldest_retained_checkpoint_id=oldest_retained_checkpoint_id,
        retained_checkpoint_ids=job.retained_ids,
        live_objects=job.survey.live_objects,
        listed_objects=job.survey.objects,
        cutoff=cutoff,
        bounds=tuple(map(BoundPart.like, bounds)),
        missing=tuple(absent[:MOST_MISSING]),
        missing_count=len(absent),
        evidence=tuple(evidence),
        refused=None if refused is None else RefusedPart.like(refused),
        blocked=tuple(map(BlockedPart.like, judgement.blocked)),
        state_self_sustained=looks[0].value if looks else None,
        looks=looks,
        **others,
    )


def area_parts(
    facts: AreaFacts,
    shown: Collection[AreaName],
    collected: Collection[AreaName],
    judgement: Judgement,
) -> tuple[AreaPart, ...]:
    """Return each area that the listing shows of a job, and why its files are all kept, if so."""
    return tuple(
        AreaPart(
            area=name,
            rule=area.rule_of(facts.state),
            kept_because=(area.objection(facts, _OLDEST) or _refusal_of(name, judgement))
            if name in collected
            else f"the setting scope does not name {name}",
            bounds=tuple(map(BoundPart.like, area.bounds_of(facts))),
        )
        for name, area in AREAS.items()
        if name in shown
    )


def _refusal_of(area: AreaName, judgement: Judgement) -> str | None:
    refused = judgement.refused
    return f"refused: {refused.guard}" if refused and judgement.stops(area) else None


_OF_CHECKPOINTS = frozenset({*CHECKPOINT_OPTIONS, *SAVEPOINT_OPTIONS})
_OLDEST = FilePlace(None, JobId(""), Scope.EXCLUSIVE, checkpoint_id=-1)
"""A checkpoint older than all: what is kept of it is kept of the whole area."""


def _held_back_part(held: HeldBack | None) -> HeldBackPart | None:
    if held is None or not held.objects:
        return None
    return HeldBackPart(checkpoint=held.checkpoint_id, objects=held.objects, bytes=held.size)


def missing_by_job(
    jobs: Iterable[JobEvidence], lacking: Missing, seen: Observation, storage: Storage
) -> dict[str, list[str]]:
    """Return the keys that each job's lasting checkpoints refer to and nothing shows."""
    passing = _passing(seen)
    return {
        job.key: missing_of_lasting(lacking, job.own_checkpoints, storage, passing=passing)
        for job in jobs
    }


def _passing(seen: Observation) -> set[Location]:
    """Return the folders of the checkpoints that did not exist all the time.

    One reading shows them and the other does not, or only Flink's word for its newest checkpoint.
    """
    first, second = (
        {checkpoint.folder for part in parts for checkpoint in part.checkpoints}
        for parts in (seen.first, seen.second)
    )
    began = (seen.time.now or seen.time.local).replace(microsecond=0)  # as coarse as S3 is
    newer = {r.folder for r in seen.elsewhere if r.modified_at is None or r.modified_at >= began}
    return (first ^ second) | newer


def _warnings(  # noqa: PLR0917 - what a cycle found
    marked: MarkedCycle,
    survey: ListingSurvey,
    known: JudgedCycle,
    decided: DecidedListing,
    missing: Mapping[str, Sequence[str]],
    environment: Environment,
) -> Iterator[str]:
    settings, storage = environment.settings, environment.storage
    yield from _listing_warnings(marked.seen, survey.surveyed, decided.views.values())
    if storage.proof:
        yield f"this kind of storage is not tested; {storage.proof}"
    yield from filter(
        None,
        (
            settings.short_margins_warning,
            decided.savepoints_kept,
            empty_savepoints_warning(survey.surveyed),
        ),
    )
    for key, view in decided.views.items():  # what Flink, or a person, has broken already (R51)
        yield from lost_checkpoints(view.evidence, missing[key], storage.location)
    yield from _ha_warnings(marked.seen, environment)
    yield from _unknown_jobs(known, settings)
    # a checkpoint that a resource names, as one of a running job, may be gone soon
    named = {place for place, _ in marked.seen.answers.named_by_resources()}
    yield from empty_pins(storage, [each for each in settings.pins if each not in named])


def _listing_warnings(
    seen: Observation, surveyed: Surveyed, views: Iterable[JobView]
) -> Iterator[str]:
    collected = [each.evidence for each in views if each.evidence.is_collected]
    if any(job.own_checkpoints for job in collected) and not any(
        shown.live_objects for shown in surveyed.jobs.values()
    ):
        yield "checkpoints were read, but nothing in the listing is referred to: an alias missing?"
    for job in collected:
        entropy = entropy_of(job)
        if entropy and entropy_in_listing(job, job.survey.shared_directories) is None:
            yield (
                f"job {job.job_id}: {entropy.words}; what is orphaned there is neither listed nor"
                " collected"
            )
    if seen.listed.is_resumed:
        yield (
            "a part of the listing is that of an interrupted plan: what changed since then in"
            " shared/ is not in this one"
        )


def _ha_warnings(seen: Observation, environment: Environment) -> Iterator[str]:
    for facts in seen.after.ha:
        if not facts.things:
            yield f"{facts.uri} shows nothing of Flink's: mistyped?"
    bases = [base.location for base in environment.bases]
    for folder in sorted({folder for facts in seen.after.ha for folder in facts.folders}):
        if (
            folder.option in _OF_CHECKPOINTS
            and environment.settings.closed_world
            and not _is_below(folder.path, environment.settings, bases)
        ):
            yield (
                f"{folder.by} sets {folder.option} to {folder.path}, which is neither the storage"
                " root nor an extra root"
            )


def _unknown_jobs(known: JudgedCycle, settings: StorageRootSettings) -> Iterator[str]:
    memory = known.comparison.memory
    tables = (known.jobs.values(), known.beside.values(), memory.jobs, memory.directories)
    shown = {each.job_id for table in tables for each in table}
    for job_id in settings.ended_job:
        if job_id not in {"all", *shown}:
            yield (
                f"--ended-job {job_id}: no storage, no cluster and no earlier cycle shows such a"
                " job: it is mistyped, or nothing of the job is left"
            )


def _is_below(path: str, settings: StorageRootSettings, bases: Sequence[Location]) -> bool:
    try:
        place = canonical(path, settings.aliases)
    except ValueError:
        return False
    return any(base.contains(place) for base in bases)


_MOST = 20


def lost_checkpoints(job: JobEvidence, absent: Collection[str], base: Location) -> Iterator[str]:
    """Yield a warning for each checkpoint of a job that lacks files, a few of many.

    Nothing is done about them: a checkpoint that lacks files still protects the others.

    Args:
        absent: Keys of files that its checkpoints name and nothing shows.
    """
    if not absent:
        return
    shown = 0
    for checkpoint in job.own_checkpoints:
        places = ((key, base.child(key)) for key in absent)
        lacking = [key for key, f in places if f.name in checkpoint.files.get(f.parent, ())]
        if lacking and (shown := shown + 1) <= _MOST:
            yield (
                f"{checkpoint.folder} cannot be restored any more: {len(lacking)} of its"
                f" {checkpoint.references} files are gone, {lacking[0]} first."
                f"{_why(checkpoint)} {_remedy(base.child(lacking[0]))}"
            )


def _why(checkpoint: Checkpoint) -> str:
    """Return what Flink does to such checkpoints.

    Source: Flink 1.20-2.3, ``FileMergingOperatorStreamStateHandle``, ``SharedStateRegistry``: the
    registry deletes the registered directories with all that is in them.
    """
    if DirectoryLayout.MERGED not in checkpoint.layouts:
        return ""
    return (
        " A job that claims a checkpoint with merged files deletes their whole directories, and so"
        " the files of the other checkpoints of the same job."
    )


def _remedy(file: Location) -> str:
    """Return where the file may still be: a versioned bucket keeps what is deleted for a while."""
    if file.scheme != "s3":
        return "If the storage keeps versions or backups, bring them back before they expire."
    bucket, key = shlex.quote(file.authority), shlex.quote(file.path.lstrip("/"))
    return (
        "If the bucket is versioned, bring them back before the versions expire. To see the delete"
        f" marker, run: aws s3api list-object-versions --bucket {bucket} --prefix {key}; to remove"
        f" it, run: aws s3api delete-object --bucket {bucket} --key {key} --version-id MARKER"
    )
