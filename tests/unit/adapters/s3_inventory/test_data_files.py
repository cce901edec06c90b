"""A data file gives exactly the current objects that it shows, or an error."""

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from orphangc.adapters.s3_inventory import data_files as inventory_files
from orphangc.adapters.s3_inventory.data_files import current_objects
from orphangc.core.documents.s3_inventory import Manifest, read_manifest
from orphangc.errors import UnreadableInventoryError
from orphangc.ports import LISTING_SCHEMA
from support.inventory_reports import (
    CSV,
    FORMATS,
    ORC,
    PARQUET,
    PLAIN,
    VERSIONED,
    a_report,
    a_row,
    data_file,
    parquet_file,
)


def manifest_of(form: str, columns: tuple[str, ...] = PLAIN) -> Manifest:
    return read_manifest(json.dumps(a_report([], form=form, columns=columns).manifest).encode())


def read(folder: Path, data: bytes, form: str, columns: tuple[str, ...] = PLAIN) -> list[dict]:
    path = folder / "file"
    path.write_bytes(data)
    batches = list(current_objects(path, manifest_of(form, columns)))
    assert all(batch.schema.equals(LISTING_SCHEMA) for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def written(rows: list[dict], form: str, columns: tuple[str, ...] = PLAIN) -> bytes:
    return data_file(form)(rows, columns)


@pytest.mark.parametrize("form", FORMATS)
def test_a_row_is_an_object_as_a_listing_shows_it(tmp_path: Path, form: str) -> None:
    """The time to the second, like a listing's; an ETag of parts as it is."""
    rows = read(tmp_path, written([a_row("j/x", ETag="9b2c-17", Size=0)], form), form)
    at = datetime(2026, 10, 1, 2, 3, 4, tzinfo=UTC)
    assert rows == [{"key": "j/x", "size": 0, "modified_at": at, "etag": "9b2c-17"}]


@pytest.mark.parametrize("form", FORMATS)
def test_only_current_versions_that_are_no_delete_markers_are_objects(tmp_path, form) -> None:
    """What a marker hides is not stored for Flink, and what is noncurrent is no longer there."""
    rows = [
        a_row("current"),
        a_row("current", IsLatest=False, VersionId="v0"),
        a_row("deleted", IsDeleteMarker=True, Size=None, ETag=None),
        a_row("deleted", IsLatest=False),
        a_row("old-marker", IsLatest=False, IsDeleteMarker=True, Size=None, ETag=None),
    ]
    found = read(tmp_path, written(rows, form, VERSIONED), form, VERSIONED)
    assert [row["key"] for row in found] == ["current"]


@pytest.mark.parametrize("form", FORMATS)
def test_an_unknown_time_or_etag_stays_unknown(tmp_path, form) -> None:
    """The rule keeps what has no time, and a re-check what has another ETag."""
    (row,) = read(tmp_path, written([a_row("x", LastModifiedDate=None, ETag=None)], form), form)
    assert (row["modified_at"], row["etag"]) == (None, None)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_without_rows_has_none(tmp_path, form) -> None:
    """A small bucket's report may have one."""
    assert read(tmp_path, written([], form), form) == []


SPECIAL = [
    *(
        "a b",
        "a%41",
        "a%2Fb",
        "a+b",
        "a&b=c",
        "a'\"b",
        "é/ü/漢字/🙂",
        "x\\y",
        "t\tr\rz",
        "new\nline",
    ),
    *("c\x01d", "dir/", "dir//x", "/lead", "%", "+", ",", '"', "a,b", "NULL", "null", "nan", "0"),
]


@pytest.mark.parametrize("form", FORMATS)
def test_special_keys_are_read_as_they_are(tmp_path, form) -> None:
    """CSV files encode keys, Parquet files do not: a literal %41 must not become an A."""
    found = read(tmp_path, written([a_row(key) for key in SPECIAL], form), form)
    assert [row["key"] for row in found] == SPECIAL


keys = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)
objects = st.lists(
    st.builds(
        a_row,
        keys,
        Size=st.none() | st.integers(0, 2**62),
        IsLatest=st.booleans(),
        IsDeleteMarker=st.booleans(),
        ETag=st.none() | st.from_regex(r"[0-9a-f]{32}(-[0-9]{1,4})?", fullmatch=True),
        LastModifiedDate=st.none()
        | st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    ),
    max_size=20,
)


@given(objects, st.sampled_from(FORMATS))
def test_any_rows_come_back_as_written_or_are_refused(tmp_path_factory, rows, form) -> None:
    """Against the plain sense of each row; a current object without a size is no object."""
    current = [row for row in rows if row["IsLatest"] and not row["IsDeleteMarker"]]
    data = written(rows, form, VERSIONED)
    folder = tmp_path_factory.mktemp("files")
    if any(row["Size"] is None for row in current):
        with pytest.raises(UnreadableInventoryError):
            read(folder, data, form, VERSIONED)
        return
    assert read(folder, data, form, VERSIONED) == [
        {
            "key": row["Key"],
            "size": row["Size"],
            "modified_at": row["LastModifiedDate"]
            and row["LastModifiedDate"].replace(microsecond=0),
            "etag": row["ETag"],
        }
        for row in current
    ]


