"""Physical files and directories that a fully read metadata file names."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_args

from flinkstate.values.handles import (
    FileHandle,
    Handle,
    MergedOperatorHandle,
    RelativeHandle,
    SegmentHandle,
)
from flinkstate.values.metadata_values import HandleKind, Metadata

_HANDLES = get_args(Handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalFile:
    """A file in storage.

    Attributes:
        size: Size in bytes, None if unknown: handles state only segment sizes of merged files.
        kind: Kind of the first handle that names the file.
    """

    path: str
    size: int | None
    kind: HandleKind


def handles_of(value: Any) -> Iterator[Handle]:
    """Yield every handle in a value in file order, outer handles before inner ones."""
    found: list[Handle] = []
    _gather(value, found)
    return iter(found)


def _gather(value: Any, found: list[Handle]) -> None:
    if isinstance(value, tuple):
        if not value or isinstance(value[0], int):  # offsets, by the thousand
            return
        for element in value:
            _gather(element, found)
        return
    is_handle, names = _kind_of(value.__class__)
    if is_handle:
        found.append(value)
    for name in names:
        inner = getattr(value, name)
        if inner is not None:
            _gather(inner, found)


@cache
def _kind_of(kind: type) -> tuple[bool, tuple[str, ...]]:
    names = tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
    return issubclass(kind, _HANDLES), names


def absolute_path(directory: str, name: str) -> str:
    """Return the absolute path of a relative handle's file.

    Args:
        name: Name of the file, one path component.
    """
    return f"{directory.rstrip('/')}/{name}"


def files_of(metadata: Metadata, *, directory: str) -> list[PhysicalFile]:
    """Return every distinct file that the metadata names, in the order of first mention."""
    files: dict[str, PhysicalFile] = {}
    for handle in handles_of(metadata.operators):
        file = _physical(handle, directory)
        if file is None:
            continue
        known = files.get(file.path)
        if known is None:
            files[file.path] = file
        elif known.size is None and file.size is not None:
            files[file.path] = PhysicalFile(path=file.path, size=file.size, kind=known.kind)
    return list(files.values())


def _physical(handle: Handle, directory: str) -> PhysicalFile | None:
    match handle:
        case FileHandle():
            return PhysicalFile(
                path=handle.path, size=known_size(handle.size), kind=HandleKind.FILE
            )
        case RelativeHandle():
            path = absolute_path(directory, handle.name)
            return PhysicalFile(path=path, size=known_size(handle.size), kind=HandleKind.RELATIVE)
        case SegmentHandle():
            return PhysicalFile(path=handle.path, size=None, kind=HandleKind.SEGMENT)
        case _:
            return None


def known_size(size: int) -> int | None:
    """Return the size, or None for the negative size that old releases write if it is unknown."""
    return size if size >= 0 else None


def directories_of(metadata: Metadata) -> list[str]:
    """Return every distinct directory that Flink deletes as a whole, in file order.

    Source: Flink 1.20-2.3, ``FileMergingOperatorStreamStateHandle``.
    """
    found: dict[str, None] = {}
    for handle in handles_of(metadata.operators):
        if isinstance(handle, MergedOperatorHandle):
            found[handle.taskowned_directory] = None
            found[handle.shared_directory] = None
    return list(found)
