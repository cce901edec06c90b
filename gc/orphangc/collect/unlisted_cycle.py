"""A cycle that lists no objects: what is known of the world and of each job before any listing.

``orphangc world`` and ``doctor`` ask it. It reads every checkpoint and asks every cluster, in the
order of a real cycle, and it judges each job; it decides on no object.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from orphangc.collect.decide.judged_cycle import JudgedCycle, judged_cycle, marked_cycle
from orphangc.collect.observe.observation import Environment, observe
from orphangc.collect.world.recalling import Recalled, world_with_memory
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.ports import Progress, Storage
from orphangc.ports.engine import Engine, EngineName, Listed, ListingHints, ListingPass

_T = TypeVar("_T")


class UnlistedEngine(Engine):
    """An engine that lists nothing, so that each pass sees no row."""

    name: EngineName = "local"

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """Return a listing of no objects; the storage is not asked."""
        del storage, hints, progress
        return Listed(objects=0)

    def metadata_objects(self) -> Iterator[StoredObject]:
        """Yield nothing."""
        return iter(())

    def links(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """Do nothing: there are no rows to mark."""

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """Return what a pass finds that sees no row."""
        del progress
        found = work.begin()
        work.end(found)
        return work.together([found])


def unlisted_cycle(
    environment: Environment, *, halted: str | None, before: Recalled
) -> JudgedCycle:
    """Return a cycle that lists and remembers nothing, or raise ``StorageUnreachableError``."""
    search = None if environment.search is None else replace(environment.search, own=None)
    unlisted = replace(environment, engine=UnlistedEngine(), search=search)
    seen = observe(unlisted)
    known = judged_cycle(
        marked_cycle(seen, unlisted), unlisted, survey=None, halted=halted, before=before
    )
    world = world_with_memory(known.world, known.comparison, before.memory)
    return replace(known, world=world)
