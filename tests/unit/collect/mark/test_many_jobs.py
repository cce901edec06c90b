"""Four times as many jobs take about four times as long: no job asks what concerns all others."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from orphangc.collect.mark.job_dependencies import dependencies_of
from orphangc.collect.mark.mark import Mark, mark
from orphangc.collect.observe.checkpoints import CheckpointScan, CheckpointsRead, _ids
from orphangc.collect.observe.observation import Observation
from orphangc.collect.observe.reported import Answers
from orphangc.collect.world.sighted import _jobs
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.memory.sighting import SeenJob
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId, ObjectKey, StoredObject
from orphangc.ports import StoreTime
from orphangc.ports.engine import Listed
from support.builders import BASE, T0, a_checkpoint, a_cluster, a_root, some_facts
from support.calls import calls_of

FEW, MANY = 20, 80


def observed(jobs: int) -> Observation:
    """Return what a cycle sees of running jobs, each of a cluster of its own."""
    ids = [JobId(f"{number:08x}" * 4) for number in range(1, jobs + 1)]
    folders = [f"{job}/chk-{n}" for job in ids for n in (42, 43)]
    metadata = {
        each: StoredObject(key=ObjectKey(f"{each}/_metadata"), size=1, modified_at=T0)
        for each in folders
    }
    scan = CheckpointScan(metadata, frozenset(ids), _ids(metadata, BASE.name))
    read = CheckpointsRead(scan, tuple(a_root(n, job=job) for job in ids for n in (42, 43)), ())
    clusters = tuple(a_cluster(facts_of(job), uri=f"http://{job}") for job in ids)
    time = StoreTime(now=T0, local=T0, source="")
    settings = StorageRootSettings(root=str(BASE))
    said = Answers(settings=settings, clusters=clusters)
    return Observation(
        settings=settings,
        time=time,
        time_after=time,
        before=said,
        after=said,
        answers=replace(said, clusters=clusters * 2),
        at_start=(scan,),
        first=(read,),
        second=(read,),
        elsewhere=(),
        elsewhere_unreadable=(),
        exported={},
        listed=Listed(objects=len(folders)),
    )


def facts_of(job: JobId):
    own = (a_checkpoint(n, external_path=f"{BASE}/{job}/chk-{n}") for n in (43, 42))
    return some_facts(job, checkpoints=tuple(own))


def marked(seen: Observation) -> Mark:
    return mark(seen, [BASE])


def shown(seen: Observation) -> Callable[[], list[SeenJob]]:
    """Return what takes the memory's facts about jobs from a mark."""
    found = marked(seen)
    return lambda: list(_jobs(seen, found, found.jobs.values()))


def depending(seen: Observation) -> Callable[[], object]:
    """Return what finds the jobs in whose ``shared/`` each job has files: in its own alone."""
    found = marked(seen)
    names = {e.job_id: UuidSet({e.job_id.encode()[:16]}) for e in found.jobs.values()}
    return lambda: dependencies_of(found, seen.settings, names)


WORK = {"mark": lambda seen: lambda: marked(seen), "memory": shown, "needs": depending}


@pytest.mark.parametrize("work", [*WORK.values()], ids=[*WORK])
def test_what_a_job_takes_does_not_grow_with_the_jobs_beside_it(work) -> None:
    few, many = (calls_of(work(observed(jobs))) for jobs in (FEW, MANY))
    assert many / MANY < 1.5 * few / FEW
