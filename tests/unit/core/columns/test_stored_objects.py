"""Rows of a listing as objects: every column in its place, and no time is no time."""

from datetime import UTC, datetime

import pyarrow as pa

from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.ports import LISTING_SCHEMA

ROWS = [
    StoredObject(
        key=ObjectKey("a/shared/x"),
        size=7,
        modified_at=datetime(2026, 11, 21, 14, 0, 0, 123456, tzinfo=UTC),
        etag="e1",
    ),
    StoredObject(key=ObjectKey("b"), size=0, modified_at=None, etag=None),
    StoredObject(
        key=ObjectKey("c"), size=2**40, modified_at=datetime(1969, 1, 1, tzinfo=UTC), etag=""
    ),
]
COLUMNS = ("key", "size", "modified_at", "etag")


def a_batch(schema: pa.Schema, **more: list) -> pa.RecordBatch:
    columns = {name: [getattr(row, name) for row in ROWS] for name in COLUMNS}
    return pa.RecordBatch.from_pydict({**columns, **more}, schema=schema)


def test_each_row_is_its_object() -> None:
    """To the microsecond, before 1970 too; what is unknown stays unknown."""
    assert stored_objects(a_batch(LISTING_SCHEMA)) == ROWS


def test_columns_in_another_order_and_further_ones_change_nothing() -> None:
    """Verdicts carry the same columns among others."""
    fields = [pa.field("verdict", pa.string()), *reversed(list(LISTING_SCHEMA))]
    assert stored_objects(a_batch(pa.schema(fields), verdict=["keep"] * 3)) == ROWS


def test_no_rows_are_no_objects() -> None:
    assert stored_objects(a_batch(LISTING_SCHEMA).slice(0, 0)) == []
