"""What earlier cycles discovered: a resource that is gone takes nothing out of the world.

Its storages stay searched, its parts that were not understood go on blocking, and its jobs are over
only with evidence: the same resource runs another job now (R34, E5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    SEARCHED_USES,
    DirectoryUse,
    Discovery,
    JobFact,
    Origin,
    PinFact,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.locations import canonical
from orphangc.core.model.owners import job_directory_of
from orphangc.core.model.types import is_job_id, may_recur

MOST_JOBS = 200
"""Job ids that are kept of one resource; an older one is only blocked again."""

_WITH_ONE_JOB = frozenset({"FlinkDeployment", "FlinkSessionJob"})


class DiscoveryMemory(FrozenPart):
    """Every resource and file that any cycle discovered, with all that it ever named."""

    version: int = 1
    resources: tuple[ResourceFacts, ...] = ()


class LostStatement(FrozenPart):
    """A fact that an earlier cycle read, and that nothing states now; it still counts."""

    what: str
    origin: Origin


class Succession(FrozenPart):
    """A job that its resource replaced by another one, which runs (R34, E5).

    Attributes:
        job_id: The job that is over.
        successor: The job that the resource runs now.
        origin: The resource.

    """

    job_id: str
    successor: str
    origin: Origin


def merged_memories(memories: Iterable[DiscoveryMemory]) -> DiscoveryMemory:
    """Return what several writers remember, none of whom knows all."""
    found: dict[tuple[str, str], ResourceFacts] = {}
    for memory in memories:
        for each in memory.resources:
            known = found.get(_identity(each))
            found[_identity(each)] = each if known is None else _merged(each, known)
    return DiscoveryMemory(resources=tuple(found[name] for name in sorted(found)))


def united(now: Discovery, before: DiscoveryMemory, forgotten: Collection[str] = ()) -> Discovery:
    """Return what is discovered now and what earlier cycles discovered.

    Args:
        now: Discovery of this cycle.
        before: Memory of earlier ones.
        forgotten: Resources of which a person stated that they are gone, and all that they named:
            one that is there is not forgotten.

    """
    known = {_identity(each): each for each in before.resources}
    present = [_united(each, known.pop(_identity(each), None)) for each in now.resources]
    gone = [
        each.model_copy(update={"is_present": False})
        for each in known.values()
        if each.origin.resource not in forgotten
    ]
    return Discovery(resources=(*present, *gone), unclear=now.unclear)


def _identity(resource: ResourceFacts) -> tuple[str, str]:
    """Return what distinguishes a resource from one that was made later under its name."""
    return resource.origin.resource, resource.uid


def _united(now: ResourceFacts, before: ResourceFacts | None) -> ResourceFacts:
    """Return one resource with what it named earlier; what it corrected blocks on.

    Only what could not be read is explained by reading it, and what was not named while nothing ran
    by the configuration that is known now.
    """
    if before is None:
        return now
    lasting = tuple(each for each in before.unclear if not _is_read(each, now))
    found = _merged(now, before.model_copy(update={"unclear": lasting}))
    unclear = tuple(each for each in found.unclear if not _is_remembered(each, found))
    return found.model_copy(update={"unclear": unclear})


def _is_read(part: UnclearFact, now: ResourceFacts) -> bool:
    """Return whether this cycle read what an earlier one could not.

    A source that the resource names no more was never read.
    """
    return part.is_until_read and (not part.source or part.source in now.read)


def _is_remembered(part: UnclearFact, resource: ResourceFacts) -> bool:
    """Return whether the configuration that an earlier cycle read explains a part."""
    if part.is_until_shown:
        return part.is_until_remembered and part.code in resource.shown
    is_known = bool(resource.uses(DirectoryUse.CHECKPOINTS)) or not part.is_absence
    return part.is_until_remembered and resource.is_effective and is_known


def _merged(now: ResourceFacts, before: ResourceFacts) -> ResourceFacts:
    """Return everything that one resource says or said."""
    named = {job.job_id for job in now.jobs}
    fixed = {job.job_id for job in before.jobs if job.is_fixed}
    shown = tuple(
        job.model_copy(update={"is_fixed": job.is_fixed or job.job_id in fixed}) for job in now.jobs
    )
    earlier = [
        job.model_copy(update={"is_present": False})
        for job in before.jobs
        if job.job_id not in named
    ]
    unclear = _both(now.unclear, before.unclear, lambda e: e.code)
    return now.model_copy(
        update={
            "unclear": tuple(_seen(each, each in now.unclear) for each in unclear),
            "directories": _both(now.directories, before.directories, lambda e: (e.uri, e.use)),
            "ha": _both(now.ha, before.ha, lambda e: (e.type, e.where, e.cluster_id)),
            "pins": _both(now.pins, before.pins, lambda e: e.uri),
            "jobs": (*shown, *earlier[:MOST_JOBS]),
            "is_effective": now.is_effective or before.is_effective,
            "shown": tuple(dict.fromkeys((*now.shown, *before.shown))),
        }
    )


def _seen(part: UnclearFact, is_present: bool) -> UnclearFact:  # noqa: FBT001
    return part.model_copy(update={"is_present": part.is_present and is_present})


def _both(now: Sequence[Any], before: Sequence[Any], key: Any) -> tuple[Any, ...]:
    known = {key(each) for each in now}
    return (*now, *(each for each in before if key(each) not in known))


def memory_of(discovery: Discovery) -> DiscoveryMemory:
    """Return what later cycles must know; a pin in a searched directory needs no memory."""
    searched = {
        each.uri
        for one in discovery.resources
        for each in one.directories
        if each.use in SEARCHED_USES
    }
    kept = [_remembered(each, searched) for each in discovery.resources]
    return merged_memories([DiscoveryMemory(resources=(each,)) for each in kept if each])


def _remembered(resource: ResourceFacts, searched: Collection[str]) -> ResourceFacts | None:
    pins = tuple(each for each in resource.pins if not _is_searched(each, searched))
    found = resource.model_copy(update={"pins": pins, "clusters": (), "read": ()})
    has_content = found.directories or found.ha or found.pins or found.jobs or found.unclear
    return found if has_content else None


def _is_searched(pin: PinFact, searched: Collection[str]) -> bool:
    return str(canonical(pin.uri).parent) in searched


def lost_statements(now: Discovery, before: DiscoveryMemory) -> tuple[LostStatement, ...]:
    """Return what earlier cycles read and nothing states now."""
    known = {each.origin.resource: each for each in now.resources}
    return tuple(
        LostStatement(what=what, origin=origin)
        for each in before.resources
        for what, origin in _statements(each)
        if what not in {w for w, _ in _statements(known.get(each.origin.resource))}
    )


def _statements(resource: ResourceFacts | None) -> Iterator[tuple[str, Origin]]:
    if resource is None:
        return
    for directory in resource.directories:
        yield f"{directory.use} {directory.uri}", directory.origin
    for ha in resource.ha:
        yield f"{ha.type} {ha.where} {ha.cluster_id}", ha.origin
    for pin in resource.pins:
        yield f"pin {pin.uri}", pin.origin
    for job in resource.jobs:
        yield f"job {job.job_id}", job.origin


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


def lineages(discovery: Discovery) -> tuple[Succession, ...]:
    """Return which jobs go on from a checkpoint in another job's directory, as resources say.

    So a job stays known by its deployment after a rename, a move to another namespace, and a
    restore by another deployment. It proves no end of the earlier job.
    """
    found = (
        Succession(job_id=directory.name, successor=job.job_id, origin=pin.origin)
        for one in discovery.resources
        for pin in one.pins
        for job in one.jobs
        if job.is_present
        and (directory := job_directory_of(canonical(pin.uri))) is not None
        and directory.name != job.job_id
        and is_job_id(directory.name)
    )
    return tuple(dict.fromkeys(found))


def _of_resource(resource: ResourceFacts, names: Mapping[str, set[str]]) -> Iterator[Succession]:
    running = [job for job in resource.jobs if job.is_present and job.state == "RUNNING"]
    if len(running) != 1 or any(job.is_present for job in resource.jobs if job not in running):
        return
    for job in resource.jobs:
        if not job.is_present and _may_succeed(job, resource) and len(names[job.job_id]) == 1:
            yield Succession(job_id=job.job_id, successor=running[0].job_id, origin=resource.origin)


def _may_succeed(job: JobFact, resource: ResourceFacts) -> bool:
    return job.uid == resource.uid and not job.is_fixed and not may_recur(job.job_id)
