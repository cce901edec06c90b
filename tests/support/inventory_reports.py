"""Reports of S3 Inventory as AWS delivers them, made from what a bucket holds.

Shares nothing with the reader: names, types and spellings are those of the Amazon S3 User Guide.
"""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

CSV, ORC, PARQUET = "CSV", "ORC", "Parquet"
FORMATS = (CSV, ORC, PARQUET)

PLAIN = ("Bucket", "Key", "Size", "LastModifiedDate", "ETag", "StorageClass")
VERSIONED = (*PLAIN[:2], "VersionId", "IsLatest", "IsDeleteMarker", *PLAIN[2:])
_PARQUET = {
    "Bucket": pa.field("bucket", pa.string(), nullable=False),
    "Key": pa.field("key", pa.string(), nullable=False),
    "VersionId": pa.field("version_id", pa.string()),
    "IsLatest": pa.field("is_latest", pa.bool_()),
    "IsDeleteMarker": pa.field("is_delete_marker", pa.bool_()),
    "Size": pa.field("size", pa.int64()),
    "LastModifiedDate": pa.field("last_modified_date", pa.timestamp("ms", tz="UTC")),
    "ETag": pa.field("e_tag", pa.string()),
    "StorageClass": pa.field("storage_class", pa.string()),
}
_SPELLED = {
    "Bucket": "required binary bucket (STRING)",
    "Key": "required binary key (STRING)",
    "VersionId": "optional binary version_id (STRING)",
    "IsLatest": "optional boolean is_latest",
    "IsDeleteMarker": "optional boolean is_delete_marker",
    "Size": "optional int64 size",
    "LastModifiedDate": "optional int64 last_modified_date (TIMESTAMP(MILLIS,true))",
    "ETag": "optional binary e_tag (STRING)",
    "StorageClass": "optional binary storage_class (STRING)",
}
_IN_A_STRUCT = {
    "IsLatest": "boolean",
    "IsDeleteMarker": "boolean",
    "Size": "bigint",
    "LastModifiedDate": "timestamp",
}

AT = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)


def row_of(bucket: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a version or a delete marker, as S3 itself reports it."""
    return {
        "Bucket": bucket,
        "Key": found["Key"],
        "VersionId": found["VersionId"],
        "IsLatest": found["IsLatest"],
        "IsDeleteMarker": "Size" not in found,
        "Size": found.get("Size"),
        "LastModifiedDate": found["LastModified"],
        "ETag": found["ETag"].strip('"') if "ETag" in found else None,
        "StorageClass": found.get("StorageClass"),
    }


def a_row(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "Bucket": "source",
        "Key": key,
        "VersionId": "v1",
        "IsLatest": True,
        "IsDeleteMarker": False,
        "Size": 7,
        "LastModifiedDate": datetime(2026, 10, 1, 2, 3, 4, 567_000, tzinfo=UTC),
        "ETag": "9e107d9d372bb6826bd81d3542a419d6",
        "StorageClass": "STANDARD",
    }
    return {**row, **changes}


@dataclass
class Report:
    """One report: files by key, the manifest as a dictionary that a test may damage."""

    folder: str  # of the configuration, "/" between parts, none trailing
    manifest: dict[str, Any]  # as it will be written
    files: dict[str, bytes]  # data files by key
    name: str = "2026-11-20T01-00Z"
    checksum: bytes | None = field(default=None)

    def objects(self) -> dict[str, bytes]:
        """Return everything that is delivered, by key in the destination bucket."""
        data = json.dumps(self.manifest, indent=2).encode()
        checksum = self.checksum or hashlib.md5(data).hexdigest().encode() + b"\n"
        place = f"{self.folder}/{self.name}"
        return {
            **self.files,
            f"{place}/manifest.json": data,
            f"{place}/manifest.checksum": checksum,
        }


def a_report(
    *parts: Iterable[dict[str, Any]],
    form: str = PARQUET,
    columns: tuple[str, ...] = PLAIN,
    bucket: str = "source",
    at: datetime = AT,
    folder: str = "inventory/source/daily",
) -> Report:
    """Return a report with one data file for each part."""
    end = {CSV: "csv.gz", ORC: "orc", PARQUET: "parquet"}[form]
    written = data_file(form)
    files = {
        f"{folder}/data/{number:08}-{at:%m%d%H%M}.{end}": written(rows, columns)
        for number, rows in enumerate(parts)
    }
    manifest = {
        "sourceBucket": bucket,
        "destinationBucket": "arn:aws:s3:::reports",
        "version": "2016-11-30",
        "creationTimestamp": str(int(at.timestamp() * 1000)),
        "fileFormat": form,
        "fileSchema": _schema(form, columns),
        "files": [
            {"key": key, "size": len(data), "MD5checksum": hashlib.md5(data).hexdigest()}
            for key, data in files.items()
        ],
    }
    return Report(folder, manifest, files, name=f"{at:%Y-%m-%dT%H-%MZ}")


def _schema(form: str, columns: tuple[str, ...]) -> str:
    if form == CSV:
        return ", ".join(columns)
    if form == ORC:
        typed = (f"{_PARQUET[each].name}:{_IN_A_STRUCT.get(each, 'string')}" for each in columns)
        return f"struct<{','.join(typed)}>"
    fields = "".join(f"  {_SPELLED[column]};" for column in columns)
    return f"message s3.inventory {{{fields}}}"


def data_file(form: str) -> Callable[[Iterable[dict[str, Any]], tuple[str, ...]], bytes]:
    return {CSV: csv_file, ORC: orc_file, PARQUET: parquet_file}[form]


def orc_file(rows: Iterable[dict[str, Any]], columns: tuple[str, ...] = PLAIN) -> bytes:
    """Return a data file as ORC with zlib; its times name no zone, and are UTC."""
    table = pq.read_table(io.BytesIO(parquet_file(rows, columns)))
    at = table.schema.get_field_index("last_modified_date")
    if at >= 0:
        times = table["last_modified_date"].cast(pa.timestamp("ms"))
        table = table.set_column(at, "last_modified_date", times)
    sink = io.BytesIO()
    po.write_table(table, sink, compression="zlib")
    return sink.getvalue()


def parquet_file(rows: Iterable[dict[str, Any]], columns: tuple[str, ...] = PLAIN) -> bytes:
    """Return a data file as Parquet with Snappy."""
    schema = pa.schema([_PARQUET[column] for column in columns])
    chosen = [{_PARQUET[c].name: row[c] for c in columns} for row in rows]
    sink = io.BytesIO()
    table = pa.Table.from_pylist(chosen, schema)
    pq.write_table(table, sink, compression="snappy", row_group_size=20_000)
    return sink.getvalue()


def csv_file(rows: Iterable[dict[str, Any]], columns: tuple[str, ...] = PLAIN) -> bytes:
    """Return a data file as CSV: all quoted, keys URL-encoded, no line of names, gzipped."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        writer.writerow([_spelled(column, row[column]) for column in columns])
    return gzip.compress(text.getvalue().encode(), mtime=0)


def _spelled(column: str, value: Any) -> str:
    if value is None:
        return ""
    if column == "Key":
        return quote_plus(value, safe="/")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"
    return str(value)
