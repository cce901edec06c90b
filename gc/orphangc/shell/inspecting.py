"""``inspect``: what a checkpoint or savepoint holds, as a document and as tables."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from orphangc.adapters.storages import open_storage
from orphangc.core.model import ObjectKey
from orphangc.core.names import METADATA_NAME
from orphangc.core.uris import Location, canonical
from orphangc.errors import ExitCode, OrphanGcError, UnreadableMetadataError
from orphangc.flink.document import describe
from orphangc.flink.metadata import read_metadata
from orphangc.runs.roots import MAX_METADATA_BYTES
from orphangc.shell.compose import absolute, parent_of
from orphangc.shell.render.words import human_bytes, visible

__all__ = ["Output", "checkpoint_tables", "inspect_checkpoint"]

_MANY = 40


class Output(StrEnum):
    """How documents are shown on stdout."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


def inspect_checkpoint(uri: str) -> dict[str, Any]:
    """Return the document of one checkpoint, or one with ``error`` and ``exit_code``.

    Args:
        uri: Its folder, or its ``_metadata`` file.

    """
    try:
        place = canonical(absolute(uri))
        folder = parent_of(place) if place.name == METADATA_NAME else place
        data = _read(folder)
        return describe(read_metadata(data), directory=_spelled(folder))
    except UnreadableMetadataError as err:
        return _failed(uri, err, ExitCode.FAILED) | {"offset": err.offset, "reason": err.reason}
    except OrphanGcError as err:
        return _failed(uri, err, ExitCode.FAILED)
    except ValueError as err:
        return _failed(uri, err, ExitCode.USAGE)


def _spelled(folder: Location) -> str:
    return str(folder)


def _failed(uri: str, err: Exception, code: ExitCode) -> dict[str, Any]:
    return {"directory": uri, "error": str(err), "exit_code": int(code)}


def _read(folder: Location) -> bytes:
    storage = open_storage(folder)
    data = storage.read(ObjectKey(METADATA_NAME), max_bytes=MAX_METADATA_BYTES)
    if data is None:
        raise OrphanGcError(f"there is no {METADATA_NAME} in {folder}")
    return data


def checkpoint_tables(document: dict[str, Any]) -> list[RenderableType]:
    """Return a document as tables: its head, operators, and largest files."""
    if "error" in document:
        return []
    head = (
        f"checkpoint {document['checkpoint_id']} in {visible(document['directory'])},"
        f" format version {document['format_version']},"
        f" {len(document['files'])} files, {len(document['directories'])} directories"
    )
    operators = Table("operator", "uid", "parallelism", "max", "subtasks", "finished")
    for each in document["operators"]:
        operators.add_row(
            Text(visible(each["name"] or each["id"])),
            Text(visible(each["uid"] or "")),
            str(each["parallelism"]),
            str(each["max_parallelism"]),
            str(len(each["subtasks"])),
            "fully" if each["fully_finished"] else "",
        )
    return [Text(head), operators, _files_table(document["files"])]


def _files_table(files: list[dict[str, Any]]) -> Table:
    largest = sorted(files, key=lambda each: -(each["size"] or 0))
    caption = f"the {_MANY} largest of {len(files)}" if len(files) > _MANY else None
    table = Table("file", "kind", "size", caption=caption)
    for each in largest[:_MANY]:
        size = "" if each["size"] is None else human_bytes(each["size"])
        table.add_row(Text(visible(each["path"])), each["kind"], size)
    return table
