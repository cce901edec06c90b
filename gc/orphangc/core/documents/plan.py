"""The plan as a value: the contents of ``plan.json``, bound to what it was made for."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from flinkstate.places.locations import Location
from orphangc.core.documents.lineage_report import LineageReport, UnneededPart
from orphangc.core.documents.s3_inventory import Inventory
from orphangc.core.documents.self_sustained_record import UsageCheckPart
from orphangc.core.lineage.checkpoint_fates import CheckpointKind, RetentionAction, RetentionReason
from orphangc.core.model.bounds import NEVER
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.tallies import Amount
from orphangc.core.model.types import (
    Action,
    AreaName,
    EvidenceSource,
    JobState,
    Mode,
    Reason,
    Scope,
)
from orphangc.core.times.instants import Instant
from orphangc.core.world.known_world import World


class BoundsPart(FrozenPart):
    """The margins in seconds, and the bound that holds for every job: now less the grace period."""

    cutoff: Instant
    grace_period_seconds: float
    quarantine_period_seconds: float
    checkpoint_id_margin: int
    clock_skew_seconds: float


class BoundPart(FrozenPart):
    """One named bound of a job's cutoff; ``null`` is unknown, which keeps everything."""

    name: str
    at: Instant | None


class EvidencePart(FrozenPart):
    """One source of evidence for a job's liveness."""

    source: EvidenceSource
    uri: str
    sequence: int | None = None
    taken_at: Instant | None = None


class RefusedPart(FrozenPart):
    """The guard that refused the job's work."""

    guard: str
    message: str


class BlockedPart(FrozenPart):
    """A condition of deletion that is unmet."""

    condition: str
    message: str


MOST_MISSING = 1_000
"""A plan names no more missing keys of a job: a lost bucket would fill it with millions."""


class HeldBackPart(FrozenPart):
    """What one old checkpoint of a job keeps from being collected, by its age or its names alone.

    Attributes:
        checkpoint: Id of the oldest checkpoint of the job.
        objects: Number of objects that would be orphans without it.
    """

    checkpoint: int
    objects: int
    bytes: int


class AreaPart(FrozenPart):
    """One area of a job: whether its orphans can be proven, and by which rule.

    Attributes:
        rule: Number of the rule, "" where there is none for the job's state.
        kept_because: Reason for which all its files are kept; ``null``: each file is judged.
        bounds: Bounds of its files beside those of the job.
    """

    area: AreaName
    rule: str
    kept_because: str | None
    bounds: tuple[BoundPart, ...] = ()


class JobPart(FrozenPart):
    """One job: the contents of the directories named by its id."""

    job_id: str
    directories: tuple[str, ...]
    state: JobState
    mode: Mode
    oldest_retained_checkpoint_id: int | None
    retained_checkpoint_ids: tuple[int, ...]
    live_objects: int
    listed_objects: int
    cutoff: Instant
    bounds: tuple[BoundPart, ...]
    missing: tuple[str, ...]
    """Keys that its checkpoints refer to and nothing shows: the first ``MOST_MISSING`` of them."""
    evidence: tuple[EvidencePart, ...]
    refused: RefusedPart | None
    blocked: tuple[BlockedPart, ...]
    state_self_sustained: bool | None = None
    """Whether the job needs no file of the snapshot it was restored from; ``null``: unknown."""
    missing_count: int = 0
    """How many keys are missing in all."""
    held_back: HeldBackPart | None = None
    """What the oldest checkpoint alone keeps from being collected; ``null``: nothing."""
    areas: tuple[AreaPart, ...] = ()
    """Each area that the listing shows of it."""
    looks: tuple[UsageCheckPart, ...] = ()
    """At everything that is not the job's own, and at each such place: what this one plan saw."""
    resources: tuple[str, ...] = ()
    """Kubernetes resources that run it, or ran it: ``NAMESPACE/NAME``."""

    @property
    def is_cutoff_never(self) -> bool:
        """Return whether an unknown bound keeps everything of the job."""
        return self.cutoff <= NEVER

    @property
    def is_wholly_refused(self) -> bool:
        """Return whether a guard refuses the job in every area that the listing shows of it."""
        return self.refused is not None and all(each.kept_because for each in self.areas)

    @property
    def is_stopped(self) -> bool:
        """Return whether nothing of the job can be deleted: a refusal may spare an area."""
        return self.is_wholly_refused or bool(self.blocked)

    @property
    def missing_objects(self) -> int:
        """Return how many keys are missing, those included that the plan does not name."""
        return max(self.missing_count, len(self.missing))


class RootPart(FrozenPart):
    """One ``_metadata`` that was read."""

    uri: str
    job_id: str
    checkpoint_id: int
    format_version: int
    references: int
    sha256: str


class Tally(FrozenPart):
    """How many objects of an area got a verdict, and their bytes."""

    scope: Scope | CheckpointKind
    action: Action | RetentionAction
    reason: Reason | RetentionReason
    objects: int
    bytes: int

    @property
    def amount(self) -> Amount:
        """Return both numbers."""
        return Amount(self.objects, self.bytes)


class ReportedPart(FrozenPart):
    """Unreferenced objects of a report-only area; never collected."""

    scope: Scope
    job_id: str
    objects: int
    bytes: int
    unreferenced_objects: int
    unreferenced_bytes: int
    oldest_modified_at: Instant | None


