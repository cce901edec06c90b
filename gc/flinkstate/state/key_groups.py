"""Key groups of subtasks, and the keyed state that they read."""

from collections.abc import Iterable

from flinkstate.state.partitions import stream_size
from flinkstate.values.handles import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    IncrementalHandle,
    KeyedHandle,
    KeyGroupRange,
    KeyGroupsHandle,
)

MAX_PARALLELISM = 32768
"""Source: Flink 1.8-2.3, ``KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM``."""


def subtask_groups(max_parallelism: int, parallelism: int, index: int) -> KeyGroupRange:
    """Return the key groups of one subtask; the parallelism is at most the maximum.

    Source: Flink 1.8-2.3, ``KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex``.
    """
    first = (index * max_parallelism + parallelism - 1) // parallelism
    last = ((index + 1) * max_parallelism - 1) // parallelism
    return KeyGroupRange(first=first, count=last - first + 1)


def groups_of(handle: KeyedHandle) -> KeyGroupRange:
    """Return the key groups whose state a handle holds."""
    if isinstance(handle, KeyGroupsHandle):
        return KeyGroupRange(first=handle.groups.first, count=len(handle.groups.offsets))
    return handle.groups


def intersection(some: KeyGroupRange, others: KeyGroupRange) -> KeyGroupRange | None:
    """Return the key groups in both, None if there are none."""
    first = max(some.first, others.first)
    end = min(some.first + some.count, others.first + others.count)
    return KeyGroupRange(first=first, count=end - first) if first < end else None


def keyed_bytes(handle: KeyedHandle, groups: KeyGroupRange, *, is_raw: bool = False) -> int | None:
    """Return the number of bytes that a subtask with these key groups reads from a handle.

    From state laid out by key group it reads only the bytes of its key groups. An incremental
    snapshot and a file of changes are read whole. None if a size is unknown.

    Source: Flink 1.15-2.3, ``KeyedStateHandle.getIntersection`` of each kind of handle.
    """
    match handle:
        case KeyGroupsHandle():
            return _laid_out(handle, groups, is_raw=is_raw)
        case IncrementalHandle():
            named = (*handle.shared, *handle.private)
            return known_sum(
                [stream_size(handle.meta), *(stream_size(each.handle) for each in named)]
            )
        case ChangelogHandle():
            parts = (*(each for each in handle.materialized if each), *handle.increments)
            return known_sum(
                keyed_bytes(part, common)
                for part in parts
                if (common := intersection(groups_of(part), groups))
            )
        case ChangelogBytesHandle():
            return sum(len(change.change) for change in handle.changes)
        case ChangelogFilesHandle():
            return handle.size if handle.size >= 0 else None


def _laid_out(handle: KeyGroupsHandle, groups: KeyGroupRange, *, is_raw: bool) -> int | None:
    """Return the size of the key groups; each ends where the next one with state begins.

    Source: Flink 1.8-2.3, ``KeyedStateCheckpointOutputStream.NO_OFFSET_SET`` (-1, raw state);
    ``FullSnapshotAsyncWriter`` leaves 0, the offset of the header, for an empty key group.
    """
    smallest = 0 if is_raw else 1
    starts = sorted(
        (start, group)
        for group, start in enumerate(handle.groups.offsets, handle.groups.first)
        if start >= smallest
    )
    ends = [*(start for start, _ in starts[1:]), stream_size(handle.delegate)]
    return known_sum(
        None if end is None or end < start else end - start
        for (start, group), end in zip(starts, ends, strict=False)
        if groups.first <= group < groups.first + groups.count
    )


def known_sum(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of sizes in bytes, ``None`` if one is unknown."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
