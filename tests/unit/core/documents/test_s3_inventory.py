"""A manifest is read as it is documented or not at all: what is guessed would be a listing."""

import hashlib
import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.documents.s3_inventory import (
    Column,
    FileFormat,
    is_checksum_of,
    read_manifest,
    report_time,
)
from orphangc.errors import SettingsError, UnreadableInventoryError
from support.inventory_reports import (
    AT,
    CSV,
    FORMATS,
    ORC,
    PARQUET,
    PLAIN,
    VERSIONED,
    a_report,
    a_row,
)

REFUSALS = (UnreadableInventoryError, SettingsError)


def a_manifest(form: str = PARQUET, columns: tuple[str, ...] = PLAIN, **changes: object) -> dict:
    manifest = a_report([a_row("a")], [a_row("b")], form=form, columns=columns).manifest
    return {**manifest, **changes}


def read(manifest: object):
    return read_manifest(json.dumps(manifest).encode())


@pytest.mark.parametrize("columns", [PLAIN, VERSIONED])
@pytest.mark.parametrize("form", FORMATS)
def test_a_manifest_says_what_it_says(form: str, columns: tuple[str, ...]) -> None:
    """Every field, in both formats, with and without versions."""
    content = a_manifest(form, columns)
    manifest = read(content)
    assert (manifest.source_bucket, manifest.created_at) == ("source", AT)
    assert manifest.file_format is FileFormat(form)
    assert len(manifest.columns) == len(columns)
    assert manifest.has_versions is (columns is VERSIONED)
    assert [(f.key, f.size, f.md5) for f in manifest.files] == [
        (f["key"], f["size"], f["MD5checksum"]) for f in content["files"]
    ]
    assert {manifest.name_of(column) for column in manifest.wanted} <= set(manifest.columns)


@pytest.mark.parametrize(
    "schema",
    [
        (
            "message s3.inventory { required binary bucket (UTF8); required binary key (UTF8); "
            "optional int64 size; optional int64 last_modified_date (TIMESTAMP_MILLIS); "
            "optional binary e_tag (UTF8); optional binary checksum_algorithm (UTF8); }"
        ),
        (
            "message s3.inventory {\n required binary bucket (STRING);\n"
            " required binary key (STRING);\n optional int64 size;\n"
            " optional int64 last_modified_date (TIMESTAMP(MILLIS,true));\n"
            " optional binary e_tag (STRING);\n}"
        ),
    ],
)
def test_both_documented_spellings_of_a_parquet_schema_are_read(schema: str) -> None:
    """AWS has written either."""
    manifest = read(a_manifest(fileSchema=schema))
    assert manifest.columns[:5] == ("bucket", "key", "size", "last_modified_date", "e_tag")


def test_unknown_fields_and_columns_are_left_alone() -> None:
    """AWS adds some from time to time."""
    content = a_manifest(CSV, NewField={"a": [1]})
    content["fileSchema"] += ", ObjectOwner, NewColumn"
    content["files"][0]["newFact"] = 1
    assert read(content).columns[-2:] == ("ObjectOwner", "NewColumn")


