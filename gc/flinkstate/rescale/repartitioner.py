"""Flink's repartitioner of operator state: assigns partitions to new subtasks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from flinkstate.rescale.java_hash_order import order_of_computed, order_of_put
from flinkstate.state.partitions import partition_sizes, states_of
from flinkstate.values.handles import (
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
    """Partitions of one operator state from one old subtask's handle.

    Attributes:
        offsets: Offsets of the partitions in the handle; empty if there are none.
        delegate: Stream that the offsets point into.
    """

    name: str
    mode: StateMode
    offsets: tuple[int, ...]
    sizes: tuple[int | None, ...]
    from_subtask: int
    delegate: StreamHandle

    def part(self, start: int, end: int) -> Self:
        """Return some of the partitions, by their index in the list."""
        return replace(self, offsets=self.offsets[start:end], sizes=self.sizes[start:end])


_Assigned = dict[tuple[object, str], AssignedState]
"""State of a new subtask by handle and name: the last one of an equal pair stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repartitioned:
    """Operator state of the new subtasks.

    Attributes:
        shares: State of each new subtask that is not in ``unions``.
        unions: State that every new subtask gets whole, which is kept once: of 256 old subtasks
            and 300 new ones each operator would have 76,800 entries.
    """

    shares: tuple[tuple[AssignedState, ...], ...]
    unions: tuple[AssignedState, ...] = ()


def repartition(
    handles: Sequence[OperatorStateHandle | None], parallelism: int
) -> Repartitioned | None:
    """Return the operator state of the new subtasks.

    With another parallelism, all partitions of a split state form one list, in the order of the
    old subtasks, which is split evenly. The first subtasks of the round get one partition of the
    remainder each, and the round of the next state begins behind them. So the result depends on
    Flink's order of states, that of a Java hash map. Every subtask gets a union state whole. Of a
    broadcast state, new subtask i gets the copy of the i-th old subtask that has one, modulo
    their number.

    With the same parallelism every subtask keeps its state, and gets a union state whole. A
    broadcast state that a subtask lacks is also assigned as above, *besides* the kept copies.

    Args:
        handles: Handle of each old subtask, None if it has no such state.

    Returns:
        None if Java's order of the names cannot be computed (``order_of_put``).

    Source: Flink 1.15-2.3, ``RoundRobinOperatorStateRepartitioner.repartitionState``.
    """
    whole = [_whole(handle, subtask) for subtask, handle in enumerate(handles)]
    union = _collect(whole, StateMode.UNION)
    broadcast = _collect(whole, StateMode.BROADCAST)
    if parallelism == len(handles):
        shares: list[_Assigned] = [dict(_keyed(states.values())) for states in whole]
        broadcast = {name: all_ for name, all_ in broadcast.items() if len(all_) < len(handles)}
    else:
        shares = [{} for _ in range(parallelism)]
        split = _collect(whole, StateMode.SPLIT_DISTRIBUTE)
        ordered = _order_of_split(handles)
        if ordered is None:
            return None
        _split_evenly([split[name] for name in ordered], shares)
    whole_unions = dict(_keyed(state for states in union.values() for state in states))
    copied = dict(_keyed(state for states in broadcast.values() for state in states))
    # equal handles, of which one calls a state union and another one broadcast
    mixed = {key: whole_unions.pop(key) for key in whole_unions.keys() & copied.keys()}
    for index, share in enumerate(shares):
        share.update(mixed)
        share.update(_keyed(states[index % len(states)] for states in broadcast.values()))
    return Repartitioned(
        shares=tuple(
            tuple(state for key, state in share.items() if key not in whole_unions)
            for share in shares
        ),
        unions=tuple(whole_unions.values()),
    )


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


def _order_of_split(handles: Iterable[OperatorStateHandle | None]) -> tuple[str, ...] | None:
    """Return the names of split states in the order of Flink's map, filled handle by handle."""
    asked: list[str] = []
    for handle in (each for each in handles if each):
        states = states_of(handle)
        names = order_of_put(states)
        if names is None:
            return None
        asked += (name for name in names if states[name].mode is StateMode.SPLIT_DISTRIBUTE)
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


def _split_evenly(states: Iterable[list[AssignedState]], shares: list[_Assigned]) -> None:
    """Split each state's partitions evenly, starting behind the previous state's remainder."""
    first = 0
    for handles in states:
        base, remainder = divmod(sum(len(each.offsets) for each in handles), len(shares))
        rest = _Unassigned(handles)
        for turn in range(len(shares)):
            share = shares[(first + turn) % len(shares)]
            share.update(_keyed(rest.take(base + (turn < remainder))))
        first = (first + remainder) % len(shares)


class _Unassigned:
    def __init__(self, handles: list[AssignedState]) -> None:
        self._handles = handles
        self._at = 0
        self._taken = 0

    def take(self, count: int) -> Iterator[AssignedState]:
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
    """Return the identity by which Flink compares handles.

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
