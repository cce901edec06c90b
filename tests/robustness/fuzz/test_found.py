"""What fuzzing has found, as small as it gets: each of these once ended in a traceback."""

import base64
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.ports import OUTCOME_SCHEMA
from robustness.fuzz import own_files
from robustness.fuzz.answers import check_page
from robustness.fuzz.own_files import AT, IDENTITY, LISTING, RECORDS, SOME
from support.tombstone_tables import table_of
from unit.adapters.s3.pages.test_page_parser import PAGES

AT_TYPE = TOMBSTONE_SCHEMA.field("since").type

TARGETS = {each.name: each for each in own_files.TARGETS}


def record(**totals: object) -> bytes:
    content = json.loads(RECORDS[0])
    return json.dumps({**content, "totals": {**content["totals"], **totals}}).encode()


def no_utf8(schema: pa.Schema) -> bytes:
    """Return a Parquet file of one row whose texts are none."""
    values = {"string": "QQQQ", "int64": 1, "timestamp[us, tz=UTC]": AT, "bool": True}
    row = {each.name: values[str(each.type)] for each in schema}
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], schema), sink, compression="none")
    return sink.getvalue().replace(b"QQQQ", b"\xff\xfe\xff\xfe")


def no_text(column: str) -> bytes:
    """Return tombstones of which one column holds a text that is no UTF-8."""
    table = table_of(SOME)
    at = table.schema.get_field_index(column)
    texts = pa.array(["QQQQ"] * len(table), pa.string())
    sink = io.BytesIO()
    pq.write_table(table.set_column(at, table.schema.field(at), texts), sink, compression="none")
    return sink.getvalue().replace(b"QQQQ", b"\xd0\xd0\xd0\xd0")


def late(column: str) -> bytes:
    """Return tombstones of which one time is the last that 64 bits hold: the year 294247."""
    table = table_of(SOME)
    times = pa.array([2**63 - 1] * len(table), pa.int64()).cast(AT_TYPE)
    sink = io.BytesIO()
    pq.write_table(table.set_column(table.schema.get_field_index(column),
                                    TOMBSTONE_SCHEMA.field(column), times), sink)  # fmt: skip
    return sink.getvalue()


def odd_integers() -> bytes:
    """Return outcomes whose schema says that an integer has no width that Arrow knows."""
    table = pa.table([pa.array([1])], pa.schema([pa.field("size", pa.int64())]))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    schema = base64.b64encode(table.schema.serialize().to_pybytes())
    data = sink.getvalue()
    assert schema in data
    odd = base64.b64decode(schema).replace(b"\x40\x00\x00\x00", b"\x3c\x00\x00\x00", 1)
    return data.replace(schema, base64.b64encode(odd))


FOUND = {
    "tombstones whose plan is no text": ("forged tombstones", no_text("plan_id")),
    "tombstones whose ETag is no text": ("forged tombstones", no_text("etag")),
    "a journal that a crash has torn": ("journal", b' null, "version_id": "v1"}'),
    "a marker whose key is a list": (
        "journal",
        b'{"key": ["a"], "outcome": "done", "error": null, "version_id": "v1"}\n',
    ),
    "outcomes with integers of an odd width": ("outcome rows", odd_integers()),
    "a tombstone laid after the last day of Python": ("forged tombstones", late("since")),
    "a tombstone of an object stored after it": ("forged tombstones", late("modified_at")),
    "a time without a zone in a record": ("record", record(last_success_at={"plan": "2026-01-01"})),
    "a marker without a key": (
        "journal",
        b'{"key": null, "outcome": "done", "error": null, "version_id": "v1"}\n',
    ),
    "a marker whose key is no text": (
        "journal",
        b'{"key": "\xff", "outcome": "done", "error": null, "version_id": "v1"}\n',
    ),
    "tombstones that are no Parquet": ("forged tombstones", b"PAR1"),
    "tombstones whose keys are no texts": ("forged tombstones", no_utf8(TOMBSTONE_SCHEMA)),
    "outcomes whose keys are no texts": ("outcome rows", no_utf8(OUTCOME_SCHEMA)),
    "a listing that began in no zone": (
        "forged listing",
        LISTING.replace(b"T14:00:00+00:00", b"T14:00:00"),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once_is_refused_or_left_out(name: str, tmp_path: Path) -> None:
    """By the errors that may come out, and no other."""
    target, data = FOUND[name]
    try:
        TARGETS[target].read(data, tmp_path)
    except TARGETS[target].errors:
        return
    assert target in {"record", "journal", "forged listing"}, "it was taken as it is"


def test_each_is_what_it_says() -> None:
    """Nothing was left as it was because a text to be replaced is not there."""
    assert IDENTITY.root.encode() in LISTING
    assert {data for _, data in FOUND.values()}.isdisjoint({*RECORDS, LISTING})


def test_a_key_in_an_instruction_is_no_object(tmp_path: Path) -> None:
    """It was the check that was wrong: of a page, and so of the first objects in it."""
    page = PAGES["aws"].replace(b"<?xml ", b"<?yml <Contents><Key>cp/x</Key></Contents>", 1)
    assert page != PAGES["aws"]
    check_page(page, tmp_path)
