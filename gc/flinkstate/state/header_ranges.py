"""Positions of the headers that hold the names of states, and the size to read of each."""

from dataclasses import dataclass

from flinkstate.state.extents import Extent, Inline, place_of
from flinkstate.values.handles import (
    ChangelogBytesHandle,
    ChangelogFile,
    ChangelogFilesHandle,
    ChangelogHandle,
    IncrementalHandle,
    KeyedHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    StreamHandle,
)

LARGEST_HEADER = 4 * 1024 * 1024
"""Maximum number of bytes read of a header; the record of a state takes a few hundred."""

METADATA_GROUP = -1
"""Key group of changes that introduce states.

Source: Flink 1.15-2.3, ``StateChangeLoggerImpl.COMMON_KEY_GROUP``.
"""

_LARGEST_METADATA = 64 * 1024
"""Maximum number of bytes read of a set of changes; the metadata of a state takes a few hundred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Position of one header.

    Attributes:
        size: Size of the header in bytes; None for the whole extent.
    """

    place: Extent | Inline
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Changes that may introduce states.

    Attributes:
        content: Begin of a set of changes, or one change of metadata.
        flag: Byte that says whether the file is compressed; None for one change of metadata.
    """

    content: Header
    flag: Header | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedHeaders:
    """Headers that name the states in one keyed handle.

    Attributes:
        changes: Changes of a changelog that are not materialized.
    """

    headers: tuple[Header, ...] = ()
    changes: tuple[Changes, ...] = ()

    @property
    def every(self) -> tuple[Header, ...]:
        """Return all that is to be read."""
        flags = (each.flag for each in self.changes if each.flag is not None)
        return (*self.headers, *flags, *(each.content for each in self.changes))


def keyed_headers(handle: KeyedHandle, directory: str) -> KeyedHeaders:
    """Return the headers with the names of a managed keyed handle's states.

    Args:
        handle: Handle in the slot for managed keyed state; raw keyed state has no such header.

    Source: Flink 1.8-2.3, ``RocksDBIncrementalRestoreOperation`` (the meta file),
    ``FullSnapshotRestoreOperation``, ``HeapRestoreOperation`` (before the first key group).
    """
    match handle:
        case IncrementalHandle():
            return KeyedHeaders(headers=(_header(handle.meta, (), directory),))
        case KeyGroupsHandle():
            header = _header(handle.delegate, handle.groups.offsets, directory)
            return KeyedHeaders(headers=(header,))
        case ChangelogHandle():
            parts = (*(each for each in handle.materialized if each), *handle.increments)
            inner = [keyed_headers(each, directory) for each in parts]
            return KeyedHeaders(
                headers=tuple(header for each in inner for header in each.headers),
                changes=tuple(changes for each in inner for changes in each.changes),
            )
        case ChangelogBytesHandle():
            metadata = (each for each in handle.changes if each.key_group == METADATA_GROUP)
            inline = (Header(place=Inline(data=each.change), size=None) for each in metadata)
            return KeyedHeaders(changes=tuple(Changes(content=each) for each in inline))
        case ChangelogFilesHandle():
            return KeyedHeaders(changes=tuple(_changes(each, directory) for each in handle.files))


def _changes(file: ChangelogFile, directory: str) -> Changes:
    """Return a set of changes; its offset counts from behind the file's first byte, the flag."""
    place = place_of(file.handle, directory)
    if isinstance(place, Inline):
        flag = Header(place=Inline(data=place.data[:1]), size=1)
        content = place.data[1 + file.offset :][:_LARGEST_METADATA]
        return Changes(flag=flag, content=Header(place=Inline(data=content), size=None))
    start = place.start or 0
    left = None if place.size is None else max(0, place.size - file.offset)
    size = _LARGEST_METADATA if left is None else min(left, _LARGEST_METADATA)
    return Changes(
        flag=Header(place=Extent(place.path, start, 1), size=1),
        content=Header(place=Extent(place.path, start + 1 + file.offset, size), size=size),
    )


def operator_header(handle: OperatorStateHandle, directory: str) -> Header:
    """Return the header of a managed operator handle: the bytes before the first partition."""
    offsets = [offset for state in handle.states for offset in state.offsets]
    return _header(handle.delegate, tuple(offsets), directory)


def _header(stream: StreamHandle, offsets: tuple[int, ...], directory: str) -> Header:
    """Return the header before the first offset; an offset of 0 marks a key group without data."""
    return Header(
        place=place_of(stream, directory),
        size=min((offset for offset in offsets if offset > 0), default=None),
    )
