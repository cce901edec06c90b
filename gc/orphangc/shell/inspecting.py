"""``inspect``: what a checkpoint or savepoint holds, as a document and as tables."""

from __future__ import annotations

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
from orphangc.ports import Storage
from orphangc.runs.roots import MAX_METADATA_BYTES
from orphangc.shell.compose import parent_of
from orphangc.shell.places import absolute
from orphangc.shell.render.words import human_bytes, visible

__all__ = ["checkpoint_tables", "inspect_checkpoint"]

_MANY = 40


def inspect_checkpoint(uri: str) -> dict[str, Any]:
    """Return the document of one checkpoint, or one with ``error`` and ``exit_code``.

    Args:
        uri: Its folder, or its ``_metadata`` file.

    """
    try:
        folder, data = _read(canonical(absolute(uri)))
        return describe(read_metadata(data), directory=str(folder))
    except UnreadableMetadataError as err:
        return _failed(uri, err, ExitCode.FAILED) | {"offset": err.offset, "reason": err.reason}
    except OrphanGcError as err:
        return _failed(uri, err, ExitCode.FAILED)
    except ValueError as err:
        return _failed(uri, err, ExitCode.USAGE)


def _failed(uri: str, err: Exception, code: ExitCode) -> dict[str, Any]:
    return {"directory": uri, "error": str(err), "exit_code": int(code)}


def _read(place: Location) -> tuple[Location, bytes]:
    """Return a checkpoint's folder and its metadata: of a folder, or of a file of any name."""
    folder, name = parent_of(place), place.name
    storage = open_storage(folder)
    data = (
        storage.read(ObjectKey(name), max_bytes=MAX_METADATA_BYTES)
        if _is_file(storage, name)
        else None
    )
    if data is None:
        folder, name = place, METADATA_NAME
        data = open_storage(folder).read(ObjectKey(name), max_bytes=MAX_METADATA_BYTES)
    if data is None:
        raise OrphanGcError(f"there is no {METADATA_NAME} in {folder}")
    return folder, data


def _is_file(storage: Storage, name: str) -> bool:
    return bool(name) and storage.stat([ObjectKey(name)])[0] is not None


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
