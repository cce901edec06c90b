"""S3 Inventory: a report's manifest, read strictly; a doubt is an error.

Source: Amazon S3 User Guide, "Locating your inventory list" and "Amazon S3 Inventory list":
manifests of version 2016-11-30; keys are URL-encoded in CSV files, and only there. The same pages
have the schema of ORC files, a Hive ``struct`` with the names of the Parquet files.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.times.instants import Instant, from_milliseconds, from_pattern
from orphangc.errors import SettingsError, UnreadableInventoryError

_VERSION = "2016-11-30"
_MD5 = re.compile(r"[0-9a-f]{32}", re.ASCII)
_MILLISECONDS = re.compile(r"[0-9]{1,14}", re.ASCII)
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MESSAGE = re.compile(r"\s*message\s+[A-Za-z0-9_.]+\s*\{(.*);\s*\}\s*", re.ASCII | re.DOTALL)
_FIELD = re.compile(
    r"\s*(?:required|optional)\s+[a-z0-9_]+\s+([A-Za-z_][A-Za-z0-9_]*)\s*"
    r"(?:\((?:[^()]|\([^()]*\))*\))?\s*",
    re.ASCII,
)
_STRUCT = re.compile(r"\s*struct<(.*)>\s*", re.ASCII | re.DOTALL)
_TYPED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*:\s*[a-z]+\s*", re.ASCII)
_CAPITAL = re.compile(r"(?<!^)[A-Z]")
_LONGEST_SCHEMA = 1 << 16
"""Characters; more is no schema, and would keep an expression busy."""


class Inventory(FrozenPart):
    """The report in place of a listing.

    Attributes:
        created_at: Start of the report's scan of the bucket, aware UTC.
        objects: Number of current objects in the report, of the whole bucket.
    """

    uri: str
    created_at: Instant
    objects: int


class FileFormat(StrEnum):
    """How the data files are written; the manifest's word."""

    CSV = "CSV"
    ORC = "ORC"
    PARQUET = "Parquet"


class Column(StrEnum):
    """A column that is read; the value is its name in a CSV schema."""

    BUCKET = "Bucket"
    KEY = "Key"
    VERSION_ID = "VersionId"
    IS_LATEST = "IsLatest"
    IS_DELETE_MARKER = "IsDeleteMarker"
    SIZE = "Size"
    MODIFIED_AT = "LastModifiedDate"
    ETAG = "ETag"


