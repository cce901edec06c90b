"""The same for columns: Arrow stores any 64 bits as a time, and Python cannot show them all."""

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.times.instants import EARLIEST, EARLIEST_US, LATEST, LATEST_US

_TYPE = pa.timestamp("us", tz="UTC")


def known_times(times: pa.Array) -> pa.Array:
    """Return times with null, which is unknown, in the place of each one that is out of range.

    Args:
        times: ``timestamp[us, tz=UTC]``; returned as they are if all are known.
    """
    numbers = times.cast(pa.int64())
    if _are_known(numbers):
        return times
    is_known = pc.and_(pc.greater_equal(numbers, EARLIEST_US), pc.less_equal(numbers, LATEST_US))
    return pc.if_else(is_known, times, pa.scalar(None, times.type))


def with_known_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of which every time is known or null: rows of a listing, where null keeps."""
    for number, field in enumerate(batch.schema):
        if field.type == _TYPE:
            times = batch.column(number)
            if (checked := known_times(times)) is not times:
                batch = batch.set_column(number, field, checked)
    return batch


def check_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch if its texts are UTF-8 and its times known, or raise ``ValueError``.

    Arrow reads both without a check, and fails when Python asks for them.
    """
    batch.validate(full=True)
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not pa.types.is_temporal(field.type):
            continue
        if field.type != _TYPE:
            raise ValueError(f"column {field.name} holds {field.type}, not {_TYPE}")
        if not _are_known(column.cast(pa.int64())):
            raise ValueError(
                f"column {field.name} holds a time that is not between the years"
                f" {EARLIEST.year} and {LATEST.year}"
            )
    return batch


def _are_known(numbers: pa.Int64Array) -> bool:
    """Return whether no number is out of range; null is no number."""
    edges = pc.min_max(numbers)
    first, last = edges["min"].as_py(), edges["max"].as_py()
    return first is None or (first >= EARLIEST_US and last <= LATEST_US)
