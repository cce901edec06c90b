"""Rows of a listing with their liveness and tombstones, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from orphangc.core.columns.listing_columns import Columns, Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.tombstones import Remembered, Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import uuid_tails

_Mask = npt.NDArray[np.bool_]
_Words = npt.NDArray[np.uint64]
_HALF = np.uint64(32)


class Marks(NamedTuple):
    """What is known of n rows; see ``MarkedRows``."""

    in_parsed: _Mask
    in_raw: _Mask
    tombstones: Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRows:
    """One batch: n objects, and beside them the folders that the listing showed.

    Attributes:
        folders: Keys of folders, without their trailing slash; only stores with real folders
            show any.
        in_parsed: bool[n], whether the parser's oracle names the UUID that the name ends in.
        in_raw: bool[n], whether the raw bytes' oracle does.
    """

    columns: Columns
    folders: tuple[str, ...]
    in_parsed: _Mask
    in_raw: _Mask
    tombstones: Remembered

    @property
    def is_live(self) -> _Mask:
        """Return bool[n]: whether either oracle names the UUID."""
        return self.in_parsed | self.in_raw


class Marking(Protocol):
    """Knows live set and tombstones, whole or a slice of both."""

    def marks(self, columns: Columns) -> Marks:
        """Return what is known of n rows."""
        ...


@dataclass(frozen=True, slots=True)
class WholeMarking:
    """Live set and tombstones in memory; picklable."""

    live: LiveSet
    tombstones: Tombstones

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.live.parsed) + len(self.live.raw) + len(self.tombstones)

    def marks(self, columns: Columns) -> Marks:
        """See ``Marking``."""
        return Marks(
            in_parsed=columns.has_uuid & self.live.parsed.contains(columns.hi, columns.lo),
            in_raw=columns.has_uuid & self.live.raw.contains(columns.hi, columns.lo),
            tombstones=self.tombstones.look_up(columns),
        )

    def slices(self, count: int) -> Iterator[WholeMarking]:
        """Yield the entries in ``count`` slices by the first bits of their UUIDs.

        Tombstones of keys that end in no UUID are in the first slice, as such keys are.
        """
        if count == 1:
            yield self
            return
        words, has_uuid = self.tombstones.words()
        of_tombstone = slices_of(np.where(has_uuid, words, np.uint64(0)), count)
        columns = (self.live.parsed.columns(), self.live.raw.columns())
        cuts = [np.searchsorted(slices_of(hi, count), np.arange(count + 1)) for hi, _ in columns]
        for number in range(count):
            parts = [slice(*cut[number : number + 2]) for cut in cuts]
            uuids = [UuidSet() for _ in columns]
            for own, part, (hi, lo) in zip(uuids, parts, columns, strict=True):
                own.extend(hi[part], lo[part])
            yield WholeMarking(LiveSet(*uuids), self.tombstones.restricted(of_tombstone == number))


def slices_of(hi: _Words, count: int) -> _Words:
    """Return uint64[n], the slice of each UUID: equal parts of the range of its first bits."""
    return ((hi >> _HALF) * np.uint64(count)) >> _HALF


def divided(batch: pa.RecordBatch, count: int) -> list[pa.RecordBatch]:
    """Return the rows of a listing by the slice that knows them, see ``WholeMarking.slices``.

    Keys that end in no UUID, those of folders too, are in the first slice.
    """
    numbers = slices_of(uuid_tails(batch.column("key").cast(pa.binary())).hi, count)
    order = np.argsort(numbers, kind="stable")
    rows = batch.take(pa.array(order))
    cuts = np.searchsorted(numbers[order], np.arange(count + 1, dtype=np.uint64)).tolist()
    return [rows.slice(start, end - start) for start, end in pairwise(cuts)]


def marked_rows(batch: pa.RecordBatch, recogniser: Recogniser, marking: Marking) -> MarkedRows:
    """Return a batch of the listing with what is known of its objects."""
    columns = recogniser.columns(batch)
    has_folders = batch.column("size").null_count > 0
    return MarkedRows(
        columns=columns,
        folders=tuple(_folder_rows(batch)) if has_folders else (),
        **marking.marks(columns)._asdict(),
    )


def _folder_rows(batch: pa.RecordBatch) -> list[str]:
    is_folder = batch.column("size").is_null()
    return [key.rstrip("/") for key in batch.column("key").filter(is_folder).to_pylist()]
