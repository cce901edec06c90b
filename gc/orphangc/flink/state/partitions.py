"""Where the partitions of operator states lie in their handle, and how large each is."""

from __future__ import annotations

from collections import Counter

from orphangc.flink.values.handles import (
    BytesHandle,
    EmptySegmentHandle,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    StreamHandle,
)


def stream_size(handle: StreamHandle) -> int | None:
    """Return the bytes that a handle stands for, None if it does not tell."""
    match handle:
        case BytesHandle():
            return len(handle.data)
        case EmptySegmentHandle():
            return 0
        case KeyGroupsHandle():
            return stream_size(handle.delegate)
    return handle.size if handle.size >= 0 else None


def states_of(handle: OperatorStateHandle) -> dict[str, OperatorState]:
    """Return the states by name, as in Flink's map: of a name that stands twice, the last."""
    return {state.name: state for state in handle.states}


def partition_sizes(handle: OperatorStateHandle) -> dict[str, tuple[int | None, ...]]:
    """Return the bytes of each partition, in the order of the state's offsets.

    A partition ends where the next one begins, be it of the same state or of another, and the
    last one where the handle ends: Flink writes one behind the other and nothing between
    them. Its size is None if the handle does not tell its own, if it would begin behind the
    end, or if another state begins at the same byte: all but one are empty then, and nothing
    says which.

    Source: Flink 1.8-2.3, ``DefaultOperatorStateBackendSnapshotStrategy``,
    ``PartitionableListState.write``, ``OperatorStateCheckpointOutputStream.startNewPartition``.

    """
    states = states_of(handle)
    starts = Counter(offset for state in states.values() for offset in set(state.offsets))
    ends = _ends(sorted(starts), stream_size(handle.delegate))
    return {
        name: tuple(
            _size(state.offsets, index, ends=ends, is_shared=starts[offset] > 1)
            for index, offset in enumerate(state.offsets)
        )
        for name, state in states.items()
    }


def _ends(starts: list[int], end: int | None) -> dict[int, int | None]:
    return dict(zip(starts, [*starts[1:], end], strict=False))


def _size(
    offsets: tuple[int, ...], index: int, *, ends: dict[int, int | None], is_shared: bool
) -> int | None:
    start = offsets[index]
    if start in offsets[index + 1 : index + 2]:
        return 0
    end = ends[start]
    return None if end is None or is_shared or end < start else end - start
