"""Tombstones as one Arrow table, and of one: the program reads and writes them batch by batch."""

import pyarrow as pa

from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones


def table_of(tombstones: Tombstones) -> pa.Table:
    """Return all as ``TOMBSTONE_SCHEMA``."""
    return pa.Table.from_batches(tombstones.to_batches(), TOMBSTONE_SCHEMA)


def from_table(table: pa.Table) -> Tombstones:
    """Return the tombstones of a table; of two with one key the later counts."""
    return Tombstones.from_batches(table.to_batches(1 << 16))


def plus(tombstones: Tombstones, table: pa.Table) -> Tombstones:
    """Return these and those of a table, which win where keys agree."""
    return Tombstones.from_batches([*tombstones.to_batches(), *table.to_batches(1 << 16)])