# --- damage


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("change", "columns"),
    [
        *[({"Bucket": "another"}, PLAIN), ({"Key": ""}, PLAIN)],
        *[({"Size": None}, PLAIN), ({"Size": -1}, PLAIN)],
        *[({"IsLatest": None}, VERSIONED), ({"IsDeleteMarker": None}, VERSIONED)],
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, form, change, columns) -> None:
    """One of many: left out, it would be a shorter listing, and a noncurrent version may pass."""
    rows = [a_row("a"), a_row("b", **change), a_row("c")]
    with pytest.raises(UnreadableInventoryError):
        read(tmp_path, written(rows, form, columns), form, columns)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_was_cut_off_is_refused(tmp_path, form) -> None:
    """Wherever the cut is: nothing of it may end a listing early."""
    data = written([a_row(f"key-{number}", Size=number) for number in range(500)], form)
    for end in {1, 5, 20, len(data) // 2, len(data) - 9, len(data) - 8, len(data) - 1}:
        with pytest.raises(UnreadableInventoryError):
            read(tmp_path, data[:end], form)


def test_an_empty_file_is_no_data_file(tmp_path) -> None:
    """Neither format has one of no bytes."""
    for form in FORMATS:
        with pytest.raises(UnreadableInventoryError):
            read(tmp_path, b"", form)


@pytest.mark.parametrize(
    "text",
    [
        '"source","a","7","2026-10-01T02:03:04.567Z","e"\n',
        '"source","a","7","2026-10-01T02:03:04.567Z","e","STANDARD","more"\n',
        '"Bucket","Key","Size","LastModifiedDate","ETag","StorageClass"\n',
        '"source","a","7 bytes","2026-10-01T02:03:04.567Z","e","STANDARD"\n',
        '"source","a","7.5","2026-10-01T02:03:04.567Z","e","STANDARD"\n',
        '"source","a","7","2026-10-01T02:03:04.567","e","STANDARD"\n',
        '"source","a","7","yesterday","e","STANDARD"\n',
        '"source","%FF","7","2026-10-01T02:03:04.567Z","e","STANDARD"\n',
        '"source","a","7","2026-10-01T02:03:04.567Z","e","STANDARD"\n\n"source"\n',
        "\n",
    ],
)
def test_a_csv_file_of_another_form_is_refused(tmp_path, text) -> None:
    """A line of names, a missing column, a time without a zone: each would be a guess."""
    with pytest.raises(UnreadableInventoryError):
        read(tmp_path, gzip.compress(text.encode()), CSV)


def test_a_csv_file_that_is_no_utf8_or_no_gzip_is_refused(tmp_path) -> None:
    """Foreign bytes are not repaired."""
    row = b'"source","a\xff","7","2026-10-01T02:03:04.567Z","e","STANDARD"\n'
    for data in (gzip.compress(row), row.replace(b"\xff", b"")):
        with pytest.raises(UnreadableInventoryError):
            read(tmp_path, data, CSV)


def parquet_with(**columns: pa.Array) -> bytes:
    """Return a Parquet file of one row, with some columns replaced, or left out if ``None``."""
    table = pq.read_table(io.BytesIO(parquet_file([a_row("a")])))
    arrays = {name: table[name] for name in table.column_names} | columns
    sink = io.BytesIO()
    pq.write_table(pa.table({name: a for name, a in arrays.items() if a is not None}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    "columns",
    [
        {"size": None},
        {"size": pa.array(["7"])},
        {"size": pa.array([7.0])},
        {"last_modified_date": pa.array([datetime(2026, 10, 1)], pa.timestamp("ms"))},
        {"last_modified_date": pa.array(["2026-10-01T02:03:04.567Z"])},
        {"key": pa.array([b"\xff"])},
        {"key": pa.array([7])},
        {"bucket": pa.array([None], pa.string())},
        {"key": pa.array([None], pa.string())},
        {"e_tag": pa.array([7])},
    ],
)
def test_a_parquet_file_of_another_schema_is_refused(tmp_path, columns) -> None:
    """A time without a zone may be hours older than it looks."""
    with pytest.raises(UnreadableInventoryError):
        read(tmp_path, parquet_with(**columns), PARQUET)


@pytest.mark.parametrize(
    "columns",
    [
        {"size": pa.array(["7"])},
        {"last_modified_date": pa.array(["2026-10-01T02:03:04.567Z"])},
        {"key": pa.array([7])},
        {"key": pa.array(["k" * (1 << 15)])},
    ],
)
def test_an_orc_file_of_another_schema_or_an_endless_text_is_refused(tmp_path, columns) -> None:
    """A key of S3 has 1024 bytes; times alone have less than in Parquet, as no zone is named."""
    table = orc.read_table(io.BytesIO(data_file(ORC)([a_row("a")], PLAIN)))
    sink = io.BytesIO()
    orc.write_table(pa.table({name: table[name] for name in table.column_names} | columns), sink)
    with pytest.raises(UnreadableInventoryError):
        read(tmp_path, sink.getvalue(), ORC)


def test_parquet_text_without_its_annotation_is_read_all_the_same(tmp_path) -> None:
    """Some writers leave UTF8 out."""
    (row,) = read(tmp_path, parquet_with(key=pa.array(["é".encode()])), PARQUET)
    assert row["key"] == "é"


@pytest.mark.parametrize("form", FORMATS)
def test_a_large_file_is_read_batch_by_batch(tmp_path, monkeypatch, form) -> None:
    """At no time a third of what is in it: two readers of Arrow's would keep all."""
    monkeypatch.setattr(inventory_files, "_ROWS", 5_000)
    monkeypatch.setattr(inventory_files, "_CSV_BLOCK", 1 << 16)
    letters = Random(7)
    rows = [
        a_row(f"j/shared/{number:036}", ETag=f"{letters.getrandbits(128):032x}")
        for number in range(200_000)
    ]
    path = tmp_path / "large"
    path.write_bytes(written(rows, form))
    del rows
    before, total, held = pa.total_allocated_bytes(), 0, []
    for batch in current_objects(path, manifest_of(form)):
        total += batch.nbytes
        held.append(pa.total_allocated_bytes() - before)
    assert total > 20_000_000
    assert max(held) < total / 3