_REQUIRED = (Column.BUCKET, Column.KEY, Column.SIZE, Column.MODIFIED_AT, Column.ETAG)
_OF_VERSIONS = (Column.VERSION_ID, Column.IS_LATEST, Column.IS_DELETE_MARKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of a report.

    Attributes:
        key: Key in the bucket that the report was delivered to.
        md5: MD5 digest of its bytes, 32 lower-case hex digits.
    """

    key: str
    size: int
    md5: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Contents of a manifest.

    Attributes:
        created_at: Start of the scan, aware UTC; objects stored later may be missing.
        columns: Names of the columns in the files' own spelling, in order.
        files: Data files, at least one, no key twice.
    """

    source_bucket: str
    created_at: datetime
    file_format: FileFormat
    columns: tuple[str, ...]
    files: tuple[DataFile, ...]

    def name_of(self, column: Column) -> str:
        """Return what a column is called in the data files: ``ETag`` in CSV, ``e_tag`` else."""
        if self.file_format is FileFormat.CSV:
            return column.value
        return _CAPITAL.sub(r"_\g<0>", column.value).lower()

    @property
    def has_versions(self) -> bool:
        """Return whether the files show noncurrent versions and delete markers too."""
        return self.name_of(Column.IS_LATEST) in self.columns

    @property
    def wanted(self) -> tuple[Column, ...]:
        """Return the columns to read."""
        flags = (Column.IS_LATEST, Column.IS_DELETE_MARKER) if self.has_versions else ()
        return (*_REQUIRED, *flags)


def is_checksum_of(manifest: bytes, checksum: bytes) -> bool:
    """Return whether a ``manifest.checksum`` is that of the manifest: the report is complete."""
    digest = hashlib.md5(manifest, usedforsecurity=False).hexdigest()
    return checksum.strip().lower() == digest.encode()


def report_time(folder_name: str) -> datetime | None:
    """Return the time that a report's folder is named by, ``None`` if it is no such folder."""
    if not _DATED.fullmatch(folder_name):
        return None
    return from_pattern(folder_name, "%Y-%m-%dT%H-%MZ")


def read_manifest(data: bytes) -> Manifest:
    """Return the contents of a ``manifest.json``.

    Unknown fields and columns are left alone; nothing that is read has a default.

    Raises:
        UnreadableInventoryError: It is no manifest of the known version, or says something twice.
        SettingsError: The inventory is configured so that it cannot stand in for a listing:
            without a column that is needed.
    """
    content = _json_object(data)
    version = _text(content, "version")
    if version != _VERSION:
        raise UnreadableInventoryError(f"version {version[:20]!r} is unknown")
    file_format = _format(_text(content, "fileFormat"))
    columns = _columns(_text(content, "fileSchema"), file_format)
    manifest = Manifest(
        source_bucket=_text(content, "sourceBucket"),
        created_at=_created_at(content.get("creationTimestamp")),
        file_format=file_format,
        columns=columns,
        files=_files(content.get("files")),
    )
    _check_columns(manifest)
    return manifest


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data.decode(), object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as err:
        raise UnreadableInventoryError(f"the manifest is no JSON: {err}") from err
    if not isinstance(content, dict):
        raise UnreadableInventoryError("the manifest is no JSON object")
    return content


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise UnreadableInventoryError("the manifest says something twice")
    return content


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableInventoryError(f"{name} is absent or no text")
    return value


def _format(name: str) -> FileFormat:
    try:
        return FileFormat(name)
    except ValueError as err:
        raise UnreadableInventoryError(f"fileFormat {name[:20]!r} is unknown") from err


def _created_at(value: object) -> datetime:
    if not isinstance(value, str) or not _MILLISECONDS.fullmatch(value):
        raise UnreadableInventoryError("creationTimestamp is no number of milliseconds")
    found = from_milliseconds(int(value))
    if found is None:
        raise UnreadableInventoryError("creationTimestamp is out of range")
    return found


def _columns(schema: str, file_format: FileFormat) -> tuple[str, ...]:
    if len(schema) > _LONGEST_SCHEMA:
        raise UnreadableInventoryError("fileSchema is too long")
    if file_format is FileFormat.CSV:
        names = [name.strip() for name in schema.split(",")]
    else:
        is_orc = file_format is FileFormat.ORC
        whole, separator, field = (_STRUCT, ",", _TYPED) if is_orc else (_MESSAGE, ";", _FIELD)
        found = whole.fullmatch(schema)
        fields = found[1].split(separator) if found else []
        names = [match[1] if match else "" for match in map(field.fullmatch, fields)]
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise UnreadableInventoryError("fileSchema cannot be read")
    if len(set(names)) < len(names):
        raise UnreadableInventoryError("fileSchema names a column twice")
    return tuple(names)


def _check_columns(manifest: Manifest) -> None:
    needed = list(_REQUIRED)
    if any(manifest.name_of(column) in manifest.columns for column in _OF_VERSIONS):
        needed += _OF_VERSIONS
    lacking = [each.value for each in needed if manifest.name_of(each) not in manifest.columns]
    if lacking:
        raise SettingsError(
            f"the inventory lacks {', '.join(lacking)}: add what is missing to its configuration"
        )


def _files(found: object) -> tuple[DataFile, ...]:
    if not isinstance(found, list) or not found:
        raise UnreadableInventoryError("the manifest names no data file")
    files = tuple(_file(each) for each in found)
    if len({each.key for each in files}) < len(files):
        raise UnreadableInventoryError("the manifest names a data file twice")
    return files


def _file(found: object) -> DataFile:
    if not isinstance(found, dict):
        raise UnreadableInventoryError("a data file of the manifest is no JSON object")
    size, md5 = found.get("size"), _text(found, "MD5checksum").lower()
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise UnreadableInventoryError("a data file of the manifest has no size")
    if not _MD5.fullmatch(md5):
        raise UnreadableInventoryError("a data file of the manifest has no MD5")
    return DataFile(key=_text(found, "key"), size=size, md5=md5)
