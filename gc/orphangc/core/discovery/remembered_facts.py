"""What earlier cycles discovered: a resource that is gone takes nothing out of the world.

Its storages stay searched, its parts that could not be read go on blocking until a person
acknowledges them, and its jobs are over only with evidence: the same resource runs another job now
(R34, E5).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Literal

from flinkstate.places.locations import Location, canonical
from orphangc.core.discovery.discovered_facts import (
    CLUSTER,
    SEARCHED_USES,
    DirectoryUse,
    Discovery,
    Origin,
    ResourceFacts,
)
from orphangc.core.groups import sets_of
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.joined_facts import TABLE, Fact, joined
from orphangc.core.model.types import may_recur

MOST_JOBS = 200
"""Job ids that are kept of one resource; an older one is only blocked again."""

_WITH_ONE_JOB = frozenset({"FlinkDeployment", "FlinkSessionJob"})


class DiscoveryMemory(Fact):
    """Every resource and file that any cycle discovered, with all that it ever named."""

    version: Literal[2] = 2
    resources: Annotated[tuple[ResourceFacts, ...], TABLE] = ()
    acknowledged: Annotated[tuple[Acknowledgement, ...], TABLE] = ()


class Succession(FrozenPart):
    """A job that its resource replaced by another one, which runs (R34, E5)."""

    job_id: str
    successor: str
    origin: Origin


def united(now: Discovery, before: DiscoveryMemory) -> Discovery:
    """Return what is discovered now and what earlier cycles discovered."""
    known = {each.subject: _earlier(each) for each in before.resources}
    present = [_united(each, known.pop(each.subject, None)) for each in now.resources]
    resources = tuple(map(_with_newest_jobs, (*present, *known.values())))
    return now.model_copy(update={"resources": resources})


def _with_newest_jobs(resource: ResourceFacts) -> ResourceFacts:
    present = sum(each.is_present for each in resource.jobs)
    return resource.model_copy(update={"jobs": resource.jobs[: present + MOST_JOBS]})


def _earlier(resource: ResourceFacts) -> ResourceFacts:
    kinds = ("directories", "ha", "pins", "jobs", "unclear")
    facts: dict[str, Iterable[Fact]] = {name: getattr(resource, name) for name in kinds}
    gone = {"is_present": False}
    earlier = {name: tuple(e.model_copy(update=gone) for e in facts[name]) for name in kinds}
    return resource.model_copy(update=earlier | gone)


def _united(now: ResourceFacts, before: ResourceFacts | None) -> ResourceFacts:
    """Return one resource with what it named earlier.

    A part that could not be read blocks on, unless the same text at its place is read now: a
    correction does not say where the files were before.
    """
    if before is None:
        return now
    read = {(each.origin, each.digest) for each in now.directories}
    read |= {(each.origin, each.digest) for each in now.pins}
    lasting = tuple(each for each in before.unclear if (each.origin, each.digest) not in read)
    return joined(now, before.model_copy(update={"unclear": lasting}))


def memory_of(
    discovery: Discovery, acknowledged: Iterable[Acknowledgement] = ()
) -> DiscoveryMemory:
    """Return what later cycles must know.

    A word on a part that was gone ends when that is back: it says nothing of what is stored since.

    A pin below a searched directory needs no memory: the checkpoint is found there. Nor does a
    directory inside one of the same use, nor one of a resource that is gone which another one
    names: snapshots, and folders of results, come and go with each upgrade.
    """
    directories = [each for one in discovery.resources for each in one.directories]
    uses: dict[Location, set[DirectoryUse]] = {}
    for each in directories:
        uses.setdefault(canonical(each.uri), set()).add(each.use)
    named: set[tuple[str, ...]] = set()
    kept = []
    for one in sorted(discovery.resources, key=lambda one: not one.is_present):
        kept.append(_remembered(one, uses, frozenset() if one.is_present else named))
        named.update(each.subject for each in one.directories)
    parts = (each for one in discovery.resources for each in one.unclear)
    back = {each.word_once_gone for each in parts if each.is_present}
    return DiscoveryMemory(
        resources=tuple(each for each in kept if each),
        acknowledged=tuple(each for each in acknowledged if each.what not in back),
    )


def _remembered(
    resource: ResourceFacts,
    uses: Mapping[Location, Collection[DirectoryUse]],
    named: Collection[tuple[str, ...]],
) -> ResourceFacts | None:
    def around(uri: str) -> set[DirectoryUse]:
        return {use for each in canonical(uri).parent.upwards() for use in uses.get(each, ())}

    only_now = {"clusters": (), "session": "", "is_made_read": False, "is_running": False}
    lasting = {
        "directories": tuple(
            each
            for each in resource.directories
            if each.subject not in named
            # a storage root around another one blocks
            and (each.use is DirectoryUse.CHECKPOINTS or each.use not in around(each.uri))
        ),
        "pins": tuple(e for e in resource.pins if SEARCHED_USES.isdisjoint(around(e.uri))),
    }
    found = resource.model_copy(update=lasting | only_now)
    parts = (found.directories, found.ha, found.pins, found.jobs, found.unclear, found.made)
    return found if any(parts) or found.origin.kind == CLUSTER else None


def successions(discovery: Discovery) -> tuple[Succession, ...]:
    """Return the jobs that the same resource replaced by one that runs, as the resource says.

    Whether it runs, Flink's REST API must confirm. An id that was chosen or computed may come back,
    and one that another resource names may run there.
    """
    names = sets_of(
        (job.job_id, one.origin.resource)
        for one in discovery.resources
        if one.origin.kind != CLUSTER  # REST is asked again
        for job in one.jobs
    )
    return tuple(
        each
        for one in discovery.present
        if one.origin.kind in _WITH_ONE_JOB and one.uid
        for each in _of_resource(one, names)
    )


def _of_resource(resource: ResourceFacts, names: Mapping[str, set[str]]) -> Iterator[Succession]:
    running = [job for job in resource.jobs if job.is_present and job.state == "RUNNING"]
    if len(running) != 1 or any(job.is_present for job in resource.jobs if job not in running):
        return
    for job in resource.jobs:
        is_one = job.uid == resource.uid and len(names[job.job_id]) == 1
        if is_one and not (job.is_present or job.is_fixed or may_recur(job.job_id)):
            yield Succession(job_id=job.job_id, successor=running[0].job_id, origin=resource.origin)
