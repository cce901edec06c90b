"""Rows of tombstones as they are kept, and the same in half the memory."""

import hashlib
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.columns.listing_columns import NO_TIME
from orphangc.core.columns.sorted_uuids import in_order
from orphangc.core.columns.uuid_words import (
    HEX_LENGTH,
    UUID_LENGTH,
    Sixteen,
    hex_heads,
    hex_texts,
    uuid_tails,
    uuid_texts,
    words_of,
)

_TIME = pa.timestamp("us", tz="UTC")
TOMBSTONE_SCHEMA: Final = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified_at", _TIME),
        pa.field("etag", pa.string()),
        pa.field("job_id", pa.string(), nullable=False),
        pa.field("since", _TIME, nullable=False),
        pa.field("plan_id", pa.string(), nullable=False),
    ]
)
"""One row a tombstone, as they are kept in the state location.

A tombstone is the record that an object has been an orphan since an instant, as it was then: any
difference later invalidates it. The object's bytes stay untouched.
"""

_WORD = pa.dictionary(pa.int32(), pa.string())
_COMPACT: Final = pa.schema(
    [
        ("hi", pa.uint64()),  # of the UUID that the key ends in, else of a digest of the key
        ("lo", pa.uint64()),
        ("head", _WORD),  # the key less that UUID
        ("has_uuid", pa.bool_()),
        ("size", pa.int64()),
        ("modified_us", pa.int64()),  # NO_TIME if unknown
        ("etag_hi", pa.uint64()),  # of the MD5 sum that an ETag starts with, else 0
        ("etag_lo", pa.uint64()),
        ("etag_has_md5", pa.bool_()),
        ("etag_rest", pa.large_string()),  # the ETag less its MD5 sum; may be more than 2 GB
        ("job_id", _WORD),
        ("since_us", pa.int64()),
        ("plan_id", _WORD),
    ]
)
_NUMBERS = {
    field.name: field.type.to_pandas_dtype()
    for field in _COMPACT
    if pa.types.is_integer(field.type)
}
_OTHERS = [name for name in _COMPACT.names if name not in _NUMBERS]
_LONGEST = 2**31 - 1  # no end at all makes binary_slice reserve a negative number of bytes
_Mask = npt.NDArray[np.bool_]
_Words = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.int64]


def words_of_keys(keys: pa.BinaryArray, tails: Sixteen) -> tuple[_Words, _Words]:
    """Return the look-up values of keys: the UUIDs that they end in, or digests of the others."""
    if tails.has.all():
        return tails.hi, tails.lo
    others = keys.filter(pa.array(~tails.has)).to_pylist()
    digests = b"".join(hashlib.blake2b(key, digest_size=16).digest() for key in others)
    hi, lo = tails.hi.copy(), tails.lo.copy()
    hi[~tails.has], lo[~tails.has] = words_of(digests)
    return hi, lo


def heads_of(keys: pa.BinaryArray, has_uuid: _Mask) -> pa.BinaryArray:
    """Return the keys less the UUID that they end in; all of those that end in none."""
    heads = pc.binary_slice(keys, 0, -UUID_LENGTH)
    return heads if has_uuid.all() else pc.if_else(pa.array(has_uuid), heads, keys)


