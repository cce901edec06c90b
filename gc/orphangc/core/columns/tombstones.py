"""Tombstones as columns, looked up by the UUID that their keys end in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.columns.listing_columns import NO_TIME, Columns
from orphangc.core.columns.sorted_uuids import SortedUuids
from orphangc.core.columns.tombstone_packing import (
    compacted,
    etags_of,
    expanded,
    heads_of,
    ordered,
    words_of_keys,
)
from orphangc.core.columns.uuid_words import Sixteen, uuid_tails

_BLOCK = 1 << 16
_Mask = npt.NDArray[np.bool_]
_Rows = npt.NDArray[np.int64]
_Instants = npt.NDArray[np.int64]


class Remembered(NamedTuple):
    """Facts of the tombstones of n rows.

    Attributes:
        since_us: int64[n], ``since`` of the tombstone of this very object (key, size, ETag and
            store time agree), else ``NO_TIME``.
        has: bool[n], whether the key has a tombstone, of whatever object.
    """

    since_us: _Instants
    has: _Mask


class Tombstones:
    """Tombstones, at most one a key; immutable, ordered by UUID; some 80 bytes each.

    The same tombstones always come in the same order. Row i means the same in ``keys``, in a
    mask, and in what ``rows_of`` returns.
    """

    __slots__ = ("_has_others", "_index", "_rows")

    def __init__(self, rows: pa.RecordBatch) -> None:
        """Take compact rows in order, see ``tombstone_rows``."""
        self._rows = rows
        self._index = SortedUuids(rows.column("hi").to_numpy(), rows.column("lo").to_numpy())
        self._has_others = rows.column("has_uuid").false_count > 0

    @classmethod
    def empty(cls) -> Tombstones:
        """Return no tombstones."""
        return cls.from_batches(())

    @classmethod
    def from_batches(cls, batches: Iterable[pa.RecordBatch]) -> Tombstones:
        """Return batches' tombstones, of a key the later one, or raise ``ValueError``."""
        return cls(ordered(map(compacted, batches)))

    def restricted(self, mask: _Mask) -> Tombstones:
        """Return the tombstones where ``mask``, bool[len], is true."""
        return Tombstones(self._rows.filter(pa.array(mask)))

    def words(self) -> tuple[npt.NDArray[np.uint64], _Mask]:
        """Return the first half of each look-up value, and whether it is that of a UUID."""
        return self._index.hi, np.asarray(self._rows.column("has_uuid"))

    def __len__(self) -> int:
        """Return how many there are."""
        return int(self._rows.num_rows)

    def to_batches(self, mask: _Mask | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all, or those where ``mask`` is true, as ``TOMBSTONE_SCHEMA``."""
        for start in range(0, len(self), _BLOCK):
            part = self._rows.slice(start, _BLOCK)
            if mask is not None:
                part = part.filter(pa.array(mask[start : start + _BLOCK]))
            if part.num_rows:
                yield expanded(part)

    def keys(self) -> pa.ChunkedArray:
        """Return the keys in order; in parts, for one part has no more than 2 GB."""
        return pa.chunked_array([batch.column("key") for batch in self.to_batches()], pa.string())

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the tombstone of a key, ``None`` without one; for many keys see ``rows_of``."""
        try:
            rows = self.rows_of(pa.array([key]))
        except UnicodeEncodeError:  # half a surrogate pair, which no stored key has
            return None
        return next(iter(expanded(self._rows.take(pa.array(rows[rows >= 0]))).to_pylist()), None)

    def rows_of(self, keys: pa.StringArray) -> _Rows:
        """Return int64[n], the row of each key's tombstone, -1 for a key without one."""
        texts = keys.cast(pa.binary())
        return self._find(texts, uuid_tails(texts))

    def look_up(self, columns: Columns) -> Remembered:
        """Return the facts of these tombstones of n rows."""
        texts = columns.batch.column("key").cast(pa.binary())
        rows = self._find(texts, Sixteen(columns.has_uuid, columns.hi, columns.lo))
        has = rows >= 0
        since_us = np.full(len(rows), NO_TIME, np.int64)
        if has.any():
            mine, theirs = rows[has], np.flatnonzero(has)
            is_same = self._is_same(mine, columns, theirs)
            since_us[theirs[is_same]] = self._rows.column("since_us").to_numpy()[mine[is_same]]
        return Remembered(since_us, has)

    def _is_same(self, mine: _Rows, columns: Columns, theirs: _Rows) -> _Mask:
        rows, listed = self._rows.take(pa.array(mine)), columns.batch.take(pa.array(theirs))
        is_same = pc.and_(
            pc.equal(rows.column("size"), listed.column("size")),
            pc.equal(rows.column("modified_us"), pa.array(columns.modified_us[theirs])),
        )
        etag, listed_etag = etags_of(rows), listed.column("etag")
        both_null = pc.and_(etag.is_null(), listed_etag.is_null())
        is_same_etag = pc.or_(pc.equal(etag, listed_etag).fill_null(False), both_null)  # noqa: FBT003  (positional only)
        return np.asarray(pc.and_(is_same, is_same_etag))

    def _find(self, keys: pa.BinaryArray, tails: Sixteen) -> _Rows:
        found = np.full(len(keys), -1, np.int64)
        if len(self) == 0:
            return found
        hi, lo = words_of_keys(keys, tails) if self._has_others else (tails.hi, tails.lo)
        rows, is_there = self._index.find(hi, lo)
        wanted = np.flatnonzero(is_there)
        while len(wanted):  # once more for each further key that ends in the same UUID
            is_it = self._is_key(rows[wanted], keys.take(pa.array(wanted)), tails.has[wanted])
            found[wanted[is_it]] = rows[wanted[is_it]]
            wanted = wanted[~is_it]
            rows[wanted] += 1
            wanted = wanted[self._index.is_at(rows[wanted], hi[wanted], lo[wanted])]
        return found

    def _is_key(self, rows: _Rows, keys: pa.BinaryArray, has_uuid: _Mask) -> _Mask:
        """Return whether the tombstones of some rows are of these keys, whose UUIDs agree."""
        known = self._rows.column("head").take(pa.array(rows)).cast(pa.string()).cast(pa.binary())
        is_as_long = pc.equal(
            self._rows.column("has_uuid").take(pa.array(rows)), pa.array(has_uuid)
        )
        return np.asarray(pc.and_(pc.equal(known, heads_of(keys, has_uuid)), is_as_long))
