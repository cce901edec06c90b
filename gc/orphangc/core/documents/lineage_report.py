"""Lineages as a JSON document: jobs, checkpoints, bytes, and what would become of each (R41)."""

from datetime import datetime
from typing import Literal

from orphangc.core.lineage.checkpoint_fates import (
    CheckpointKind,
    RetentionAction,
    RetentionReason,
    may_be_needed,
)
from orphangc.core.lineage.continuation import ContinuationSource
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.types import JobState
from orphangc.core.times.instants import Instant

LINEAGES_FILE = "lineages.json"
"""Name of the lineages of a scheduled run in the folder of its plan."""


class LineageJobPart(FrozenPart):
    """One job of a lineage.

    Attributes:
        is_over: Whether its end is proven.
        first_life_at: Store time of the oldest object of it.
        last_life_at: Last time at which anything was written, or a source showed it alive.
        is_self_sustained: Whether it needs no file that is not its own; ``null``: unknown.
        bytes_only: Bytes of the files that only its checkpoints name.
    """

    job_id: str
    directories: tuple[str, ...]
    state: JobState
    is_over: bool
    first_life_at: Instant | None
    last_life_at: Instant | None
    resources: tuple[str, ...]
    is_self_sustained: bool | None
    bytes_only: int


class ContinuationPart(FrozenPart):
    """One edge: the newer job or savepoint continued the older one."""

    older: str
    newer: str
    source: ContinuationSource
    checkpoint: str


class LineageCheckpointPart(FrozenPart):
    """One checkpoint or savepoint.

    Attributes:
        uri: Folder of its ``_metadata``.
        is_restorable: Whether every file that it names was found; ``null`` if not all were looked
            for, upon which nothing relies.
        why: Words for people beside the reason.
        restored_by: Ids of the jobs that are known to have been restored from it.
        bytes_only: Bytes of the files that only it names.
    """

    uri: str
    job_id: str
    checkpoint_id: int
    is_savepoint: bool
    stored_at: Instant | None
    sha256: str
    is_restorable: bool | None
    action: RetentionAction
    reason: RetentionReason
    why: str
    restored_by: tuple[str, ...] = ()
    expired_at: Instant | None = None
    bytes_only: int = 0

    @property
    def kind(self) -> CheckpointKind:
        """Return whether it is a checkpoint or a savepoint."""
        return CheckpointKind.SAVEPOINT if self.is_savepoint else CheckpointKind.CHECKPOINT


class LineagePart(FrozenPart):
    """One lineage.

    Attributes:
        bytes_only: Bytes of the files that only this lineage's checkpoints name.
        unneeded_bytes: Bytes of those that nothing living needs.
        jobs: Its jobs, oldest first.
        checkpoints: Its checkpoints, oldest first.
    """

    name: str
    is_over: bool
    last_life_at: Instant | None
    bytes_only: int
    unneeded_bytes: int
    unneeded_objects: int
    jobs: tuple[LineageJobPart, ...]
    checkpoints: tuple[LineageCheckpointPart, ...]
    continuations: tuple[ContinuationPart, ...]

    def life_of(self, checkpoint: LineageCheckpointPart) -> datetime | None:
        """Return the last sign of life of the job of a checkpoint, ``None`` if unknown."""
        own = (job for job in self.jobs if job.job_id and job.job_id == checkpoint.job_id)
        return next((job.last_life_at for job in own), None)


class UnneededPart(FrozenPart):
    """Checkpoints that nothing living needs, in a few numbers.

    Attributes:
        objects: Number of the files that only they name.
        last_life_at: Last sign of life of the oldest of their jobs; ``null``: unknown.
    """

    checkpoints: int = 0
    lineages: int = 0
    objects: int = 0
    bytes: int = 0
    last_life_at: Instant | None = None


class LineageReport(FrozenPart):
    """All lineages of a storage root.

    Attributes:
        created_at: Time of the cycle, by the storage's clock.
        lineages: All lineages, the one without a sign of life for longest first.
        unneeded_bytes: Bytes of the files that only checkpoints name which nothing living needs.
        expiring_bytes: Bytes of the files that only expiring checkpoints name.
        impossible: Statements of the policy that cannot be true, as sentences.
    """

    schema_version: Literal[1] = 1
    root: str
    created_at: Instant
    policy: RetentionPolicy | None
    lineages: tuple[LineagePart, ...]
    unneeded_bytes: int
    unneeded_objects: int
    expiring_bytes: int
    expiring_objects: int
    impossible: tuple[str, ...] = ()

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """Return the names in the policy that no lineage bears."""
        jobs = [job for lineage in self.lineages for job in lineage.jobs]
        names = {name for job in jobs for name in (job.job_id, *job.resources)}
        names |= {lineage.name for lineage in self.lineages}
        return () if self.policy is None else self.policy.unknown_names(names)

    @property
    def names_in_use(self) -> tuple[str, ...]:
        """Return the names that the policy declares dead and that a living job bears."""
        dead = set() if self.policy is None else set(self.policy.dead)
        living = (job for each in self.lineages for job in each.jobs if not job.is_over)
        return tuple(sorted(dead & {name for e in living for name in (e.job_id, *e.resources)}))

    @property
    def checkpoints(self) -> tuple[LineageCheckpointPart, ...]:
        """Return the checkpoints of all lineages."""
        return tuple(each for lineage in self.lineages for each in lineage.checkpoints)

    @property
    def unneeded(self) -> UnneededPart:
        """Return what nothing living needs, in a few numbers."""
        unneeded = [
            (at, lineage.life_of(each))
            for at, lineage in enumerate(self.lineages)
            for each in lineage.checkpoints
            if not may_be_needed(each.reason, each.why)
        ]
        return UnneededPart(
            checkpoints=len(unneeded),
            lineages=len({at for at, _ in unneeded}),
            objects=self.unneeded_objects,
            bytes=self.unneeded_bytes,
            last_life_at=min((life for _, life in unneeded if life is not None), default=None),
        )

    @property
    def expiring(self) -> tuple[LineageCheckpointPart, ...]:
        """Return the checkpoints that would expire."""
        return tuple(e for e in self.checkpoints if e.action is RetentionAction.EXPIRE)
