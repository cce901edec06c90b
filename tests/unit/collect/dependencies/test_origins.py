"""Checkpoints with which a job begins again: where the present and earlier cycles show them."""

from types import SimpleNamespace
from typing import Any

import pytest

from flinkstate.places.locations import canonical
from orphangc.collect.dependencies.origins import OriginFacts, Origins
from orphangc.core.cluster.job_facts import RestoredFacts
from orphangc.core.exporter.registry_snapshot import RestoredCheckpoint
from orphangc.core.lineage.checkpoint_fates import HiddenOrigin
from orphangc.core.memory.remembered import RememberedJob, WorldMemory
from support.builders import JOB, T0, a_hold, a_job, a_snapshot, some_facts

ORIGIN = "s3://bucket/savepoints/savepoint-1"
SHOWN = some_facts(restored=RestoredFacts(id=4, external_path=ORIGIN, is_savepoint=True))
STATED = a_snapshot(restored=(RestoredCheckpoint(id=4, path=ORIGIN, mode="NO_CLAIM"),))
HELD = {"held_after": (a_hold(43),), "ids_after": frozenset({43})}


def origins(*records: RememberedJob, over: bool = False, **job: Any) -> Origins:
    known = a_job(**job)
    marked: Any = SimpleNamespace(
        seen=SimpleNamespace(
            settings=SimpleNamespace(aliases=(), margins=SimpleNamespace(clock_skew=T0 - T0))
        ),
        mark=SimpleNamespace(checkpoints=()),
        searched=(),
    )
    return Origins.of(
        OriginFacts(
            marked=marked,
            jobs={known.key: known},
            beside={},
            memory=WorldMemory(jobs=records),
            over={known.key} if over else (),
            now=T0,
        )
    )


@pytest.mark.parametrize(
    ("records", "job"),
    [
        ((), {"before": (SHOWN,), "after": (SHOWN,)}),
        ((), {"before": (some_facts(),), "after": (some_facts(),), "snapshots": (STATED,)}),
        (
            (RememberedJob(job_id=JOB, by="c", restored=(ORIGIN,)),),
            {"before": (some_facts(),), "after": (some_facts(),)},
        ),
    ],
    ids=["REST", "a registry", "an earlier cycle"],
)
def test_an_origin_is_used_again_unless_the_job_is_over_or_goes_on_from_its_own(
    records, job
) -> None:
    """R43: HA metadata that names a checkpoint of the job's own alone frees its origin."""
    place = canonical(ORIGIN)
    (user,) = origins(*records, **job).users_of(place, T0, "")
    assert user.startswith(f"job {JOB} (without HA metadata")
    assert not [*origins(*records, over=True, **job).users_of(place, T0, "")]
    assert not [*origins(*records, **job, **HELD).users_of(place, T0, "")]


def test_of_a_thousand_jobs_without_a_known_origin_some_are_named() -> None:
    """Each look of a plan holds the answer."""
    hidden = [HiddenOrigin(key=f"{n:032x}", job_id=f"{n:032x}", until=T0) for n in range(1_000)]
    users = [*Origins(hidden=hidden).users_of(canonical(ORIGIN), T0, f"{1:032x}")]
    assert len(users) == 4
    assert users[-1] == "one of 996 more such jobs"
