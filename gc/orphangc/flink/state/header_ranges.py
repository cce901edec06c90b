"""Positions of the headers that hold the names of states, and the size to read of each."""

from __future__ import annotations

from dataclasses import dataclass

from orphangc.flink.state.extents import Extent, Inline, place_of
from orphangc.flink.values.handles import (
    ChangelogHandle,
    IncrementalHandle,
    KeyedHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    StreamHandle,
)

LARGEST_HEADER = 4 * 1024 * 1024
"""Maximum number of bytes read of a header; the record of a state takes a few hundred."""

_NOT_MATERIALIZED = "names of states in changes that are not materialized are unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Position of one header.

    Attributes:
        place: Extent that begins with the header.
        size: Size of the header in bytes; None for the whole extent.

    """

    place: Extent | Inline
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedHeaders:
    """Headers that name the states in one keyed handle.

    Attributes:
        headers: Headers that together name the states.
        unknown: State that the headers do not name, None if they name all.

    """

    headers: tuple[Header, ...] = ()
    unknown: str | None = None


def keyed_headers(handle: KeyedHandle, directory: str) -> KeyedHeaders:
    """Return the headers with the names of a managed keyed handle's states.

    Args:
        handle: Handle in the slot for managed keyed state; raw keyed state has no such header.
        directory: The directory of the metadata file, as the reader addresses it.

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
            inner = [keyed_headers(each, directory) for each in handle.materialized if each]
            unknown = [each.unknown for each in inner if each.unknown]
            unknown += [_NOT_MATERIALIZED] if handle.increments else []
            return KeyedHeaders(
                headers=tuple(header for each in inner for header in each.headers),
                unknown=unknown[0] if unknown else None,
            )
        case _:
            return KeyedHeaders(unknown=_NOT_MATERIALIZED)


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
