"""What each new subtask gets when a checkpoint is restored with another parallelism."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from orphangc.flink.rescale.repartitioner import AssignedState, repartition
from orphangc.flink.state.key_groups import groups_of, intersection, keyed_bytes, subtask_groups
from orphangc.flink.values.handles import KeyedHandle, KeyGroupRange
from orphangc.flink.values.metadata_values import Operator, Subtask


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedKeyed:
    """What a new subtask reads of one old subtask's keyed state.

    Attributes:
        groups: Key groups that it takes of it.
        from_subtask: Old subtask whose handle it is.
        handle: The old subtask's handle, whole.
        bytes: How many of it are read, None if unknown; an incremental snapshot counts whole.

    """

    groups: KeyGroupRange
    from_subtask: int
    handle: KeyedHandle
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSubtask:
    """What one subtask is given at restore."""

    index: int
    groups: KeyGroupRange
    managed_operator: tuple[AssignedState, ...] = ()
    raw_operator: tuple[AssignedState, ...] = ()
    managed_keyed: tuple[AssignedKeyed, ...] = ()
    raw_keyed: tuple[AssignedKeyed, ...] = ()

    @property
    def bytes(self) -> int | None:
        """How many it reads, None if a size is unknown."""
        sizes = [
            *(
                size
                for state in (*self.managed_operator, *self.raw_operator)
                for size in state.sizes
            ),
            *(state.bytes for state in (*self.managed_keyed, *self.raw_keyed)),
        ]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAssignment:
    """What becomes of one operator's state.

    Attributes:
        operator: Whose state it is.
        parallelism: New one.
        refused: Why Flink does not restore it so, None if it does.
        unknown: Why nobody can tell who gets what, None if it can be told.
        subtasks: The new ones in order; empty where refused or unknown, and where the operator
            has fully finished.

    """

    operator: Operator
    parallelism: int
    refused: str | None = None
    unknown: str | None = None
    subtasks: tuple[NewSubtask, ...] = ()

    @property
    def moves_in_flight(self) -> bool:
        """Whether in-flight data has to move, too.

        Who gets it depends on how the job partitions its streams, which no checkpoint tells.
        """
        return self.parallelism != self.operator.parallelism and any(
            subtask.has_in_flight_data for subtask in self.operator.subtasks or ()
        )


def redistribute(operator: Operator, parallelism: int) -> StateAssignment:
    """Return what each new subtask gets of an operator's state, as Flink assigns it.

    An operator without any state, or that has fully finished, may be restored with every
    parallelism. Keyed state goes by key group: a new subtask reads of every old handle that
    has some of its key groups. With the same parallelism it reads its own old handle, as it is.

    Args:
        operator: Of a checkpoint or savepoint.
        parallelism: New one, positive. The maximum parallelism stays that of the checkpoint,
            as it does for a job that configures none.

    Source: Flink 1.15-2.3, ``StateAssignmentOperation.assignStates``.

    """
    told = StateAssignment(operator=operator, parallelism=parallelism)
    if operator.subtasks is None:
        return told
    if problem := _out_of_bounds(operator):
        return replace(told, refused=problem)
    if operator.subtasks and parallelism > operator.max_parallelism:
        return replace(told, refused=_too_wide(operator, parallelism))
    by_index = {subtask.index: subtask for subtask in operator.subtasks}
    old = [by_index.get(index, Subtask(index=index)) for index in range(operator.parallelism)]
    managed = repartition([each.managed_operator for each in old], parallelism)
    raw = repartition([each.raw_operator for each in old], parallelism)
    if managed is None or raw is None:
        return replace(told, unknown=_UNKNOWN_ORDER)
    managed_keyed = _share_keyed(operator, parallelism, [each.managed_keyed for each in old])
    raw_keyed = _share_keyed(operator, parallelism, [each.raw_keyed for each in old], is_raw=True)
    return replace(
        told,
        subtasks=tuple(
            NewSubtask(
                index=index,
                groups=subtask_groups(operator.max_parallelism, parallelism, index),
                managed_operator=managed[index],
                raw_operator=raw[index],
                managed_keyed=managed_keyed[index],
                raw_keyed=raw_keyed[index],
            )
            for index in range(parallelism)
        ),
    )


_UNKNOWN_ORDER = (
    "more than 8 state names share a hash, and which subtask the remainders go to depends on it"
)


_MAX_PARALLELISM = 32768
"""Source: Flink 1.8-2.3, ``KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM``."""


def _out_of_bounds(operator: Operator) -> str | None:
    """Return what is wrong with an operator's numbers, which may be any in a damaged file."""
    numbers = {
        "parallelism": operator.parallelism,
        "maximum parallelism": operator.max_parallelism,
    }
    for word, number in numbers.items():
        if not 1 <= number <= _MAX_PARALLELISM:
            return (
                f"the {word} of operator {_label(operator)} is {number}: Flink knows none"
                f" below 1 or above {_MAX_PARALLELISM}"
            )
    return None


def _label(operator: Operator) -> str:
    return operator.uid or operator.name or operator.id


def _too_wide(operator: Operator, parallelism: int) -> str:
    return (
        f"the maximum parallelism of operator {_label(operator)} is"
        f" {operator.max_parallelism}: Flink restores no parallelism above it, so not {parallelism}"
    )


_Taken = tuple[int, KeyedHandle, KeyGroupRange]
"""Old subtask, its handle, and key groups."""


class _OldHandles:
    """The old subtasks' handles, by their first key group; they may overlap."""

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
        """Yield the handle of one old subtask, whole, if it has one."""
        if handle := self._handles[index]:
            yield index, handle, groups_of(handle)

    def with_some_of(self, groups: KeyGroupRange) -> Iterator[_Taken]:
        """Yield the handles that hold some of the key groups, in the order of subtasks."""
        start = bisect_right(self._ends_so_far, groups.first)
        end = bisect_left(self._firsts, groups.first + groups.count)
        for subtask, handle, held in sorted(self._old[start:end], key=lambda each: each[0]):
            if common := intersection(held, groups):
                yield subtask, handle, common


def _share_keyed(
    operator: Operator,
    parallelism: int,
    handles: Sequence[KeyedHandle | None],
    *,
    is_raw: bool = False,
) -> list[tuple[AssignedKeyed, ...]]:
    """Return what each new subtask reads of the old subtasks' handles."""
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