DAMAGES = {
    "no version": {"version": None},
    "another version": {"version": "2030-01-01"},
    "no bucket": {"sourceBucket": ""},
    "a number as bucket": {"sourceBucket": 7},
    "no time": {"creationTimestamp": None},
    "a time as number": {"creationTimestamp": 1_748_826_000_000},
    "a time with a sign": {"creationTimestamp": "-1"},
    "a time in words": {"creationTimestamp": "2026-11-20T01:00:00Z"},
    "a time beyond the calendar": {"creationTimestamp": "9" * 30},
    "another format": {"fileFormat": "JSON"},
    "a format as list": {"fileFormat": ["CSV"]},
    "no schema": {"fileSchema": ""},
    "a cut schema": {"fileSchema": "message s3.inventory { required binary bucket (STRING);"},
    "a schema without end": {"fileSchema": "message s3.inventory { required binary bucket }"},
    "a schema that ends in a field": {
        "fileSchema": "message m { required binary bucket; required binary key; optional int64 a }"
    },
    "no field": {"fileSchema": "message m { }"},
    "an empty field": {"fileSchema": "message m { required binary bucket; ; }"},
    "a repeated column": {"fileSchema": "message s3.inventory { repeated binary bucket; }"},
    "a column twice": {
        "fileSchema": "message m { required binary key; required binary key; optional int64 size;}"
    },
    "no files": {"files": []},
    "files as object": {"files": {}},
    "a file as text": {"files": ["data/x.parquet"]},
    "a file without key": {"files": [{"size": 1, "MD5checksum": "0" * 32}]},
    "a file without size": {"files": [{"key": "x", "MD5checksum": "0" * 32}]},
    "a size as text": {"files": [{"key": "x", "size": "1", "MD5checksum": "0" * 32}]},
    "a size of yes": {"files": [{"key": "x", "size": True, "MD5checksum": "0" * 32}]},
    "a negative size": {"files": [{"key": "x", "size": -1, "MD5checksum": "0" * 32}]},
    "no MD5": {"files": [{"key": "x", "size": 1}]},
    "a short MD5": {"files": [{"key": "x", "size": 1, "MD5checksum": "0" * 31}]},
    "a documented fake MD5": {"files": [{"key": "x", "size": 1, "MD5checksum": "5925example"}]},
    "a file twice": {"files": [{"key": "x", "size": 1, "MD5checksum": "0" * 32}] * 2},
}


NO_TIME = "creationTimestamp is no number of milliseconds"
NO_SCHEMA = "fileSchema cannot be read"
NO_FILES = "the manifest names no data file"
NO_SIZE = "a data file of the manifest has no size"
NO_MD5 = "a data file of the manifest has no MD5"
SAID = {
    "no version": "version is absent or no text",
    "another version": "version '2030-01-01' is unknown",
    "no bucket": "sourceBucket is absent or no text",
    "a number as bucket": "sourceBucket is absent or no text",
    "no time": NO_TIME,
    "a time as number": NO_TIME,
    "a time with a sign": NO_TIME,
    "a time in words": NO_TIME,
    "a time beyond the calendar": NO_TIME,
    "another format": "fileFormat 'JSON' is unknown",
    "a format as list": "fileFormat is absent or no text",
    "no schema": "fileSchema is absent or no text",
    "a cut schema": NO_SCHEMA,
    "a schema without end": NO_SCHEMA,
    "a schema that ends in a field": NO_SCHEMA,
    "no field": NO_SCHEMA,
    "an empty field": NO_SCHEMA,
    "a repeated column": NO_SCHEMA,
    "a column twice": "fileSchema names a column twice",
    "no files": NO_FILES,
    "files as object": NO_FILES,
    "a file as text": "a data file of the manifest is no JSON object",
    "a file without key": "key is absent or no text",
    "a file without size": NO_SIZE,
    "a size as text": NO_SIZE,
    "a size of yes": NO_SIZE,
    "a negative size": NO_SIZE,
    "no MD5": "MD5checksum is absent or no text",
    "a short MD5": NO_MD5,
    "a documented fake MD5": NO_MD5,
    "a file twice": "the manifest names a data file twice",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_refused(damage: str) -> None:
    """No field has a default, and no half of a report is one; the message says what is amiss."""
    with pytest.raises(UnreadableInventoryError) as caught:
        read(a_manifest(**DAMAGES[damage]))
    assert str(caught.value) == SAID[damage]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b"[" * 100_000,
        json.dumps(a_manifest()).encode("utf-16"),
        json.dumps(a_manifest()).encode()[:-1],
    ],
)
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    """Nor one in another encoding, nor one that was cut."""
    with pytest.raises(UnreadableInventoryError):
        read_manifest(data)


