"""The local engine: key ranges into a spool, and passes over its batches, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, TypeVar

import pyarrow as pa

from flinkstate.places.checkpoint_names import METADATA_NAME
from orphangc.collect.listing.list_storage import list_all
from orphangc.collect.listing.marked_cache import MarkedCache
from orphangc.collect.listing.noted_names import NotingSpool, objects_named
from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.row_values import folder_rows
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.ports import Progress, Spool, Storage
from orphangc.ports.engine import EngineName, Listed, ListingHints, ListingPass

_T = TypeVar("_T")


class LocalEngine:
    """Lists and passes in this process; memory does not grow with the storage root.

    Attributes:
        name: ``local``.

    """

    name: EngineName = "local"

    def __init__(
        self, spool: Spool, root_name: str, *, streams: int, scratch: BinaryIO | None = None
    ) -> None:
        """Take the spool of the listing, and an empty file for what passes share."""
        self._cache = None if scratch is None else MarkedCache(scratch)
        self._spool = spool
        self._root_name = root_name
        self._streams = streams
        self._live = LiveSet()
        self._tombstones = Tombstones.empty()
        self._noted: NotingSpool | None = None

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """See ``Engine``."""
        self._forget()
        spool = NotingSpool(self._spool, METADATA_NAME)
        listed = list_all(storage, spool, hints=hints, streams=self._streams, progress=progress)
        self._noted = None if listed.is_resumed else spool  # it has not seen all rows then
        return listed

    def objects_named(self, name: str) -> Iterator[StoredObject]:
        """See ``Engine``."""
        if self._noted is not None and self._noted.name == name:
            yield from sorted(self._noted.objects, key=lambda each: each.key)
            return
        for batch in self._spool.batches():
            yield from objects_named(batch, name)

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """See ``Engine``."""
        self._forget()
        self._live, self._tombstones = live, tombstones

    def _forget(self) -> None:
        if self._cache is not None:
            self._cache.clear()

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """See ``Engine``."""
        recogniser = Recogniser(self._root_name)
        found = work.begin()
        done = 0
        try:
            for batch, rows in self._marked(recogniser):
                work.add(found, rows)
                done += batch.num_rows
                progress(work.phase, done)
        finally:
            work.end(found)
        return work.together([found])

    def _marked(self, recogniser: Recogniser) -> Iterator[tuple[pa.RecordBatch, MarkedRows]]:
        """Yield every batch of the listing; what the first pass finds out is kept for others."""
        cache = self._cache
        is_known = cache is not None and cache.is_complete
        if cache is not None and not is_known:
            cache.clear()
        for number, batch in enumerate(self._spool.batches()):
            rows = cache.rows(number, batch) if cache is not None and is_known else None
            if rows is None:
                rows = marked_rows(batch, recogniser, self._live, self._tombstones)
            if cache is not None and not is_known:
                cache.add(rows, batch.num_rows)
            yield batch, rows
        if cache is not None:
            cache.complete()


def marked_rows(
    batch: pa.RecordBatch, recogniser: Recogniser, live: LiveSet, tombstones: Tombstones
) -> MarkedRows:
    """Return a batch of the listing with what is known of its objects."""
    columns = recogniser.columns(batch)
    has_folders = batch.column("size").null_count > 0
    return MarkedRows(
        columns=columns,
        folders=tuple(folder_rows(batch)) if has_folders else (),
        in_parsed=columns.has_uuid & live.parsed.contains(columns.hi, columns.lo),
        in_raw=columns.has_uuid & live.raw.contains(columns.hi, columns.lo),
        tombstones=tombstones.look_up(columns),
    )
