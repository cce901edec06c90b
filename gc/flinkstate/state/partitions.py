"""Offsets and sizes of the partitions of operator states in their handle."""

from collections import Counter

from flinkstate.state.referenced_files import known_size
from flinkstate.values.handles import (
    BytesHandle,
    EmptySegmentHandle,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    StreamHandle,
)


def stream_size(handle: StreamHandle) -> int | None:
    """Return the size of a stream, None if its handle does not state it."""
    match handle:
        case BytesHandle():
            return len(handle.data)
        case EmptySegmentHandle():
            return 0
        case KeyGroupsHandle():
            return stream_size(handle.delegate)
    return known_size(handle.size)


def states_of(handle: OperatorStateHandle) -> dict[str, OperatorState]:
    """Return the states by name, as in Flink's map: the last one of a repeated name."""
    return {state.name: state for state in handle.states}


def partition_sizes(handle: OperatorStateHandle) -> dict[str, tuple[int | None, ...]]:
    """Return the size of each partition, in the order of the state's offsets.

    A partition ends where the next one of any state begins, and the last one where the handle
    ends: Flink writes partitions without gaps. A size is None if the size of the handle is
    unknown, if the partition would begin behind the end, or if another state begins at the same
    byte: all but one of them are then empty, and the handle does not state which.

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
