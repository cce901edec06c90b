"""How each operator state is redistributed at restore: as declared, if the checkpoint agrees."""

from dataclasses import dataclass

from flinkstate.compatibility.declarations import Declarations, RedistributionMode
from flinkstate.declarations.declaration_errors import RestoreMismatchError
from flinkstate.state.contents import CheckpointContents


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """One declared operator state at restore.

    Attributes:
        operator: Id of the operator, 32 hex digits.
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

    Flink assigns the partitions by the redistribution in the checkpoint, before the job registers
    any state, and only then fails the task that registers a state in another way. This check
    refuses a difference before the job starts. It ignores stored states without a declaration:
    ``orphangc unclaimed`` reports those.

    Raises:
        RestoreMismatchError: A state's declared redistribution differs from the stored one. The
            message lists all such states; the attributes hold the first.

    Source: Flink 1.8-2.3, ``DefaultOperatorStateBackend.getListState``,
    ``StateAssignmentOperation.reDistributePartitionableStates``.
    """
    stored = {each.id for each in contents.operators}
    held: dict[tuple[str, str], set[RedistributionMode]] = {}
    for operator in contents.operators:
        for state in operator.operator_states:
            modes = held.setdefault((operator.id, state.name), set())
            modes.add(RedistributionMode.of(state.mode))
    restored = tuple(
        RestoredState(
            operator=id_,
            label=declared.label,
            state=each.id,
            redistribution=each.redistribution,
            is_in_checkpoint=(id_, each.id) in held,
        )
        for declared in declarations.operators
        for id_ in (declared.stored_in(stored) or declared.operator_id,)
        for each in declared.operator_states
    )
    wrong = [each for each in restored if _others(each, held)]
    if wrong:
        differences = "; ".join(
            f"operator {each.label!r} declares {each.state!r} as {each.redistribution}, checkpoint"
            f" {contents.checkpoint_id} holds it as {' and '.join(_others(each, held))}"
            for each in wrong
        )
        raise RestoreMismatchError(
            f"{differences}: the job would fail when it registers the state",
            operator=wrong[0].label,
            state=wrong[0].state,
        )
    return restored


def _others(
    state: RestoredState, held: dict[tuple[str, str], set[RedistributionMode]]
) -> list[RedistributionMode]:
    return sorted(held.get((state.operator, state.state), set()) - {state.redistribution})
