"""Live set and tombstones as DataFrames: the driver writes files, the executors read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from orphangc.adapters.spark.exchange.exchange_parts import read_exchanged, tables_of
from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder
from orphangc.adapters.spark.tasks import Cluster
from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.ports import LISTING_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LIVE = pa.schema([("live_hi", pa.int64()), ("live_lo", pa.int64()), ("flags", pa.int8())])
_LIVE_DDL = "live_hi long, live_lo long, flags byte"
PARSED, RAW = 1, 2

REMEMBERED = pa.schema(
    [
        ("key", pa.binary()),
        ("size", pa.int64()),
        ("modified_us", pa.int64()),
        ("etag", pa.string()),
        ("since_us", pa.int64()),
    ]
)
"""Tombstone columns compared with a listed row; the key in bytes, so that Spark cannot alter it."""
_REMEMBERED_DDL = (
    "tombstone_hi long, tombstone_lo long,"
    " key binary, size long, modified_us long, etag string, since_us long"
)
_ROWS = 1_000_000


@dataclass(slots=True)
class Evidence:
    """Live set and tombstones, with which the rows of the listing are joined.

    Attributes:
        live: Files of the live set, each UUID once.
        tombstones: Files of the tombstones, by the UUID of their keys.
        others: Tombstones whose keys end in no UUID: none, unless naming rules change.

    """

    live: list[ExchangeFile] = field(default_factory=list)
    tombstones: list[ExchangeFile] = field(default_factory=list)
    others: list[pa.RecordBatch] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Return the number of rows of the larger side."""
        return max(sum(p.rows for p in self.live), sum(p.rows for p in self.tombstones))

    def live_frame(self, cluster: Cluster) -> DataFrame:
        """Return the live set as ``live_hi, live_lo, flags``."""
        frame = cluster.rows(tables_of(self.live))
        return cluster.map(frame, partial(read_exchanged, cluster.folder), _LIVE_DDL)

    def tombstone_frame(self, cluster: Cluster) -> DataFrame:
        """Return the tombstones as ``tombstone_hi, tombstone_lo`` and ``REMEMBERED``."""
        frame = cluster.rows(tables_of(self.tombstones))
        return cluster.map(frame, partial(read_exchanged, cluster.folder), _REMEMBERED_DDL)


def write_evidence(
    folder: WorkFolder, live: LiveSet, tombstones: Tombstones, root_name: str
) -> Evidence:
    """Write live set and tombstones; besides its arguments it holds one file in memory."""
    found = Evidence()
    for batch in _live_batches(live):
        found.live.append(folder.write_rows("live", [batch]))
    recogniser = Recogniser(root_name)
    held: list[pa.RecordBatch] = []
    for batch in tombstones.to_batches():
        held.append(_keyed(batch, recogniser, found.others))
        if sum(each.num_rows for each in held) >= _ROWS:
            found.tombstones.append(folder.write_rows("tombstones", held))
            held = []
    if any(each.num_rows for each in held):
        found.tombstones.append(folder.write_rows("tombstones", held))
    return found


def _live_batches(live: LiveSet) -> Iterator[pa.RecordBatch]:
    """Yield each UUID once, with the oracles that name it."""
    for hi, lo in _slices(*live.parsed.columns()):
        yield _live_batch(hi, lo, PARSED | RAW * live.raw.contains(hi, lo).astype(np.int8))
    for hi, lo in _slices(*live.raw.columns()):
        is_new = ~live.parsed.contains(hi, lo)
        if is_new.any():
            flags = np.full(np.count_nonzero(is_new), RAW, np.int8)
            yield _live_batch(hi[is_new], lo[is_new], flags)


def _slices(
    hi: npt.NDArray[np.uint64], lo: npt.NDArray[np.uint64]
) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]:
    for start in range(0, len(hi), _ROWS):
        yield hi[start : start + _ROWS], lo[start : start + _ROWS]


def _live_batch(
    hi: npt.NDArray[np.uint64], lo: npt.NDArray[np.uint64], flags: npt.NDArray[np.int8]
) -> pa.RecordBatch:
    columns = [pa.array(hi.view(np.int64)), pa.array(lo.view(np.int64)), pa.array(flags)]
    return pa.RecordBatch.from_arrays(columns, schema=_LIVE)


def _keyed(
    batch: pa.RecordBatch, recogniser: Recogniser, others: list[pa.RecordBatch]
) -> pa.RecordBatch:
    """Return tombstones with the UUIDs of their keys; add those without one to the others."""
    columns = recogniser.columns(batch.select(LISTING_SCHEMA.names).cast(LISTING_SCHEMA))
    rows = _remembered_of(batch)
    if not columns.has_uuid.all():
        others.append(rows.filter(pa.array(~columns.has_uuid)))
    words = [pa.array(each.view(np.int64)) for each in (columns.hi, columns.lo)]
    names = ["tombstone_hi", "tombstone_lo", *REMEMBERED.names]
    keyed = pa.RecordBatch.from_arrays([*words, *rows.columns], names=names)
    return keyed.filter(pa.array(columns.has_uuid))


def _remembered_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        batch.column("key").cast(pa.binary()),
        batch.column("size"),
        batch.column("modified_at").cast(pa.int64()),
        batch.column("etag"),
        batch.column("since").cast(pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=REMEMBERED)


def remembered(rows: list[pa.RecordBatch]) -> Tombstones:
    """Return the tombstones of ``REMEMBERED`` rows; job and plan stay empty."""
    if not rows:
        return Tombstones.empty()
    table = pa.Table.from_batches(rows, REMEMBERED)
    nobody = pa.array([""] * table.num_rows, pa.string())
    time = TOMBSTONE_SCHEMA.field("since").type
    columns = [
        table["key"].cast(pa.string()),
        table["size"],
        table["modified_us"].cast(time),
        table["etag"],
        nobody,
        table["since_us"].cast(time),
        nobody,
    ]
    return Tombstones.from_table(pa.Table.from_arrays(columns, schema=TOMBSTONE_SCHEMA))
