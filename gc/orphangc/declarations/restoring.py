"""How each operator state is redistributed at restore: as declared, if the checkpoint agrees."""

from __future__ import annotations

from dataclasses import dataclass

from orphangc.declarations.declaration_errors import RestoreMismatchError
from orphangc.flink.compatibility.declarations import Declarations, RedistributionMode
from orphangc.flink.state.contents import CheckpointContents


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """One declared operator state at restore.

    Attributes:
        operator: Its id, 32 hex digits.
        label: What a person knows the operator by.
        state: Id of the state.
        redistribution: As declared.
        is_in_checkpoint: Whether there is anything to redistribute.

    """

    operator: str
    label: str
    state: str
    redistribution: RedistributionMode
    is_in_checkpoint: bool


def check_restore(
    declarations: Declarations, contents: CheckpointContents
) -> tuple[RestoredState, ...]:
    """Return how every declared operator state is redistributed, in the declarations' order.

    Flink deals the partitions out by what the checkpoint says, before the job declares
    anything, and only then fails the task that registers the state in another way. So a
    difference is refused here, before there is a job. What the checkpoint holds and nobody
    declares is not looked at: ``orphangc unclaimed`` tells it.

    Raises:
        RestoreMismatchError: A state is declared in another way than it was written; all that
            are stand in the message, the first in its attributes.

    Source: Flink 1.8-2.3, ``DefaultOperatorStateBackend.getListState``,
    ``StateAssignmentOperation.reDistributePartitionableStates``.

    """
    held: dict[tuple[str, str], set[RedistributionMode]] = {}
    for operator in contents.operators:
        for state in operator.operator_states:
            modes = held.setdefault((operator.id, state.name), set())
            modes.add(RedistributionMode.of(state.mode))
    restored = tuple(
        RestoredState(
            operator=declared.operator_id,
            label=declared.label,
            state=each.id,
            redistribution=each.redistribution,
            is_in_checkpoint=(declared.operator_id, each.id) in held,
        )
        for declared in declarations.operators
        for each in declared.operator_states
    )
    wrong = [each for each in restored if _others(each, held)]
    if wrong:
        told = "; ".join(
            f"operator {each.label!r} declares {each.state!r} as {each.redistribution}, checkpoint"
            f" {contents.checkpoint_id} holds it as {' and '.join(_others(each, held))}"
            for each in wrong
        )
        raise RestoreMismatchError(
            f"{told}: the job would fail when it registers the state",
            operator=wrong[0].label,
            state=wrong[0].state,
        )
    return restored


def _others(
    state: RestoredState, held: dict[tuple[str, str], set[RedistributionMode]]
) -> list[RedistributionMode]:
    return sorted(held.get((state.operator, state.state), set()) - {state.redistribution})
