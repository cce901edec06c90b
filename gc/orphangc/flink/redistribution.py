"""What each new subtask gets when a checkpoint is restored with another parallelism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orphangc.flink.handles import KeyedHandle, KeyGroupRange
from orphangc.flink.key_groups import groups_of, intersection, keyed_bytes, subtask_groups
from orphangc.flink.model import Operator, Subtask
from orphangc.flink.repartitioning import AssignedState, repartition

__all__ = ["AssignedKeyed", "NewSubtask", "Redistribution", "redistribute"]


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
class Redistribution:
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
            subtask.input_channels or subtask.output_channels
            for subtask in self.operator.subtasks or ()
        )


def redistribute(operator: Operator, parallelism: int) -> Redistribution:
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
    told = Redistribution(operator=operator, parallelism=parallelism)
    if operator.subtasks is None:
        return told
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


def _too_wide(operator: Operator, parallelism: int) -> str:
    return (
        f"the maximum parallelism of operator {operator.uid or operator.name or operator.id} is"
        f" {operator.max_parallelism}: Flink restores no parallelism above it, so not {parallelism}"
    )


def _share_keyed(
    operator: Operator,
    parallelism: int,
    handles: Sequence[KeyedHandle | None],
    *,
    is_raw: bool = False,
) -> list[tuple[AssignedKeyed, ...]]:
    """Return what each new subtask reads of the old subtasks' handles."""
    old = [(subtask, handle, groups_of(handle)) for subtask, handle in enumerate(handles) if handle]

    def taken(index: int) -> Iterator[tuple[int, KeyedHandle, KeyGroupRange]]:
        if parallelism == operator.parallelism:
            yield from (each for each in old if each[0] == index)
            return
        groups = subtask_groups(operator.max_parallelism, parallelism, index)
        for subtask, handle, held in old:
            if common := intersection(held, groups):
                yield subtask, handle, common

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