@pytest.mark.parametrize(
    "doubled", ['"sourceBucket": "source", ', '"files": [], ', '"new": 1, "new": 1, ']
)
def test_a_manifest_that_says_something_twice_is_refused(doubled: str) -> None:
    """Two readers could take either, also where both say the same."""
    twice = json.dumps(a_manifest()).replace("{", "{" + doubled, 1)
    with pytest.raises(UnreadableInventoryError, match="twice"):
        read_manifest(twice.encode())


def test_a_data_file_that_says_something_twice_is_refused() -> None:
    """As deep as anything is read."""
    twice = json.dumps(a_manifest()).replace('"size"', '"size": 0, "size"', 1)
    with pytest.raises(UnreadableInventoryError, match="twice"):
        read_manifest(twice.encode())


def test_an_empty_data_file_is_one() -> None:
    """Of a CSV report of an empty bucket."""
    files = [{"key": "x", "size": 0, "MD5checksum": "0" * 32}]
    assert [each.size for each in read(a_manifest(files=files)).files] == [0]


def test_a_schema_is_read_up_to_a_length_that_none_has() -> None:
    """More would keep an expression busy for long."""
    content = a_manifest(CSV)
    content["fileSchema"] += "," + "x" * (65_536 - len(content["fileSchema"]) - 1)
    assert len(read(content).columns) == len(PLAIN) + 1
    content["fileSchema"] += "x"
    with pytest.raises(UnreadableInventoryError, match=r"^fileSchema is too long$"):
        read(content)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "the manifest is no JSON: Expecting property name enclosed in double quotes"),
        (b"[]", "the manifest is no JSON object"),
        (b'{"a": 1, "a": 1}', "the manifest says something twice"),
        (b'{"version": "%s"}' % (b"12345" * 9), "version '12345123451234512345' is unknown"),
        (
            b'{"version": "2016-11-30", "fileFormat": "%s"}' % (b"12345" * 9),
            "fileFormat '12345123451234512345' is unknown",
        ),
    ],
)
def test_a_message_says_what_the_manifest_is_not(data: bytes, message: str) -> None:
    """And of what stands there at most a few letters."""
    with pytest.raises(UnreadableInventoryError) as caught:
        read_manifest(data)
    assert str(caught.value).partition(": line")[0] == message


def test_the_documented_schema_of_an_orc_file_is_read() -> None:
    """A struct of Hive's, with columns that are of no interest."""
    schema = (
        "struct<bucket:string,key:string,version_id:string,is_latest:boolean,"
        "is_delete_marker:boolean,size:bigint,last_modified_date:timestamp,e_tag:string,"
        "storage_class:string,is_multipart_uploaded:boolean,"
        "object_lock_retain_until_date:timestamp>"
    )
    manifest = read(a_manifest(ORC, fileSchema=schema))
    assert manifest.columns[5:8] == ("size", "last_modified_date", "e_tag")
    assert manifest.has_versions


@pytest.mark.parametrize(
    "schema",
    [
        "struct<>",
        "struct<bucket:string,key:string",
        "struct<bucket,key>",
        "struct<bucket:string,bucket:string>",
        "struct<bucket:struct<key:string>,size:bigint>",
        "array<bucket:string>",
        "message s3.inventory { required binary bucket (UTF8); }",
    ],
)
def test_another_schema_of_an_orc_file_is_refused(schema: str) -> None:
    """A nested column is none that S3 writes."""
    with pytest.raises(UnreadableInventoryError, match="fileSchema"):
        read(a_manifest(ORC, fileSchema=schema))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("lacking", ["Bucket", "Key", "Size", "LastModifiedDate", "ETag"])
def test_a_report_without_a_needed_column_is_refused_by_its_name(lacking: str, form: str) -> None:
    """They are optional fields of an inventory's configuration."""
    columns = tuple(name for name in PLAIN if name != lacking)
    with pytest.raises(SettingsError, match=lacking):
        read(a_manifest(form, columns))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("lacking", ["VersionId", "IsLatest", "IsDeleteMarker"])
def test_versions_that_cannot_be_told_from_objects_are_refused(lacking: str, form: str) -> None:
    """A noncurrent version would pass for an object."""
    columns = tuple(name for name in VERSIONED if name != lacking)
    with pytest.raises(SettingsError, match=lacking):
        read(a_manifest(form, columns))


