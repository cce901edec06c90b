"""Flink's repartitioner of operator state: which new subtask gets which partitions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from orphangc.flink.rescale.java_hash_order import order_of_computed, order_of_put
from orphangc.flink.state.partitions import partition_sizes, states_of
from orphangc.flink.values.handles import (
    BytesHandle,
    FileHandle,
    OperatorState,
    OperatorStateHandle,
    RelativeHandle,
    SegmentHandle,
    StateMode,
    StreamHandle,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedState:
    """Partitions of one operator state, out of one old subtask's handle.

    Attributes:
        name: Of the state.
        mode: How it is redistributed.
        offsets: Where the partitions begin in the handle; empty if there are none.
        sizes: Bytes of each, None if unknown.
        from_subtask: Old subtask whose handle it is.
        delegate: What the offsets point into.

    """

    name: str
    mode: StateMode
    offsets: tuple[int, ...]
    sizes: tuple[int | None, ...]
    from_subtask: int
    delegate: StreamHandle

    def part(self, start: int, end: int) -> AssignedState:
        """Return some of the partitions, by their place in the list."""
        return AssignedState(
            name=self.name,
            mode=self.mode,
            offsets=self.offsets[start:end],
            sizes=self.sizes[start:end],
            from_subtask=self.from_subtask,
            delegate=self.delegate,
        )


_Shares = dict[tuple[object, str], AssignedState]
"""What a new subtask gets, by handle and name: where both are equal, the last one stays."""


def repartition(
    handles: Sequence[OperatorStateHandle | None], parallelism: int
) -> tuple[tuple[AssignedState, ...], ...] | None:
    """Return what each new subtask gets of the old ones' operator state.

    With another parallelism, all partitions of a split state form one list, in the order of
    the old subtasks, that is cut into equal shares. The remainder goes one each to the first
    that are served, and the next state's round begins behind them: with which subtask depends
    on Flink's order of states, that of a Java hash map. A union state goes to everybody whole.
    Of a broadcast state, new subtask i gets the copy of the i-th old subtask that has one,
    counted around.

    With the same parallelism everybody keeps what it had. Union states go to everybody all
    the same; and a broadcast state that some subtask lacks is handed out as above *besides*
    what was kept, so that a subtask may get two copies.

    Args:
        handles: Of each old subtask, None if it had no such state.
        parallelism: New one, positive.

    Returns:
        None if the names are such that Java's order cannot be told (``order_of_put``).

    Source: Flink 1.15-2.3, ``RoundRobinOperatorStateRepartitioner.repartitionState``.

    """
    whole = [_whole(handle, subtask) for subtask, handle in enumerate(handles)]
    union = _collect(whole, StateMode.UNION)
    broadcast = _collect(whole, StateMode.BROADCAST)
    if parallelism == len(handles):
        shares: list[_Shares] = [dict(_keyed(states.values())) for states in whole]
        broadcast = {name: all_ for name, all_ in broadcast.items() if len(all_) < len(handles)}
    else:
        shares = [{} for _ in range(parallelism)]
        split = _collect(whole, StateMode.SPLIT_DISTRIBUTE)
        ordered = _order(handles, split)
        if ordered is None:
            return None
        _share_out([split[name] for name in ordered], shares)
    for index, share in enumerate(shares):
        share.update(_keyed(state for states in union.values() for state in states))
        share.update(_keyed(states[index % len(states)] for states in broadcast.values()))
    return tuple(tuple(share.values()) for share in shares)


def _whole(handle: OperatorStateHandle | None, subtask: int) -> dict[str, AssignedState]:
    if handle is None:
        return {}
    sizes = partition_sizes(handle)
    return {
        state.name: _assigned(state, sizes[state.name], handle.delegate, subtask)
        for state in states_of(handle).values()
    }


def _assigned(
    state: OperatorState, sizes: tuple[int | None, ...], delegate: StreamHandle, subtask: int
) -> AssignedState:
    return AssignedState(
        name=state.name,
        mode=state.mode,
        offsets=state.offsets,
        sizes=sizes,
        from_subtask=subtask,
        delegate=delegate,
    )


def _order(
    handles: Iterable[OperatorStateHandle | None], wanted: Container[str]
) -> tuple[str, ...] | None:
    """Return the names in the order of Flink's map, which asks every handle's map in turn."""
    asked: list[str] = []
    for handle in handles:
        names = order_of_put(states_of(handle)) if handle else ()
        if names is None:
            return None
        asked += (name for name in names if name in wanted)
    return order_of_computed(asked)


def _collect(
    whole: Iterable[dict[str, AssignedState]], mode: StateMode
) -> dict[str, list[AssignedState]]:
    found: dict[str, list[AssignedState]] = {}
    for states in whole:
        for state in states.values():
            if state.mode is mode:
                found.setdefault(state.name, []).append(state)
    return found


def _share_out(states: Iterable[list[AssignedState]], shares: list[_Shares]) -> None:
    """Cut each state's partitions into shares, beginning where the last one's remainder ended."""
    first = 0
    for handles in states:
        base, remainder = divmod(sum(len(each.offsets) for each in handles), len(shares))
        rest = _Rest(handles)
        for turn in range(len(shares)):
            share = shares[(first + turn) % len(shares)]
            share.update(_keyed(rest.take(base + (turn < remainder))))
        first = (first + remainder) % len(shares)


class _Rest:
    """The partitions of one state that nobody has yet."""

    def __init__(self, handles: list[AssignedState]) -> None:
        self._handles = handles
        self._at = 0
        self._taken = 0

    def take(self, count: int) -> Iterator[AssignedState]:
        """Yield the next partitions, handle by handle; also the handles that hold none."""
        while count > 0:
            handle = self._handles[self._at]
            remaining = len(handle.offsets) - self._taken
            yield handle.part(self._taken, self._taken + min(remaining, count))
            if remaining > count:
                self._taken += count
            else:
                self._at, self._taken = self._at + 1, 0
            count -= remaining


def _keyed(states: Iterable[AssignedState]) -> Iterator[tuple[tuple[object, str], AssignedState]]:
    return (((_identity(state.delegate), state.name), state) for state in states)


def _identity(handle: StreamHandle) -> object:
    """Return what makes two handles one for Flink.

    Source: Flink 1.15-2.3, ``equals`` of the handles' classes.
    """
    match handle:
        case BytesHandle():
            return BytesHandle, handle.name
        case FileHandle():
            return FileHandle, handle.path
        case RelativeHandle():
            return RelativeHandle, handle.name
        case SegmentHandle():
            return SegmentHandle, handle.path, handle.start, handle.size
    return handle