class ExtraStatus(StrEnum):
    """Whether one kind of what a listing does not show was counted; if not, it is unknown."""

    COUNTED = "counted"
    NOT_ASKED = "not_asked"
    FORBIDDEN = "forbidden"
    NOT_TOLD = "not_told"
    """The store has no such request."""
    FAILED = "failed"


class HiddenPart(FrozenPart):
    """Contents of one area of a job beside its objects, never acted upon (R28).

    Attributes:
        uploads: Unfinished multipart uploads; ``null``, as below: not counted, so unknown.
        upload_bytes: Bytes of the uploaded parts, for uploads of known size.
        uploads_of_unknown_size: Number of uploads with further bytes that were not counted.
        dead_uploads: Number of uploads that nothing completes any more (R50).
        dead_upload_bytes: Theirs, for uploads of known size.
        noncurrent_versions: Versions that a newer one or a delete marker hides.
        directory_markers: Number of empty objects that represent folders.
    """

    scope: Scope
    job_id: str
    uploads: int | None
    upload_bytes: int | None
    uploads_of_unknown_size: int | None
    oldest_upload_at: Instant | None
    noncurrent_versions: int | None
    noncurrent_bytes: int | None
    delete_markers: int | None
    directory_markers: int
    dead_uploads: int = 0
    dead_upload_bytes: int = 0


class ExtrasPart(FrozenPart):
    """Contents of an object store beside objects, and whether each kind could be counted."""

    uploads: ExtraStatus
    versions: ExtraStatus
    problems: tuple[str, ...] = ()
    areas: tuple[HiddenPart, ...] = ()


class Plan(FrozenPart):
    """One dry pass; ``plan_id`` is the digest of all the rest, the verdict files included."""

    schema_version: Literal[1] = 1
    plan_id: str = ""
    tool_version: str
    root: str
    scopes: tuple[AreaName, ...]
    """Areas that were to be collected, where a rule is proven."""
    created_at: Instant
    engine: Literal["local", "spark"]
    engine_reason: str = ""
    """Why ``--engine auto`` chose it; "" if the operator did."""
    bounds: BoundsPart
    jobs: tuple[JobPart, ...]
    roots: tuple[RootPart, ...]
    tallies: tuple[Tally, ...]
    objects_listed: int
    bytes_listed: int
    list_requests: int
    duration_seconds: float
    live_set_sha256: str
    reported: tuple[ReportedPart, ...] = ()
    inventory: Inventory | None = None
    """``null``: the storage root itself was listed."""
    listed_at: Instant | None = None
    """Start of the listing where that is older than the plan; ``null``: it is the plan's own."""
    extras: ExtrasPart | None = None
    """``null``: no cluster was asked, or the storage is no object store."""
    world: World | None = None
    """Every place that was searched or named; ``null`` in a plan of a version before."""
    states: tuple[str, ...] = ()
    """Identifiers of the state location that this plan remembers what it saw in; none if it could
    not."""
    remembered_at: Instant | None = None
    """Time of what it remembers there; ``null`` in a plan of a version before."""
    warnings: tuple[str, ...] = ()
    verdict_files: Mapping[str, str] = Field(default_factory=dict)
    """sha256 by file name below ``verdicts/``."""
    expiry: LineageReport | None = None
    """Lineages, in a plan of ``expire``, whose verdicts are on checkpoints alone."""
    unneeded: UnneededPart | None = None
    """What ``expire`` could free; ``null`` in a plan of ``expire``, whose ``expiry`` says it."""
    settings: StorageRootSettings
    """Settings of the plan, without credentials."""

    def digest(self) -> str:
        """Return the sha256 that ``plan_id`` must be: over everything else in the plan."""
        content = self.model_dump(mode="json", exclude={"plan_id"})
        spelled = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(spelled.encode()).hexdigest()

    def signed(self) -> Plan:
        """Return the plan with its identity."""
        return self.model_copy(update={"plan_id": self.digest()})

    def objects(self, *actions: Action) -> int:
        """Return how many objects have one of the actions."""
        return sum(tally.objects for tally in self.tallies if tally.action in actions)

    def job_of(self, job_id: str, folder: Location) -> JobPart | None:
        """Return the job of the directory of a folder; several may have one id (decision 20)."""
        jobs = [job for job in self.jobs if job.job_id == job_id]
        above = {str(place) for place in folder.upwards()}
        return next((job for job in jobs if above.intersection(job.directories)), None) or (
            jobs[0] if len(jobs) == 1 else None
        )

    @property
    def is_wholly_refused(self) -> bool:
        """Return whether jobs were judged, and no file of any of them."""
        return bool(self.jobs) and all(job.is_wholly_refused for job in self.jobs)

    @property
    def are_all_refused(self) -> bool:
        """Return whether a guard stopped the work on every job."""
        return bool(self.jobs) and all(job.refused is not None for job in self.jobs)


def tallies_of(
    counted: Counter[tuple[Scope, Action, Reason]], sizes: Counter[tuple[Scope, Action, Reason]]
) -> tuple[Tally, ...]:
    """Return one tally for each kind of verdict, in a stable order."""
    return tuple(
        Tally(scope=scope, action=action, reason=reason, objects=objects, bytes=sizes[key])
        for key, objects in sorted(counted.items())
        for scope, action, reason in (key,)
    )