def test_all_columns_that_lack_are_named_at_once() -> None:
    """It takes a day until the next report shows whether the configuration is right."""
    columns = tuple(name for name in PLAIN if name not in {"Size", "ETag"})
    with pytest.raises(SettingsError) as caught:
        read(a_manifest(CSV, columns))
    assert str(caught.value) == (
        "the inventory lacks Size, ETag: add what is missing to its configuration"
    )


# --- beside the manifest


def test_a_checksum_is_that_of_exactly_these_bytes() -> None:
    """With or without an end of line, in either case of letters."""
    digest = hashlib.md5(b"manifest").hexdigest().encode()
    for spelled in (digest, digest + b"\n", digest.upper()):
        assert is_checksum_of(b"manifest", spelled)
        assert not is_checksum_of(b"manifest ", spelled)
    for spelled in (b"", digest[:-1], digest + b"0"):
        assert not is_checksum_of(b"manifest", spelled)


def test_a_checksum_is_no_matter_of_security(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where OpenSSL keeps to FIPS 140, MD5 is forbidden to all who do not say so."""
    md5 = hashlib.md5

    def strict(data: bytes, *, usedforsecurity: bool = True):
        if usedforsecurity:
            raise ValueError("disabled for FIPS")
        return md5(data, usedforsecurity=False)

    monkeypatch.setattr(hashlib, "md5", strict)
    assert is_checksum_of(b"", b"d41d8cd98f00b204e9800998ecf8427e\n")


def test_only_dated_folders_are_reports() -> None:
    """Beside them lie data/ and hive/."""
    assert report_time("2026-11-20T01-00Z") == AT
    for name in ("data", "hive", "2026-11-20", "2026-13-20T01-00Z", "2026-11-20T01-00Zx", ""):
        assert report_time(name) is None


# --- whatever comes

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.binary(max_size=400) | json_values.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_at_all_surprise_the_reader(data: bytes) -> None:
    """A manifest is another program's file."""
    with pytest.raises(REFUSALS):
        read_manifest(data)


def paths_of(value: object, path: tuple = ()):
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from paths_of(inner, (*path, key))


@given(st.data(), st.sampled_from(FORMATS), st.sampled_from([PLAIN, VERSIONED]))
def test_a_manifest_changed_anywhere_is_refused_or_still_means_a_whole_report(
    data: st.DataObject, form: str, columns: tuple[str, ...]
) -> None:
    """One value replaced or taken out: nothing but our own errors, and nothing half-read."""
    content = deepcopy(a_manifest(form, columns))
    path = data.draw(st.sampled_from([path for path in paths_of(content) if path]))
    where = content
    for step in path[:-1]:
        where = where[step]
    if data.draw(st.booleans()):
        del where[path[-1]]
    else:
        where[path[-1]] = data.draw(json_values)
    try:
        manifest = read(content)
    except REFUSALS:
        return
    assert manifest.files
    assert all(manifest.name_of(column) in manifest.columns for column in manifest.wanted)
    assert set(manifest.wanted) >= set(Column) - {
        *(Column.VERSION_ID, Column.IS_LATEST, Column.IS_DELETE_MARKER)
    }
    assert datetime(1970, 1, 1, tzinfo=UTC) <= manifest.created_at
    assert manifest.created_at < datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=2_000_000)


@given(st.sampled_from(FORMATS), st.integers(0, 400), st.characters())
def test_a_schema_with_a_wrong_letter_is_refused_or_has_the_needed_columns(
    form: str, place: int, letter: str
) -> None:
    """A fuzzed schema never loses a column silently."""
    content = a_manifest(form, VERSIONED)
    schema = content["fileSchema"]
    at = place % len(schema)
    content["fileSchema"] = schema[:at] + letter + schema[at + 1 :]
    try:
        manifest = read(content)
    except REFUSALS:
        return
    assert all(manifest.name_of(column) in manifest.columns for column in manifest.wanted)
