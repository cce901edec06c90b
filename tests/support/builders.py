"""Facts for tests, told as a story: what is not said is as it should be.

Every builder takes the one thing that a test is about and fills in the rest so that no guard
objects, no condition is unmet, and an unreferenced old artifact would be deleted.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from flinkstate.places.locations import Location, canonical
from orphangc.core.cluster.ha_facts import Hold
from orphangc.core.cluster.job_facts import CheckpointFacts, ClusterFacts, JobFacts
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.listing_columns import Columns, Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import (
    Checkpoint,
    CycleEvidence,
    JobEvidence,
    Survey,
    UnreadableCheckpoint,
)
from orphangc.core.exporter.registry_snapshot import (
    RegistryEntries,
    RegistrySnapshot,
    RetainedCheckpoint,
)
from orphangc.core.model.bounds import Bound, BoundName, JobBounds, SafetyMargins
from orphangc.core.model.naming import Artifact, artifact_name
from orphangc.core.model.types import (
    DirectoryLayout,
    EvidenceSource,
    JobId,
    Mode,
    ObjectKey,
    StoredObject,
)
from orphangc.ports import LISTING_SCHEMA
from support.tombstone_tables import Tombstone

T0 = datetime(2026, 11, 21, 14, tzinfo=UTC)
"""Now: the store's time at the start of every cycle of the tests."""

JOB = JobId("4ae4a2986a0e1a49b0f165b58085d4b3")
OTHER_JOB = JobId("b" * 32)
THIRD_JOB = JobId("c" * 32)
BASE = canonical("s3://bucket/checkpoints")
UUID = bytes.fromhex("9b2c1a526f1e4a4e9d0b0a4c6f1e2d3c")
OTHER_UUID = bytes.fromhex("1c0ffee0111142228333444455556666")
NAME = artifact_name(None, UUID)
NAME_WITH_ID = artifact_name(41, UUID)

_UNITS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


def span(text: str) -> timedelta:
    """Return ``3h`` or ``1d12h`` as a duration; shares nothing with the settings' parser."""
    found = re.findall(r"(\d+)([dhms])", text)
    assert "".join(number + unit for number, unit in found) == text, text
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in found))


def ago(text: str) -> datetime:
    """Return the instant that lies so far before ``T0``."""
    return T0 - span(text)


def ahead(text: str) -> datetime:
    return T0 + span(text)


# --- one object and its bounds


def columns_of(*objects: StoredObject) -> Columns:
    rows = [
        {"key": each.key, "size": each.size, "modified_at": each.modified_at, "etag": each.etag}
        for each in objects
    ]
    return Recogniser("").columns(pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA))


def an_object(
    name: str = NAME, *, job: str = JOB, folder: str = "shared", age: str = "30d", **changes: object
) -> StoredObject:
    """Return an old object directly in ``shared/``."""
    stored = StoredObject(
        key=ObjectKey(f"{job}/{folder}/{name}"), size=1234, modified_at=ago(age), etag="e1"
    )
    return replace(stored, **changes)


def an_artifact(checkpoint_id: int | None = None, uuid: bytes = UUID) -> Artifact:
    layout = DirectoryLayout.FLAT if checkpoint_id is None else DirectoryLayout.FLAT_WITH_ID
    return Artifact(layout, uuid=uuid, checkpoint_id=checkpoint_id)


def a_tombstone(stored: StoredObject | None = None, *, laid: datetime | None = None) -> Tombstone:
    """Return the record that an object was found an orphan two days ago."""
    return Tombstone(
        object=stored or an_object(), job_id=JOB, since=laid or ago("2d"), plan_id="plan-1"
    )


def some_bounds(*, cutoff: datetime | None = None, **changes: object) -> JobBounds:
    """Return the bounds of a running job whose oldest retained checkpoint is 42."""
    facts: dict[str, object] = {
        "is_refused": False,
        "is_ended": False,
        "bounds": (Bound(BoundName.GRACE_PERIOD, cutoff or ago("72h")),),
        "oldest_retained_checkpoint_id": 42,
        "checkpoint_id_margin": 1,
        "quarantine_start": ago("24h"),
        "newest_completed_at": ago("1m"),
    }
    return JobBounds(**{**facts, **changes})  # type: ignore[arg-type]


def live(*uuids: bytes) -> LiveSet:
    return LiveSet(parsed=UuidSet(uuids))


# --- one job


def job_directory(job: str = JOB) -> Location:
    return BASE.child(job)


def a_root(
    checkpoint_id: int = 42,
    *,
    job: JobId = JOB,
    names: Iterable[str] = (NAME,),
    age: str = "10d",
    **changes: object,
) -> Checkpoint:
    """Return a retained checkpoint that refers to files of its own job's ``shared/``."""
    directory = job_directory(job)
    root = Checkpoint(
        folder=directory.child(f"chk-{checkpoint_id}"),
        directory=directory,
        job_id=job,
        checkpoint_id=checkpoint_id,
        format_version=4,
        is_savepoint=False,
        modified_at=ago(age),
        sha256=f"{checkpoint_id:064x}",
        files={directory.child("shared"): FileNames(names)},
        raw=UuidSet({UUID}),
    )
    return replace(root, **changes)


