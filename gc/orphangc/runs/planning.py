"""What a cycle found, as the plan that people and sweeps read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from orphangc import __version__
from orphangc.core.evidence import CycleEvidence, JobEvidence
from orphangc.core.model import Scope
from orphangc.core.plan import (
    BoundsPart,
    InventoryPart,
    JobPart,
    Plan,
    ReportedPart,
    evidence_of,
    job_part,
    root_part,
    tallies_of,
)
from orphangc.core.settings import StorageRootSettings
from orphangc.core.uris import Location, canonical
from orphangc.ports import Storage
from orphangc.runs.confirming import inventory_of
from orphangc.runs.extras import extras_part
from orphangc.runs.mark import Mark
from orphangc.runs.missing import Missing
from orphangc.runs.observe import Observation, Outside
from orphangc.runs.rows import instant
from orphangc.runs.survey import Surveyed
from orphangc.runs.verdicts import Counts, JobView, Reported

__all__ = ["Found", "Looked", "plan_of"]


@dataclass(frozen=True, slots=True)
class Looked:
    """What the listing shows, and what it does not."""

    surveyed: Surveyed
    missing: Missing


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that one cycle found, phase by phase."""

    seen: Observation
    looked: Looked
    marked: Mark
    views: Mapping[str, JobView]
    evidence: CycleEvidence
    counts: Counts


def plan_of(found: Found, settings: StorageRootSettings, outside: Outside) -> Plan:
    """Return the unsigned plan."""
    seen, surveyed, counts = found.seen, found.looked.surveyed, found.counts
    storage = outside.storage
    return Plan(
        tool_version=__version__,
        root=str(canonical(settings.root)),
        scopes=settings.scopes,
        created_at=found.evidence.now,
        engine=outside.engine.name,
        bounds=_bounds_part(found.evidence),
        jobs=tuple(_job_part(view, found, storage.location) for view in found.views.values()),
        roots=tuple(root_part(root) for root in found.marked.roots),
        tallies=tallies_of(counts.objects, counts.bytes),
        objects_listed=surveyed.objects,
        bytes_listed=surveyed.size,
        list_requests=storage.list_requests,
        duration_seconds=_seconds(seen.time.local, storage.now().local),
        live_set_sha256=found.marked.live.digest(),
        reported=tuple(_reported_part(key, each) for key, each in sorted(counts.reported.items())),
        inventory=_inventory_part(storage),
        extras=extras_part(
            outside.extras, surveyed.markers, with_versions=settings.noncurrent_versions
        ),
        warnings=_warnings(found),
        settings=settings,
    )


def _bounds_part(evidence: CycleEvidence) -> BoundsPart:
    margins = evidence.margins
    return BoundsPart(
        cutoff=evidence.now - margins.grace_period,
        grace_period_seconds=margins.grace_period.total_seconds(),
        quarantine_period_seconds=margins.quarantine_period.total_seconds(),
        checkpoint_id_margin=margins.checkpoint_id_margin,
        clock_skew_seconds=margins.clock_skew.total_seconds(),
    )


def _job_part(view: JobView, found: Found, base: Location) -> JobPart:
    clusters = _clusters_of(found.seen, view.evidence)
    return job_part(
        view.evidence,
        view.judgement,
        bounds=view.bounds.bounds,
        cutoff=view.bounds.cutoff,
        oldest_retained_checkpoint_id=view.bounds.oldest_retained_checkpoint_id,
        missing=found.looked.missing.of(view.evidence.own_roots, base),
        evidence=evidence_of(view.evidence, found.evidence, clusters),
    )


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 3)


def _clusters_of(seen: Observation, job: JobEvidence) -> list[str]:
    return [cluster.uri for cluster in seen.after if job.job_id in cluster.jobs]


def _reported_part(key: tuple[Scope, str], shown: Reported) -> ReportedPart:
    return ReportedPart(
        scope=key[0],
        job_id=key[1],
        objects=shown.objects,
        bytes=shown.size,
        unreferenced_objects=shown.unreferenced_objects,
        unreferenced_bytes=shown.unreferenced_size,
        oldest_modified_at=instant(shown.oldest_us),
    )


def _inventory_part(storage: Storage) -> InventoryPart | None:
    inventory = inventory_of(storage)
    if inventory is None:
        return None
    return InventoryPart(
        uri=inventory.uri, created_at=inventory.created_at, objects=inventory.objects
    )


def _warnings(found: Found) -> tuple[str, ...]:
    """Return what is worth a look though it stops nothing."""
    warnings = []
    collected = [each.evidence for each in found.views.values() if each.evidence.is_collected]
    if any(job.own_roots for job in collected) and not any(
        shown.live_objects for shown in found.looked.surveyed.jobs.values()
    ):
        warnings.append(
            "roots were read, but nothing in the listing is referred to: an alias missing?"
        )
    if found.seen.listed.is_resumed:
        warnings.append(
            "a part of the listing is that of an interrupted plan: what changed since then in"
            " shared/ is not in this one; a sweep lists anew"
        )
    return tuple(warnings)
