"""Parts of the plan, made from what a cycle found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.table import AREAS
from orphangc.core.decision.evidence import Checkpoint, CycleEvidence, JobEvidence, mode_of
from orphangc.core.decision.judge import Judgement
from orphangc.core.documents.plan import (
    MOST_MISSING,
    AreaPart,
    BlockedPart,
    BoundPart,
    EvidencePart,
    JobPart,
    RefusedPart,
    RootPart,
)
from orphangc.core.documents.self_sustained_record import UsageCheckPart
from orphangc.core.model.bounds import Bound
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, EvidenceSource, JobId, Scope


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
) -> JobPart:
    """Return one job as the plan shows it."""
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


_OLDEST = FilePlace(None, JobId(""), Scope.EXCLUSIVE, checkpoint_id=-1)
"""A checkpoint older than all: what is kept of it is kept of the whole area."""
