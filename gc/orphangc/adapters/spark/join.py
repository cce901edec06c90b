"""Results of the joins for each object, checked to be complete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.spark.broadcast import PARSED, RAW, REMEMBERED, remembered
from orphangc.core.columns.listing_columns import Columns
from orphangc.core.columns.tombstones import Remembered, Tombstones
from orphangc.errors import StorageUnreachableError

JOINED = ("id", "flags")
"""Columns of a joined row; ``REMEMBERED`` follows if there are tombstones."""

PART_BITS = 32

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of the n objects of a part.

    Attributes:
        in_parsed: Whether the parsed live set names the object; see ``MarkedRows``.
        in_raw: Whether the UUID scan found the object; see ``MarkedRows``.
        tombstones: Tombstones of the objects; see ``MarkedRows``.

    """

    in_parsed: _Mask
    in_raw: _Mask
    tombstones: Remembered

    @classmethod
    def none(cls, columns: Columns) -> Marks:
        """Return marks without live objects and tombstones."""
        nothing = np.zeros(len(columns), np.bool_)
        return cls(nothing, nothing, Tombstones.empty().look_up(columns))

    @classmethod
    def read(cls, batch: pa.RecordBatch) -> Marks:
        """Return the marks that ``written`` wrote."""
        parsed, raw, since_us, has = (
            column.to_numpy(zero_copy_only=False) for column in batch.columns
        )
        return cls(parsed, raw, Remembered(since_us, has))

    def written(self) -> pa.RecordBatch:
        """Return the marks as rows."""
        return pa.RecordBatch.from_pydict(
            {
                "in_parsed": pa.array(self.in_parsed),
                "in_raw": pa.array(self.in_raw),
                "since_us": pa.array(self.tombstones.since_us),
                "has": pa.array(self.tombstones.has),
            }
        )


def row_ids(number: int, columns: Columns) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the ids of the joined rows of a part, and their positions.

    The first id represents the part itself, so that a part without any UUID is not lost. The lower
    half of other ids is the position plus one, the upper half the number of the part.
    """
    rows = np.flatnonzero(columns.has_uuid)
    return np.append(np.zeros(1, np.int64), rows + 1) | (number << PART_BITS), rows


@dataclass(slots=True)
class _PartRows:
    """The joined rows of one part, with the lower half of each id."""

    rows: list[npt.NDArray[np.int64]] = field(default_factory=list)
    flags: list[npt.NDArray[np.int8]] = field(default_factory=list)
    remembered: list[pa.RecordBatch] = field(default_factory=list)


class Joined:
    """The joined rows of some parts; Spark returns them in any order."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._shares: dict[int, _PartRows] = {}
        for batch in batches:
            if batch.num_rows:
                self._add(batch)

    @property
    def parts(self) -> tuple[int, ...]:
        """Return the numbers of the parts."""
        return tuple(sorted(self._shares))

    def _add(self, batch: pa.RecordBatch) -> None:
        ids, flags = (batch.column(name).to_numpy() for name in JOINED)
        parts = ids >> PART_BITS
        for number in np.unique(parts).tolist():
            share = self._shares.setdefault(number, _PartRows())
            here = parts == number
            share.rows.append(ids[here] & (1 << PART_BITS) - 1)
            share.flags.append(flags[here])
            if "key" in batch.schema.names:
                is_known = batch.column("key").is_valid()
                found = batch.select(REMEMBERED.names).filter(pc.and_(pa.array(here), is_known))
                if found.num_rows:
                    share.remembered.append(found)

    def marks(self, number: int, columns: Columns, others: Sequence[pa.RecordBatch]) -> Marks:
        """Return the marks of a part's objects; drop its rows.

        The join must have returned every UUID once: a lost row would look like an unreferenced
        object.

        Args:
            number: Number of the part.
            columns: Columns of its objects.
            others: Tombstones of keys that end in no UUID, which take no part in the join.

        Raises:
            StorageUnreachableError: A row is missing, or came twice.

        """
        share = self._shares.pop(number)
        rows, flags = np.concatenate(share.rows), np.concatenate(share.flags)
        asked, _ = row_ids(0, columns)
        if not np.array_equal(np.unique(rows), asked):
            raise StorageUnreachableError(
                f"Spark returned other rows of part {number} than it was given"
            )
        known = np.zeros(len(columns) + 1, np.int8)  # the first entry is the part itself
        known[rows] = flags
        rest = [*share.remembered, *(each.cast(REMEMBERED) for each in others)]
        return Marks(
            in_parsed=(known[1:] & PARSED) != 0,
            in_raw=(known[1:] & RAW) != 0,
            tombstones=remembered(rest).look_up(columns),
        )
