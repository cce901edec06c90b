"""The local engine: key ranges into a spool, and passes over its batches, on this machine."""

from collections.abc import Iterator
from typing import BinaryIO, TypeVar

from orphangc.collect.listing.list_storage import list_all
from orphangc.collect.listing.noted_names import NotedNames, links_in, metadata_objects
from orphangc.collect.listing.run_pass import MarkedCache, run_pass
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import WholeMarking
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.ports import Progress, Spool, Storage
from orphangc.ports.engine import Engine, EngineName, Listed, ListingHints, ListingPass

_T = TypeVar("_T")


class LocalEngine(Engine):
    """Lists and passes in this process; memory does not grow with the storage root."""

    name: EngineName = "local"

    def __init__(
        self, spool: Spool, root_name: str, *, streams: int, scratch: BinaryIO | None = None
    ) -> None:
        """Take the spool of the listing, and an empty file for what passes share."""
        self._cache = None if scratch is None else MarkedCache(scratch)
        self._spool = spool
        self._root_name = root_name
        self._streams = streams
        self._marking = WholeMarking(LiveSet(), Tombstones.empty())
        self._noted: NotedNames | None = None

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """See ``Engine``."""
        self._forget()
        noted = NotedNames()
        listed = list_all(
            *(storage, self._spool),
            hints=hints,
            streams=self._streams,
            progress=progress,
            note=noted.note,
        )
        self._noted = None if listed.is_resumed else noted  # it has not seen all rows then
        return listed

    def metadata_objects(self) -> Iterator[StoredObject]:
        """See ``Engine``."""
        if self._noted is not None:
            yield from sorted(self._noted.objects, key=lambda each: each.key)
            return
        for batch in self._spool.batches():
            yield from metadata_objects(batch)

    def links(self) -> Iterator[str]:
        """See ``Engine``."""
        if self._noted is not None:
            yield from self._noted.links
            return
        for batch in self._spool.batches():
            yield from links_in(batch)

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """See ``Engine``."""
        self._forget()
        self._marking = WholeMarking(live, tombstones)

    def _forget(self) -> None:
        if self._cache is not None:
            self._cache.clear()

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """See ``Engine``."""
        found = run_pass(
            work,
            self._spool.batches(),
            root_name=self._root_name,
            marking=self._marking,
            cache=self._cache,
            progress=progress,
        )
        return work.together([found])
