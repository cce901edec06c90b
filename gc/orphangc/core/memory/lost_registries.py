"""Registry snapshots that an earlier cycle saw and this one does not: their entries are unknown.

A registry folder that a person removed, or that is not configured any more, hides what its jobs
still need. A job that is over needs nothing of it; a job that exports to another folder has moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.job_lives import is_over, proves_end
from orphangc.core.memory.lost_facts import LostFact, instant_text, lost_fact, with_word
from orphangc.core.memory.remembered import (
    RememberedJob,
    RememberedRegistry,
    WorldMemory,
)
from orphangc.core.memory.sighting import Sighting
from orphangc.core.model.codes import Condition

_FEW = 3


def registries_lost(
    memory: WorldMemory,
    sighting: Sighting,
    jobs: Sequence[RememberedJob],
    given: Iterable[Acknowledgement] = (),
) -> tuple[LostFact, ...]:
    """Return one fact for each registry folder that is gone, else for each job's folder in one."""
    missed = _missed(memory, sighting, jobs)
    present = {each.rpartition("/")[0] for each in sighting.registry_jobs}
    facts = []
    for location, records in sorted(missed.items()):
        if location in present:
            facts += [_fact(each.uri, [each], sighting) for each in records]
        else:
            facts.append(_fact(location, records, sighting))
    known = tuple(given)
    return tuple(with_word(each, known, memory) for each in facts)


def registries_after(
    memory: WorldMemory,
    sighting: Sighting,
    jobs: Sequence[RememberedJob],
    facts: Iterable[LostFact],
) -> Iterator[RememberedRegistry]:
    """Yield the records for the next cycle's memory."""
    yield from sighting.registries
    standing = {each.what for each in facts if not each.is_acknowledged}
    missed = {each.uri for found in _missed(memory, sighting, jobs).values() for each in found}
    for known in memory.registries:
        if known.uri in sighting.registry_jobs:
            continue  # it is recorded again, or no longer concerns the storage root
        is_standing = known.uri in missed and not standing.isdisjoint({known.uri, known.location})
        is_declared = known.job_id in sighting.declared_ended  # a statement counts for its cycle
        is_missed = is_standing or (is_declared and known.resolved_at is None)
        yield from known.unseen(sighting.at, is_missed=is_missed)


def _missed(
    memory: WorldMemory, sighting: Sighting, jobs: Sequence[RememberedJob]
) -> Mapping[str, list[RememberedRegistry]]:
    """Return the records that are gone, and that nothing explains, by registry folder."""
    missed: dict[str, list[RememberedRegistry]] = {}
    for known in memory.registries:
        if known.resolved_at is not None or known.uri in sighting.registry_jobs:
            continue
        if not (_is_over(known, sighting, jobs) or _has_moved(known, sighting)):
            missed.setdefault(known.location, []).append(known)
    return missed


def _is_over(known: RememberedRegistry, sighting: Sighting, jobs: Sequence[RememberedJob]) -> bool:
    """Return whether the job was seen over after its newest snapshot, or is declared ended."""
    if known.job_id in sighting.declared_ended:
        return True
    if any(each.is_alive for each in sighting.jobs if each.job_id == known.job_id):
        return False
    return any(
        is_over(each)
        and proves_end(each, known.home)
        and each.ended_at is not None
        and known.taken_at is not None
        and each.ended_at >= known.taken_at
        for each in jobs
        if each.job_id == known.job_id
    )


def _has_moved(known: RememberedRegistry, sighting: Sighting) -> bool:
    """Return whether the same job, by its directory, exports to another place now."""
    return bool(known.home) and any(
        (each.job_id, each.home) == (known.job_id, known.home) for each in sighting.registries
    )


def _fact(what: str, records: Sequence[RememberedRegistry], sighting: Sighting) -> LostFact:
    since = max(each.seen_at for each in records)
    is_all_known = all(each.is_all_known for each in records)
    ids = sorted({each.job_id for each in records})
    more = f" and {len(ids) - _FEW} more" if len(ids) > _FEW else ""
    return lost_fact(
        (Condition.PLACE_LOST, what, since),
        f"{what} held registry snapshots of job {', '.join(ids[:_FEW])}{more} at"
        f" {instant_text(since)} and holds none now, so what that job needs is unknown: bring them"
        " back or give the folder again with --registry, declare the job ended by its id",
        sighting,
        frozenset(d for each in records for d in each.directories) if is_all_known else None,
    )
