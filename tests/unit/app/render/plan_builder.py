"""Plans as a cycle makes them, built by hand, with verdicts that add up to their tallies."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pyarrow as pa

from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import (
    BlockedPart,
    BoundPart,
    BoundsPart,
    EvidencePart,
    ExtrasPart,
    ExtraStatus,
    HiddenPart,
    JobPart,
    Plan,
    RefusedPart,
    ReportedPart,
    RootPart,
    tallies_of,
)
from orphangc.core.documents.s3_inventory import Inventory
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Action, EvidenceSource, JobState, Mode, Reason, Scope
from orphangc.ports import VERDICT_SCHEMA

NOW = datetime(2026, 11, 21, 14, 44, 12, tzinfo=UTC)
ROOT = "s3://acme-flink-prod-eu/checkpoints"
ORDERS = "4ae4a2986a0e1a49b0f165b58085d4b3"
PAYMENTS = "c91d5b07f3a24e0d8f6b1122aa33cc44"
SESSIONS = "0f3b8d2e91c74a55b6d7e8f901234567"
LEGACY = "7d5e0c1f2b3a49588796a5b4c3d2e1f0"
FRAUD = "e2b4d6f8091a4b3c8d5e6f7081920a3b"

ACTIONS = {Reason.ORPHAN: Action.TOMBSTONE, Reason.QUARANTINE_OVER: Action.DELETE}
"""Every other reason keeps."""

STORY = (
    # job, area, reason, objects, mean size, least and greatest age in hours
    (ORDERS, Scope.SHARED, Reason.REFERENCED, 900, 64 << 20, 1, 900),
    (ORDERS, Scope.SHARED, Reason.TOO_YOUNG, 120, 64 << 20, 0, 70),
    (ORDERS, Scope.SHARED, Reason.ORPHAN, 40, 64 << 20, 80, 400),
    (ORDERS, Scope.SHARED, Reason.IN_QUARANTINE, 60, 64 << 20, 90, 700),
    (ORDERS, Scope.SHARED, Reason.QUARANTINE_OVER, 310, 64 << 20, 120, 3000),
    (ORDERS, Scope.EXCLUSIVE, Reason.REPORT_ONLY, 36, 2 << 20, 0, 60),
    (PAYMENTS, Scope.SHARED, Reason.REFERENCED, 500, 48 << 20, 1, 500),
    (PAYMENTS, Scope.SHARED, Reason.NOT_OLDER_THAN_OLDEST_RETAINED, 44, 48 << 20, 80, 200),
    (PAYMENTS, Scope.SHARED, Reason.TOO_YOUNG, 90, 48 << 20, 0, 70),
    (PAYMENTS, Scope.SHARED, Reason.QUARANTINE_OVER, 120, 48 << 20, 120, 2500),
    (PAYMENTS, Scope.TASKOWNED, Reason.REPORT_ONLY, 12, 16 << 20, 30, 2000),
    (SESSIONS, Scope.SHARED, Reason.JOB_REFUSED, 640, 32 << 20, 0, 1500),
    (SESSIONS, Scope.EXCLUSIVE, Reason.JOB_REFUSED, 24, 1 << 20, 0, 80),
    (LEGACY, Scope.SHARED, Reason.REFERENCED, 80, 40 << 20, 3000, 4000),
    (LEGACY, Scope.SHARED, Reason.ORPHAN, 420, 40 << 20, 2500, 5000),
    (FRAUD, Scope.SHARED, Reason.REFERENCED, 200, 24 << 20, 1, 300),
    (FRAUD, Scope.SHARED, Reason.TOO_YOUNG, 31, 24 << 20, 0, 71),
    (FRAUD, Scope.SHARED, Reason.IN_QUARANTINE, 18, 24 << 20, 90, 300),
    ("", Scope.OTHER, Reason.UNRECOGNISED, 9, 3 << 20, 500, 9000),
    ("", Scope.SAVEPOINT, Reason.REPORT_ONLY, 21, 96 << 20, 200, 2000),
)


OPEN_WORLD = BlockedPart(
    condition=Condition.CLOSED_WORLD,
    message="nobody stated that the given roots are all there is (--closed-world)",
)
NOT_SEEN = BlockedPart(
    condition=Condition.JOB_STATE_UNKNOWN,
    message="the job is neither seen running (--flink-rest) nor declared ended (--ended-job)",
)
DAMAGED = RefusedPart(
    guard=Guard.DAMAGED_LATEST_ROOT,
    message="the latest checkpoint refers to files that cannot be seen"
    " (shared/2f6c1b0e-9d4b-4a55-8d0f-5b1a2c3d4e5f and 1 more): already damaged?",
)


def verdicts(story=STORY, *, seed=17, now=NOW) -> pa.RecordBatch:
    """Return a batch of VERDICT_SCHEMA of the scenario, in random order."""
    random = Random(seed)
    rows = []
    for number, (job_id, scope, reason, objects, size, least, greatest) in enumerate(story):
        for each in range(objects):
            age = timedelta(hours=random.uniform(least, greatest))
            rows.append(
                {
                    "job_id": job_id,
                    "key": f"{job_id}/{scope}/{number}-{each}",
                    "scope": scope.value,
                    "size": int(size * random.uniform(0.5, 1.5)),
                    "modified_at": None
                    if reason is Reason.UNRECOGNISED and each == 0
                    else now - age,
                    "etag": None,
                    "checkpoint_id": None,
                    "action": ACTIONS.get(reason, Action.KEEP).value,
                    "reason": reason.value,
                }
            )
    random.shuffle(rows)
    return pa.RecordBatch.from_pylist(rows, schema=VERDICT_SCHEMA)


def tallies(batch: pa.RecordBatch):
    """Return what the plan says of a batch, added up row by row."""
    objects, sizes = Counter(), Counter()
    for row in batch.to_pylist():
        key = (Scope(row["scope"]), Action(row["action"]), Reason(row["reason"]))
        objects[key] += 1
        sizes[key] += row["size"]
    return tallies_of(objects, sizes)


def a_job(job_id=ORDERS, **changes) -> JobPart:
    """Return a running job that nothing stops, unless changes say otherwise."""
    grace, own = NOW - timedelta(hours=72), NOW - timedelta(hours=76, minutes=12)
    facts = {
        "job_id": job_id,
        "directories": (f"{ROOT}/{job_id}",),
        "state": JobState.RUNNING,
        "mode": Mode.DERIVED,
        "oldest_retained_checkpoint_id": 4180,
        "retained_checkpoint_ids": (4180, 4181, 4182),
        "live_objects": 900,
        "listed_objects": 1466,
        "cutoff": own,
        "bounds": (
            BoundPart(name="grace_period", at=grace),
            BoundPart(name="oldest_own_root", at=own),
        ),
        "missing": (),
        "evidence": (
            *(
                EvidencePart(
                    source=EvidenceSource.METADATA,
                    uri=f"{ROOT}/{job_id}/chk-{number}",
                    sequence=number,
                    taken_at=NOW - timedelta(minutes=10 * (4183 - number)),
                )
                for number in (4180, 4181, 4182)
            ),
            EvidencePart(source=EvidenceSource.REST, uri="http://flink-orders:8081", taken_at=NOW),
        ),
        "refused": None,
        "blocked": (),
    }
    return JobPart(**{**facts, **changes})


def story_jobs() -> tuple[JobPart, ...]:
    """Return the jobs of the story: clear, blocked, refused, ended, and one in registry mode."""
    ended = NOW - timedelta(days=7)
    return (
        a_job(ORDERS),
        a_job(PAYMENTS, blocked=(OPEN_WORLD, NOT_SEEN), state=JobState.UNKNOWN, live_objects=500),
        a_job(
            SESSIONS,
            cutoff=datetime(1970, 1, 1, tzinfo=UTC),
            bounds=(
                BoundPart(name="grace_period", at=NOW - timedelta(hours=72)),
                BoundPart(name="oldest_own_root", at=None),
            ),
            missing=("shared/2f6c1b0e-9d4b-4a55-8d0f-5b1a2c3d4e5f", "shared/77aa2b1c-0d3e-4f5a"),
            refused=DAMAGED,
            blocked=(OPEN_WORLD,),
        ),
        a_job(
            LEGACY,
            state=JobState.ENDED,
            cutoff=ended,
            oldest_retained_checkpoint_id=88,
            retained_checkpoint_ids=(88,),
            bounds=(
                BoundPart(name="grace_period", at=NOW - timedelta(hours=72)),
                BoundPart(name="quiet_period", at=ended),
            ),
            blocked=(
                BlockedPart(
                    condition="max_delete_share", message="420 of 500 objects would go, over 50%"
                ),
            ),
        ),
        a_job(
            FRAUD,
            mode=Mode.REGISTRY,
            blocked=(
                BlockedPart(
                    condition="registry_order_unproven",
                    message="no proof that the registry snapshot is newer than the listing (R14)",
                ),
            ),
        ),
    )


def a_root(job_id=ORDERS, number=4182) -> RootPart:
    return RootPart(
        uri=f"{ROOT}/{job_id}/chk-{number}",
        job_id=job_id,
        checkpoint_id=number,
        format_version=4,
        references=312,
        sha256="5f" * 32,
    )


def a_plan(batch: pa.RecordBatch | None = None, **changes) -> tuple[Plan, Breakdown]:
    """Return a signed plan of the story with the breakdown of its verdicts."""
    batch = verdicts() if batch is None else batch
    breakdown = Breakdown(NOW)
    breakdown.write(batch)
    sums = tallies(batch)
    facts = {
        "tool_version": "0.1.0",
        "root": ROOT,
        "scopes": (Scope.SHARED, Scope.TASKOWNED, Scope.EXCLUSIVE),
        "created_at": NOW,
        "engine": "local",
        "bounds": BoundsPart(
            cutoff=NOW - timedelta(hours=72),
            grace_period_seconds=259_200.0,
            quarantine_period_seconds=86_400.0,
            checkpoint_id_margin=1,
            clock_skew_seconds=900.0,
        ),
        "jobs": story_jobs(),
        "roots": tuple(
            a_root(job, n) for job in (ORDERS, PAYMENTS, FRAUD) for n in (4180, 4181, 4182)
        ),
        "tallies": sums,
        "objects_listed": sum(tally.objects for tally in sums),
        "bytes_listed": sum(tally.bytes for tally in sums),
        "list_requests": 14,
        "duration_seconds": 8.412,
        "live_set_sha256": "ab" * 32,
        "reported": (
            ReportedPart(
                scope=Scope.TASKOWNED,
                job_id=PAYMENTS,
                objects=12,
                bytes=12 * (16 << 20),
                unreferenced_objects=7,
                unreferenced_bytes=7 * (16 << 20),
                oldest_modified_at=NOW - timedelta(days=80),
            ),
            ReportedPart(
                scope=Scope.EXCLUSIVE,
                job_id=ORDERS,
                objects=36,
                bytes=36 * (2 << 20),
                unreferenced_objects=0,
                unreferenced_bytes=0,
                oldest_modified_at=None,
            ),
        ),
        "warnings": (
            "checkpoints were read, but nothing in the listing is referred to: an alias?",
        ),
        "verdict_files": {"part-00000.parquet": "cd" * 32},
        "settings": StorageRootSettings(
            root=ROOT,
            state="s3://acme-flink-ops/orphangc",
            scope=("shared", "taskowned", "exclusive"),
            extra_roots=("s3://acme-flink-prod-eu/savepoints",),
            ended_job=(LEGACY,),
            flink_rest=("http://reader:secret@flink-orders:8081",),
            alias=("hdfs://nn1/checkpoints=s3://acme-flink-prod-eu/checkpoints",),
        ),
    }
    return Plan(**{**facts, **changes}).signed(), breakdown


def many_jobs(count: int) -> tuple[Plan, Breakdown]:
    """Return a plan of many jobs, each with a few objects; the last ones are the largest."""
    ids = [f"{number:032x}" for number in range(1, count + 1)]
    story = [
        (job_id, Scope.SHARED, reason, 1, (number + 1) << 20, 80, 400)
        for number, job_id in enumerate(ids)
        for reason in (Reason.REFERENCED, Reason.ORPHAN, Reason.QUARANTINE_OVER)
    ]
    jobs = tuple(a_job(job_id) for job_id in ids)
    return a_plan(verdicts(story), jobs=jobs, roots=tuple(a_root(job_id) for job_id in ids))


def some_extras(job_id=ORDERS, **changes) -> ExtrasPart:
    """Return what an object store holds beside the objects of one job."""
    area = {
        "scope": Scope.SHARED,
        "job_id": job_id,
        "uploads": 12,
        "upload_bytes": 3_400_000_000,
        "uploads_of_unknown_size": 0,
        "oldest_upload_at": NOW - timedelta(days=90),
        "noncurrent_versions": 800,
        "noncurrent_bytes": 52_000_000_000,
        "delete_markers": 790,
        "directory_markers": 3,
    }
    facts = {
        "uploads": ExtraStatus.COUNTED,
        "versions": ExtraStatus.COUNTED,
        "problems": (job_id,) if job_id != ORDERS else (),
    }
    known = {name: changes[name] for name in changes.keys() & facts.keys()}
    other = {name: changes[name] for name in changes.keys() - facts.keys()}
    return ExtrasPart(**{**facts, **known}, areas=(HiddenPart(**{**area, **other}),))


def hostile_plan(text: str) -> tuple[Plan, Breakdown]:
    """Return a plan that has a text wherever a name or a message from outside stands."""
    story = (
        (text, Scope.SHARED, Reason.ORPHAN, 2, 1 << 20, 80, 90),
        (ORDERS, Scope.SHARED, Reason.REFERENCED, 2, 1 << 20, 80, 90),
    )
    job = a_job(
        text,
        directories=(text,),
        missing=(text,),
        bounds=(BoundPart(name=text, at=None),),
        evidence=(EvidencePart(source=EvidenceSource.METADATA, uri=text),),
        refused=RefusedPart(guard=text, message=text),
        blocked=(BlockedPart(condition=text, message=text),),
    )
    return a_plan(
        verdicts(story),
        root=text,
        tool_version=text,
        jobs=(job, a_job(ORDERS)),
        roots=(a_root(text).model_copy(update={"uri": text, "sha256": text}),),
        reported=(
            ReportedPart(
                scope=Scope.TASKOWNED,
                job_id=text,
                objects=1,
                bytes=1,
                unreferenced_objects=1,
                unreferenced_bytes=1,
                oldest_modified_at=None,
            ),
        ),
        inventory=Inventory(uri=text, created_at=NOW, objects=7),
        extras=some_extras(text),
        warnings=(text,),
        live_set_sha256=text,
        verdict_files={text: text},
        settings=StorageRootSettings.model_construct(root=text, pin=(text,), alias=(text,)),
    )
