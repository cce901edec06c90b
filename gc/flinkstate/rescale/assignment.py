"""State of each new subtask when a checkpoint is restored with another parallelism."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from flinkstate.rescale.repartitioner import AssignedState, repartition
from flinkstate.state.key_groups import (
    MAX_PARALLELISM,
    groups_of,
    intersection,
    keyed_bytes,
    known_sum,
    subtask_groups,
)
from flinkstate.values.handles import KeyedHandle, KeyGroupRange
from flinkstate.values.metadata_values import Operator, Subtask


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedKeyed:
    """Keyed state that a new subtask reads from one old subtask.

    Attributes:
        bytes: Number of bytes read, None if unknown; an incremental snapshot is read whole.
    """

    groups: KeyGroupRange
    from_subtask: int
    handle: KeyedHandle
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSubtask:
    """State of one subtask at restore, without what every subtask gets."""

    index: int
    groups: KeyGroupRange
    managed_operator: tuple[AssignedState, ...] = ()
    raw_operator: tuple[AssignedState, ...] = ()
    managed_keyed: tuple[AssignedKeyed, ...] = ()
    raw_keyed: tuple[AssignedKeyed, ...] = ()

    @property
    def bytes(self) -> int | None:
        """Return the number of bytes that it reads of these, None if a size is unknown."""
        keyed = (state.bytes for state in (*self.managed_keyed, *self.raw_keyed))
        return known_sum((*sizes_of(self.managed_operator, self.raw_operator), *keyed))


def sizes_of(*parts: Iterable[AssignedState]) -> Iterator[int | None]:
    """Yield the size of each partition in bytes, None if unknown."""
    return (size for part in parts for state in part for size in state.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAssignment:
    """Assignment of one operator's state.

    Attributes:
        subtasks: New subtasks in order; empty if refused or unknown, and if the operator has fully
            finished.
    """

    operator: Operator
    parallelism: int
    refused: str | None = None
    unknown: str | None = None
    subtasks: tuple[NewSubtask, ...] = ()
    managed_unions: tuple[AssignedState, ...] = ()
    raw_unions: tuple[AssignedState, ...] = ()

    @property
    def moves_in_flight(self) -> bool:
        """Return whether in-flight data must move, too.

        Its target depends on how the job partitions its streams, which no checkpoint states.
        """
        return self.parallelism != self.operator.parallelism and any(
            subtask.has_in_flight_data for subtask in self.operator.subtasks or ()
        )


def redistribute(operator: Operator, parallelism: int) -> StateAssignment:
    """Return the assignment of an operator's state to new subtasks, as Flink computes it.

    An operator that has no state or has fully finished may be restored with any parallelism.
    Keyed state is assigned by key group: a new subtask reads from every old handle that holds one
    of its key groups. With the same parallelism it reads its own old handle unchanged.

    Args:
        parallelism: New parallelism, positive. The maximum parallelism stays that of the
            checkpoint, as for a job that configures none.

    Source: Flink 1.15-2.3, ``StateAssignmentOperation.assignStates``.
    """
    assignment = StateAssignment(operator=operator, parallelism=parallelism)
    if operator.subtasks is None:
        return assignment
    if problem := _out_of_bounds(operator):
        return replace(assignment, refused=problem)
    if operator.subtasks and parallelism > operator.max_parallelism:
        return replace(
            assignment,
            refused=f"the maximum parallelism of operator {_label(operator)} is"
            f" {operator.max_parallelism}: Flink restores no parallelism above it, so not"
            f" {parallelism}",
        )
    by_index = {subtask.index: subtask for subtask in operator.subtasks}
    old = [by_index.get(index, Subtask(index=index)) for index in range(operator.parallelism)]
    managed = repartition([each.managed_operator for each in old], parallelism)
    raw = repartition([each.raw_operator for each in old], parallelism)
    if managed is None or raw is None:
        return replace(assignment, unknown=_UNKNOWN_ORDER)
    managed_keyed = _assign_keyed(operator, parallelism, [each.managed_keyed for each in old])
    raw_keyed = _assign_keyed(operator, parallelism, [each.raw_keyed for each in old], is_raw=True)
    return replace(
        assignment,
        subtasks=tuple(
            NewSubtask(
                index=index,
                groups=subtask_groups(operator.max_parallelism, parallelism, index),
                managed_operator=managed.shares[index],
                raw_operator=raw.shares[index],
                managed_keyed=managed_keyed[index],
                raw_keyed=raw_keyed[index],
            )
            for index in range(parallelism)
        ),
        managed_unions=managed.unions,
        raw_unions=raw.unions,
    )


_UNKNOWN_ORDER = (
    "more than 8 state names share a hash, and which subtask the remainders go to depends on it"
)


def _out_of_bounds(operator: Operator) -> str | None:
    numbers = {"parallelism": operator.parallelism, "maximum parallelism": operator.max_parallelism}
    for word, number in numbers.items():
        if not 1 <= number <= MAX_PARALLELISM:
            return (
                f"the {word} of operator {_label(operator)} is {number}: Flink knows none"
                f" below 1 or above {MAX_PARALLELISM}"
            )
    return None


def _label(operator: Operator) -> str:
    return operator.uid or operator.name or operator.id


_Taken = tuple[int, KeyedHandle, KeyGroupRange]
"""Old subtask, its handle, and the key groups to read."""


class _OldHandles:
    """Handles of the old subtasks, by their first key group; they may overlap."""

    def __init__(self, handles: Sequence[KeyedHandle | None]) -> None:
        self._handles = handles
        known = [
            (subtask, handle, groups_of(handle)) for subtask, handle in enumerate(handles) if handle
        ]
        self._old: list[_Taken] = sorted(known, key=lambda each: each[2].first)
        self._firsts = [held.first for _, _, held in self._old]
        ends = (held.first + held.count for _, _, held in self._old)
        self._ends_so_far = list(accumulate(ends, max))

    def of_subtask(self, index: int) -> Iterator[_Taken]:
        if handle := self._handles[index]:
            yield index, handle, groups_of(handle)

    def with_some_of(self, groups: KeyGroupRange) -> Iterator[_Taken]:
        start = bisect_right(self._ends_so_far, groups.first)
        end = bisect_left(self._firsts, groups.first + groups.count)
        for subtask, handle, held in sorted(self._old[start:end], key=lambda each: each[0]):
            if common := intersection(held, groups):
                yield subtask, handle, common


def _assign_keyed(
    operator: Operator,
    parallelism: int,
    handles: Sequence[KeyedHandle | None],
    *,
    is_raw: bool = False,
) -> list[tuple[AssignedKeyed, ...]]:
    old = _OldHandles(handles)

    def taken(index: int) -> Iterator[_Taken]:
        if parallelism == operator.parallelism:
            return old.of_subtask(index)
        return old.with_some_of(subtask_groups(operator.max_parallelism, parallelism, index))

    return [
        tuple(
            AssignedKeyed(
                groups=groups,
                from_subtask=subtask,
                handle=handle,
                bytes=keyed_bytes(handle, groups, is_raw=is_raw),
            )
            for subtask, handle, groups in taken(index)
        )
        for index in range(parallelism)
    ]
