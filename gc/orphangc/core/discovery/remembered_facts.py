"""What earlier cycles discovered: a resource that is gone takes nothing out of the world.

Its storages stay searched, its parts that could not be read go on blocking until a person
acknowledges them, and its jobs are over only with evidence: the same resource runs another job now
(R34, E5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from flinkstate.places.locations import canonical
from orphangc.core.discovery.discovered_facts import (
    SEARCHED_USES,
    Discovery,
    JobFact,
    Origin,
    PinFact,
    ResourceFacts,
)
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.types import may_recur

MOST_JOBS = 200
"""Job ids that are kept of one resource; an older one is only blocked again."""

_WITH_ONE_JOB = frozenset({"FlinkDeployment", "FlinkSessionJob"})


class DiscoveryMemory(FrozenPart):
    """Every resource and file that any cycle discovered, with all that it ever named."""

    version: Literal[2] = 2
    resources: tuple[ResourceFacts, ...] = ()
    acknowledged: tuple[Acknowledgement, ...] = ()


class Succession(FrozenPart):
    """A job that its resource replaced by another one, which runs (R34, E5)."""

    job_id: str
    successor: str
    origin: Origin


def merged_memories(memories: Iterable[DiscoveryMemory]) -> DiscoveryMemory:
    """Return what several writers remember, none of whom knows all."""
    found: dict[tuple[str, str], ResourceFacts] = {}
    words: dict[str, Acknowledgement] = {}
    for memory in memories:
        words |= {each.what: each for each in memory.acknowledged}
        for each in memory.resources:
            known = found.get(_identity(each))
            found[_identity(each)] = each if known is None else _merged(each, known)
    return DiscoveryMemory(
        resources=tuple(found[name] for name in sorted(found)),
        acknowledged=tuple(words[what] for what in sorted(words)),
    )


def united(now: Discovery, before: DiscoveryMemory) -> Discovery:
    """Return what is discovered now and what earlier cycles discovered."""
    known = {_identity(each): each for each in before.resources}
    present = [_united(each, known.pop(_identity(each), None)) for each in now.resources]
    nothing = dict.fromkeys(("directories", "ha", "pins", "jobs", "unclear"), ())
    gone = [
        _merged(each.model_copy(update={"is_present": False, **nothing}), each)
        for each in known.values()
    ]
    return now.model_copy(update={"resources": (*present, *gone)})


def _identity(resource: ResourceFacts) -> tuple[str, str]:
    """Return what distinguishes a resource from one that was made later under its name."""
    return resource.origin.resource, resource.uid


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
    return _merged(now, before.model_copy(update={"unclear": lasting}))


def _merged(now: ResourceFacts, before: ResourceFacts) -> ResourceFacts:
    """Return everything that one resource says or said."""
    fixed = {job.job_id for job in before.jobs if job.is_fixed}
    jobs = [
        job.model_copy(update={"is_fixed": job.is_fixed or job.job_id in fixed}) for job in now.jobs
    ]
    return now.model_copy(
        update={
            "unclear": _both(now.unclear, before.unclear, lambda e: e.what),
            "directories": _both(now.directories, before.directories, lambda e: (e.uri, e.use)),
            "ha": _both(now.ha, before.ha, lambda e: (e.type, e.where, e.cluster_id)),
            "pins": _both(now.pins, before.pins, lambda e: e.uri),
            "jobs": _both(jobs, before.jobs, lambda e: e.job_id)[: len(jobs) + MOST_JOBS],
            "is_effective": now.is_effective or before.is_effective,
        }
    )


def _both(now: Sequence[Any], before: Sequence[Any], key: Any) -> tuple[Any, ...]:
    """Return facts of both, those that only earlier cycles read as such."""
    known = {key(each) for each in now}
    earlier = (each for each in before if key(each) not in known)
    return (*now, *(each.model_copy(update={"is_present": False}) for each in earlier))


def memory_of(discovery: Discovery) -> DiscoveryMemory:
    """Return what later cycles must know; a pin in a searched directory needs no memory."""
    searched = {
        each.uri
        for one in discovery.resources
        for each in one.directories
        if each.use in SEARCHED_USES
    }
    kept = [_remembered(each, searched) for each in discovery.resources]
    return DiscoveryMemory(resources=tuple(each for each in kept if each))


def _remembered(resource: ResourceFacts, searched: Collection[str]) -> ResourceFacts | None:
    pins = tuple(each for each in resource.pins if not _is_searched(each, searched))
    only_now = {"clusters": (), "session": "", "is_made_read": False, "is_running": False}
    found = resource.model_copy(update={"pins": pins, **only_now})
    parts = (found.directories, found.ha, found.pins, found.jobs, found.unclear, found.made)
    return found if any(parts) else None


def _is_searched(pin: PinFact, searched: Collection[str]) -> bool:
    return str(canonical(pin.uri).parent) in searched


def successions(discovery: Discovery) -> tuple[Succession, ...]:
    """Return the jobs that the same resource replaced by one that runs, as the resource says.

    Whether it runs, Flink's REST API must confirm. An id that was chosen or computed may come back,
    and one that another resource names may run there.
    """
    names: dict[str, set[str]] = {}
    for one in discovery.resources:
        for job in one.jobs:
            names.setdefault(job.job_id, set()).add(one.origin.resource)
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
        if not job.is_present and _may_succeed(job, resource) and len(names[job.job_id]) == 1:
            yield Succession(job_id=job.job_id, successor=running[0].job_id, origin=resource.origin)


def _may_succeed(job: JobFact, resource: ResourceFacts) -> bool:
    return job.uid == resource.uid and not job.is_fixed and not may_recur(job.job_id)