def a_checkpoint(checkpoint_id: int, **changes: object) -> CheckpointFacts:
    """Return a completed checkpoint as REST shows it."""
    shown = CheckpointFacts(
        id=checkpoint_id,
        status="COMPLETED",
        is_savepoint=False,
        discarded=False,
        external_path=f"{BASE}/{JOB}/chk-{checkpoint_id}",
        triggered_at=ago("10d"),
    )
    return replace(shown, **changes)


def some_facts(job: JobId = JOB, **changes: object) -> JobFacts:
    """Return what REST says of a running RocksDB job; its newest checkpoint is 43."""
    facts = JobFacts(
        job_id=job,
        flink_version="1.20.5",
        status="RUNNING",
        started_at=ago("90d"),
        incarnation="1/2",
        max_concurrent=1,
        state_backend="EmbeddedRocksDBStateBackend",
        checkpoint_storage="FileSystemCheckpointStorage",
        changelog_enabled=False,
        checkpoint_interval_ms=60_000,
        checkpoint_timeout_ms=600_000,
        latest_completed_id=43,
        restored=None,
        in_progress_ids=(),
        in_progress_count=0,
        completed_count=43,
        checkpoints=(a_checkpoint(43), a_checkpoint(42)),
        has_high_availability=True,
    )
    facts = replace(facts, **changes)
    is_over = facts.is_globally_terminal and facts.ended_at is None
    return replace(facts, ended_at=ago("0s")) if is_over else facts


def a_cluster(*jobs: JobFacts, **changes: object) -> ClusterFacts:
    """Return what REST says of a cluster that lists these jobs."""
    cluster = ClusterFacts(
        uri="http://flink",
        flink_version="1.20.5",
        jobs={each.job_id: each for each in jobs},
        cache_seconds=0,
    )
    return replace(cluster, **changes)


def a_hold(*ids: int, job: JobId = JOB, **changes: object) -> Hold:
    """Return the HA ConfigMap of a job that retains these checkpoints."""
    hold = Hold(
        job_id=job,
        source=EvidenceSource.KUBERNETES,
        uri=f"kubernetes:flink/configmaps/orders-{job}-config-map",
        cluster="kubernetes:flink/orders",
        retained_ids=frozenset(ids),
    )
    return replace(hold, **changes)


def a_survey(**changes: object) -> Survey:
    """Return what the listing shows of a healthy job: old objects and new ones, some in use."""
    survey = Survey(
        objects=100,
        size=100_000,
        live_objects=60,
        live_in_shared=50,
        oldest_modified_at=ago("60d"),
        newest_modified_at=ago("1m"),
    )
    return replace(survey, **changes)


def a_job(job: JobId = JOB, **changes: object) -> JobEvidence:
    """Return a running job that every guard and every condition is content with."""
    ids = frozenset({42, 43})
    evidence = JobEvidence(
        key=job,
        job_id=job,
        is_collected=True,
        is_declared_ended=False,
        directories=(job_directory(job),),
        own_checkpoints=(a_root(42, job=job), a_root(43, job=job, age="1m")),
        ids_at_start=ids,
        ids_before=ids,
        ids_after=ids,
        before=(some_facts(job),),
        after=(some_facts(job),),
        survey=a_survey(),
    )
    return replace(evidence, **changes)


def an_ended_job(job: JobId = JOB, **changes: object) -> JobEvidence:
    """Return a job that was declared ended, and whose directory has been still for a month."""
    still = {
        "is_declared_ended": True,
        "before": (),
        "after": (),
        "own_checkpoints": (a_root(42, job=job, age="40d"), a_root(43, job=job, age="30d")),
        "survey": a_survey(newest_modified_at=ago("30d")),
    }
    return a_job(job, **{**still, **changes})


def a_cycle(**changes: object) -> CycleEvidence:
    """Return a cycle in which all is well: store time known, closed world, tested storage."""
    cycle = CycleEvidence(
        now=T0,
        is_store_time=True,
        skew_seconds=0.0,
        margins=SafetyMargins(),
        is_closed_world=True,
        is_tested_storage=True,
    )
    return replace(cycle, **changes)


def a_broken_root(job: str = JOB, **changes: object) -> UnreadableCheckpoint:
    """Return a ``_metadata`` of the job that could not be read."""
    directory = job_directory(job)
    broken = UnreadableCheckpoint(
        uri=str(directory.child("chk-9")),
        reason="unknown handle type 99 at byte 12",
        sha256="f" * 64,
        directory=directory,
    )
    return replace(broken, **changes)


def a_snapshot(**changes: object) -> RegistrySnapshot:
    """Return a fresh registry snapshot that an exporter inside the JobManager wrote."""
    snapshot = RegistrySnapshot(
        source=Mode.REGISTRY,
        flink_version="1.20.5",
        job_id=JOB,
        jm_epoch="epoch-1",
        sequence=17,
        nonce=None,
        taken_at=ago("5m"),
        checkpoint_dir=str(job_directory()),
        max_concurrent=1,
        retained=(RetainedCheckpoint(id=42, is_savepoint=False, path="chk-42"),),
        issued=(),
        restored=(),
        entries=RegistryEntries(),
    )
    return replace(snapshot, **changes)
