"""Where the headers lie that tell the states' names, and how much has to be read of them."""

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
"""Bytes of a header that is read; a state's record takes a few hundred."""

_NOT_MATERIALIZED = "names of states in changes that are not materialized are unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Bytes that are one header.

    Attributes:
        place: What they are a part of.
        size: How many, from the beginning of ``place``; None for all of it.

    """

    place: Extent | Inline
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedHeaders:
    """What has to be read to know the states in one keyed handle.

    Attributes:
        headers: All of them together name the states.
        unknown: What they leave out, None if nothing.

    """

    headers: tuple[Header, ...] = ()
    unknown: str | None = None


def keyed_headers(handle: KeyedHandle, directory: str) -> KeyedHeaders:
    """Return where the names of a managed keyed handle's states stand.

    Args:
        handle: Of the slot for managed keyed state; raw keyed state has no such header.
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
    """Return where a managed operator handle's own header stands: before the first partition."""
    offsets = [offset for state in handle.states for offset in state.offsets]
    return _header(handle.delegate, tuple(offsets), directory)


def _header(stream: StreamHandle, offsets: tuple[int, ...], directory: str) -> Header:
    """Return the bytes before the first offset; one of 0 stands for a key group without data."""
    return Header(
        place=place_of(stream, directory),
        size=min((offset for offset in offsets if offset > 0), default=None),
    )
