"""Extents of state: files, segments of merged files, and blobs in ``_metadata``."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from flinkstate.state.referenced_files import absolute_path, known_size
from flinkstate.values.handles import (
    BytesHandle,
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    ChannelStateHandle,
    EmptySegmentHandle,
    FileHandle,
    Handle,
    IncrementalHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    RelativeHandle,
    SegmentHandle,
    StreamHandle,
)

_Outer = (
    KeyGroupsHandle | IncrementalHandle | ChangelogHandle | OperatorStateHandle | ChannelStateHandle
)


class Extent(NamedTuple):
    """A byte range in storage; equal extents are the same bytes.

    Attributes:
        start: Offset of the first byte, None if the extent is the whole file.
        size: Size in bytes, None if the handle does not state it.
        may_be_compressed: Whether the file's first byte says if fewer bytes are stored than that.
    """

    path: str
    start: int | None
    size: int | None
    may_be_compressed: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Inline:
    """Bytes in ``_metadata`` itself; two of them are never equal."""

    data: bytes

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.data)


def place_of(handle: StreamHandle, directory: str) -> Extent | Inline:
    """Return the extent of a stream; an empty segment is an empty ``Inline``.

    Args:
        directory: The directory of the metadata file, as the reader addresses it.
    """
    match handle:
        case BytesHandle():
            return Inline(data=handle.data)
        case FileHandle():
            return Extent(handle.path, None, known_size(handle.size))
        case RelativeHandle():
            path = absolute_path(directory, handle.name)
            return Extent(path, None, known_size(handle.size))
        case SegmentHandle():
            return Extent(handle.path, handle.start, known_size(handle.size))
        case EmptySegmentHandle():
            return Inline(data=b"")
        case KeyGroupsHandle():
            return place_of(handle.delegate, directory)


def extents_of(handle: Handle | None, directory: str) -> Iterator[Extent | Inline]:
    """Yield the extents of a handle in file order, repeated ones too; none for None."""
    match handle:
        case None | EmptySegmentHandle():
            pass
        case BytesHandle() | FileHandle() | RelativeHandle() | SegmentHandle():
            yield place_of(handle, directory)
        case ChangelogBytesHandle():
            yield from (Inline(data=each.change) for each in handle.changes)
        case ChangelogFilesHandle():
            for file in handle.files:
                yield from map(_changes_in, extents_of(file.handle, directory))
        case _:
            for each in _inner(handle):
                yield from extents_of(each, directory)


def _inner(handle: _Outer) -> tuple[Handle | None, ...]:
    match handle:
        case IncrementalHandle():
            files = (*handle.shared, *handle.private)
            return (handle.meta, *(each.handle for each in files))
        case ChangelogHandle():
            return (*handle.materialized, *handle.increments)
        case _:
            return (handle.delegate,)


def _changes_in(extent: Extent | Inline) -> Extent | Inline:
    """Return the extent of the changes in a file of the change log.

    They follow a byte that says whether they are compressed. The size in the handle does not count
    it, and is that before the compression: Flink 1.15 to 2.3, StateChangeFsUploader,
    OutputStreamWithPos.
    """
    if isinstance(extent, Extent) and extent.start is None and extent.size is not None:
        return extent._replace(start=1, may_be_compressed=True)
    return extent


def size_of(extents: Iterable[Extent | Inline]) -> int:
    """Return the size of distinct extents; an extent of unknown size counts as 0."""
    return sum(extent.size or 0 for extent in set(extents))
