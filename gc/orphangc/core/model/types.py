"""The words of orphangc as values; an enum's value appears in plan, log and metric."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

ObjectKey = NewType("ObjectKey", str)
"""Place of an object relative to its storage root: no leading slash, "/" between parts."""

JobId = NewType("JobId", str)
"""Flink's job id, 32 lower-case hexadecimal digits; "" for objects in no job directory."""

_SMALL_NUMBER = re.compile("0{8}|f{8}")
"""How a number of 32 bits, or a negative one, fills half of an id."""


FIXED_JOB_IDS = ("pipeline.fixed-job-id", "$internal.pipeline.job-id")
"""Options that choose a job's id. Flink 1.14-2.3, ``PipelineOptionsInternal``."""


def may_recur(job_id: str) -> bool:
    """Return whether an id was computed from a name, or chosen, so that another run may have it.

    Such ids have many zeros in a row, or as many "f"; a random one has them once in 10**7.
    Source: Flink 1.14-2.3, ``ApplicationDispatcherBootstrap`` (``ZERO_JOB_ID``; the hash of the
    cluster id and 16 zeros), ``ClusterEntrypointUtils``; Flink 2.3,
    ``JobNameBasedJobIdManager.fromJobIndex`` (the hash of a job's name is added to both halves for
    each further job of an application); operator up to 1.9,
    ``FlinkUtils.generateSessionJobFixedJobID`` (a hash and a small number).
    """
    return _SMALL_NUMBER.search(job_id) is not None


class Action(StrEnum):
    """What a plan intends for one object."""

    KEEP = "keep"
    TOMBSTONE = "tombstone"
    REVIVE = "revive"
    DELETE = "delete"


class Reason(StrEnum):
    """Why; one reason an object, in the order in which ``core.decision.kernel`` asks."""

    JOB_REFUSED = "job_refused"
    REPORT_ONLY = "report_only"
    UNRECOGNISED = "unrecognised"
    REFERENCED = "referenced"
    NOT_OLDER_THAN_OLDEST_RETAINED = "not_older_than_oldest_retained"
    TOO_YOUNG = "too_young"
    ORPHAN = "orphan"
    IN_QUARANTINE = "in_quarantine"
    QUARANTINE_OVER = "quarantine_over"


class Outcome(StrEnum):
    """What became of one verdict when it was carried out."""

    DONE = "done"
    PLANNED = "planned"
    GONE = "gone"
    CHANGED = "changed"
    FAILED = "failed"


class Scope(StrEnum):
    """The area of a checkpoint storage that contains an object.

    Source: Flink 1.13-2.3, ``CheckpointedStateScope``, ``AbstractFsCheckpointStorageAccess``.
    """

    SHARED = "shared"
    TASKOWNED = "taskowned"
    EXCLUSIVE = "exclusive"
    CHANGELOG = "changelog"
    SAVEPOINT = "savepoint"
    FORST = "forst"
    """Working files of ForSt in a primary directory of their own; else they are in ``shared/``."""
    OTHER = "other"


class AreaName(StrEnum):
    """One kind of files with one rule (``core.areas``); the words of ``--scope``."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"
    SAVEPOINT = "savepoint"
    TASKOWNED = "taskowned"
    CHANGELOG = "changelog"
    MERGED = "merged"
    FORST = "forst"


class DirectoryLayout(StrEnum):
    """The naming scheme that a name fits, of Flink 1.13 to 2.3."""

    FLAT = "flat"
    FLAT_WITH_ID = "flat_with_id"
    MERGED = "merged"
    FORST = "forst"
    TASKOWNED = "taskowned"
    CHANGELOG = "changelog"
    EXCLUSIVE = "exclusive"
    METADATA = "metadata"
    METADATA_IN_PROGRESS = "metadata_in_progress"
    UNRECOGNISED = "unrecognised"


class Mode(StrEnum):
    """The mode of evidence for a job's liveness; never mixed silently."""

    DERIVED = "derived"
    REGISTRY = "registry"


class JobState(StrEnum):
    """What is known of a job's life; ``UNKNOWN`` is treated as running, and deletes nothing."""

    RUNNING = "running"
    SUSPENDED = "suspended"
    """Held by HA metadata or a resource, and shown by no cluster: it may go on at any time."""
    ENDED = "ended"
    UNKNOWN = "unknown"


class EvidenceSource(StrEnum):
    """Where a fact about a job came from."""

    METADATA = "metadata"
    SNAPSHOT = "snapshot"
    REST = "rest"
    KUBERNETES = "kubernetes"
    ZOOKEEPER = "zookeeper"
    OPERATOR = "operator"
    END_RECORD = "end_record"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """One object as a listing or a HEAD request shows it.

    Attributes:
        key: Key relative to the storage root.
        modified_at: Store time, aware UTC; ``None`` if the store gives none.
        etag: Opaque identity of the bytes, unquoted, where the store has one.
    """

    key: ObjectKey
    size: int
    modified_at: datetime | None
    etag: str | None = None

    @property
    def has_identity(self) -> bool:
        """Return whether the store says anything that another write would change."""
        return self.modified_at is not None or bool(self.etag)

    def is_same_as(self, other: StoredObject) -> bool:
        """Return whether both describe the same bytes: size, ETag and store time agree."""
        return (self.size, self.etag, self.modified_at) == (
            other.size,
            other.etag,
            other.modified_at,
        )


class ForeignKind(StrEnum):
    """What is not a job's own."""

    SNAPSHOT = "snapshot"
    """A checkpoint or savepoint: its folder, and every file that its ``_metadata`` names."""
    DIRECTORY = "directory"
    """Another job's directory, or any other folder, with everything below it."""