def compacted(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a ``TOMBSTONE_SCHEMA`` batch as compact rows; ``ValueError`` if it is no whole one."""
    if not batch.schema.equals(TOMBSTONE_SCHEMA):
        raise ValueError(f"these are no tombstones: {batch.schema.names}")
    if any(batch.column(f.name).null_count for f in TOMBSTONE_SCHEMA if not f.nullable):
        raise ValueError("a tombstone lacks what every tombstone has")
    keys = batch.column("key").cast(pa.binary())
    tails = uuid_tails(keys)
    hi, lo = words_of_keys(keys, tails)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(hi),
            pa.array(lo),
            heads_of(keys, tails.has).cast(pa.string()).dictionary_encode(),
            pa.array(tails.has),
            batch.column("size"),
            batch.column("modified_at").cast(pa.int64()).fill_null(NO_TIME),
            *_etag_columns(batch.column("etag")),
            batch.column("job_id").dictionary_encode(),
            batch.column("since").cast(pa.int64()),
            batch.column("plan_id").dictionary_encode(),
        ],
        schema=_COMPACT,
    )


def expanded(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return compact rows as ``TOMBSTONE_SCHEMA``: the inverse of ``compacted``."""
    heads = rows.column("head").cast(pa.string())
    uuids = uuid_texts(rows.column("hi").to_numpy(), rows.column("lo").to_numpy())
    keys = pc.if_else(rows.column("has_uuid"), pc.binary_join_element_wise(heads, uuids, ""), heads)
    times = rows.column("modified_us")
    return pa.RecordBatch.from_arrays(
        [
            keys,
            rows.column("size"),
            pc.if_else(pc.equal(times, NO_TIME), None, times).cast(_TIME),
            etags_of(rows),
            rows.column("job_id").cast(pa.string()),
            rows.column("since_us").cast(_TIME),
            rows.column("plan_id").cast(pa.string()),
        ],
        schema=TOMBSTONE_SCHEMA,
    )


def _etag_columns(etags: pa.StringArray) -> tuple[pa.Array, ...]:
    """Return ETags as numbers and what is left, which is nearly always nothing or ``-7``."""
    texts = etags.cast(pa.binary()).fill_null(b"")
    md5 = hex_heads(texts)
    rest = pc.if_else(pa.array(md5.has), pc.binary_slice(texts, HEX_LENGTH, _LONGEST), texts)
    rest = pc.if_else(etags.is_null(), None, rest).cast(pa.string()).cast(pa.large_string())
    return pa.array(md5.hi), pa.array(md5.lo), pa.array(md5.has), rest


def etags_of(rows: pa.RecordBatch) -> pa.StringArray:
    """Return the ETags of compact rows."""
    sums = hex_texts(rows.column("etag_hi").to_numpy(), rows.column("etag_lo").to_numpy())
    rest = rows.column("etag_rest").cast(pa.string())
    whole = pc.binary_join_element_wise(sums, rest, "")  # null where the rest is
    return pc.if_else(rows.column("etag_has_md5"), whole, rest)


def ordered(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Return compact rows ordered by UUID, then head; of two with one key the later one counts.

    Numbers grow in place, and column by column is put in order and let go: ten million rows must
    not stand in memory twice.
    """
    numbers = {name: np.empty(0, kind) for name, kind in _NUMBERS.items()}
    others = []
    for batch in batches:
        for name, column in numbers.items():
            column.resize(len(column) + len(batch), refcheck=False)  # no other reference exists
            column[len(column) - len(batch) :] = batch.column(name)
        others.append(batch.select(_OTHERS))
    schema = pa.schema([_COMPACT.field(name) for name in _OTHERS])
    table = pa.Table.from_batches(others, schema).unify_dictionaries()
    others.clear()
    rows = _latest(numbers["hi"], numbers["lo"], table)
    arrays = {name: pa.array(numbers.pop(name)[rows]) for name in _NUMBERS}
    for name in _OTHERS:
        arrays[name] = table.column(name).combine_chunks().take(pa.array(rows))
        table = table.drop_columns(name)
    return pa.RecordBatch.from_arrays([arrays[name] for name in _COMPACT.names], schema=_COMPACT)


def _latest(hi: _Words, lo: _Words, table: pa.Table) -> _Rows:
    """Return the rows in order, less those that a later row of the same key replaces."""
    rows = in_order(hi, lo)
    first = hi[rows]
    pairs = np.flatnonzero(first[1:] == first[:-1])
    pairs = pairs[lo[rows[pairs]] == lo[rows[pairs + 1]]]
    if len(pairs) == 0:
        return rows
    ties = np.union1d(pairs, pairs + 1)
    tied = rows[ties]
    heads = table.column("head").take(pa.array(tied)).cast(pa.string())
    marks = (  # copies of one file in several directories end in one UUID, and are several keys
        table.column("has_uuid").to_numpy()[tied],
        pc.rank(heads, tiebreaker="dense").to_numpy(),
        lo[tied],
        hi[tied],
    )
    order = np.lexsort((tied, *marks))
    rows[ties] = tied[order]
    is_kept = np.ones(len(rows), np.bool_)
    is_kept[ties[:-1]] = np.logical_or.reduce([m[order][1:] != m[order][:-1] for m in marks])
    return rows[is_kept]
