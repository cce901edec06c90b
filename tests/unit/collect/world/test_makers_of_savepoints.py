"""Which job a savepoint was taken of: six digits of its folder's name are no proof (R42)."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from flinkstate.places.locations import canonical
from orphangc.collect.world.sighted_lineage import is_made_by, seen_lineage
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.lineage.continuation import ContinuationSource
from orphangc.core.memory.remembered import RememberedJob
from support.builders import T0

JOB = "abcdef" + "0" * 26
DIRECTORY = canonical(f"s3://b/cp/{JOB}")
DAY = timedelta(days=1)
CHECKPOINT = Checkpoint(
    folder=DIRECTORY.child("chk-9"),
    directory=DIRECTORY,
    job_id=JOB,
    checkpoint_id=9,
    format_version=4,
    is_savepoint=False,
    modified_at=T0,
    sha256="",
    files={},
    operators=frozenset({"source", "sink"}),
)
SAVEPOINT = replace(
    CHECKPOINT,
    folder=canonical("s3://b/sp/savepoint-abcdef-000000000001"),
    directory=None,
    job_id="",
    checkpoint_id=8,
    is_savepoint=True,
    modified_at=T0 - DAY,
)


def made(*own: Checkpoint, **changes: object) -> bool:
    job = JobEvidence(
        key=JOB, job_id=JOB, is_collected=True, is_declared_ended=True, own_checkpoints=own
    )
    return is_made_by(replace(SAVEPOINT, **changes), job)


@pytest.mark.parametrize(
    ("changes", "is_made"),
    [
        ({}, True),
        ({"checkpoint_id": 10, "modified_at": T0 + DAY}, True),
        ({"checkpoint_id": 10}, False),
        ({"modified_at": T0 + DAY}, False),
        ({"checkpoint_id": 9}, False),
        ({"modified_at": T0}, False),
        ({"modified_at": None}, False),
        ({"operators": frozenset({"source"})}, False),
        ({"operators": frozenset()}, False),
    ],
)
def test_ids_and_times_must_agree_and_operators_be_the_same(changes, is_made) -> None:
    assert made(CHECKPOINT, **changes) is is_made


def test_every_checkpoint_counts_and_without_any_nothing_is_proven() -> None:
    assert not made()
    assert not made(replace(CHECKPOINT, is_savepoint=True))
    assert not made(replace(CHECKPOINT, operators=frozenset()), operators=frozenset())
    older = replace(CHECKPOINT, checkpoint_id=7, modified_at=T0 - 2 * DAY)
    assert made(older, CHECKPOINT)
    assert made(replace(older, operators=frozenset({"source"})), CHECKPOINT)
    assert not made(replace(older, modified_at=T0 - DAY / 2), CHECKPOINT)


@pytest.mark.parametrize(("place", "is_proven"), [("s3://b/cp", True), ("s3://other/cp", False)])
def test_a_cluster_that_ran_a_job_of_the_id_elsewhere_says_nothing_of_when_this_one_lived(
    place, is_proven
) -> None:
    """The savepoint may be of that one, which is a copy of the deployment."""
    record = RememberedJob(
        job_id=JOB, by="http://one:8081", directories=(f"{place}/{JOB}",), began_at=T0 - 2 * DAY
    )
    job = JobEvidence(
        key=JOB,
        job_id=JOB,
        is_collected=True,
        is_declared_ended=True,
        directories=(DIRECTORY,),
        own_checkpoints=(CHECKPOINT,),
    )
    owners = SimpleNamespace(keys={DIRECTORY: JOB})
    marked = SimpleNamespace(owners=owners, checkpoints=(CHECKPOINT, SAVEPOINT))
    said = SimpleNamespace(clusters=(), ha=())
    seen = SimpleNamespace(answers=said, before=said, after=said)
    seen = seen_lineage(seen, marked, {JOB: job}, known=[record], aliases=(), at=T0 + DAY)
    sources = {each.source for each in seen.continuations}
    assert (ContinuationSource.SAVEPOINT_CONTENTS in sources) is is_proven
