"""What new subtasks get, against what Flink's own ``StateAssignmentOperation`` assigns."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkstate.rescale.assignment import redistribute
from flinkstate.state.key_groups import intersection
from flinkstate.values.handles import (
    BytesHandle,
    IncrementalHandle,
    KeyGroupRange,
    OperatorHandle,
    OperatorState,
    StateMode,
)
from flinkstate.values.metadata_values import Operator, Subtask
from integration.harness.flinkbed.redistribution import (
    PARALLELISMS,
    VERSIONS,
    checkpoints,
    kept_answers,
)
from unit.flinkstate.rescale.redistributed import answers, flinks


@pytest.mark.parametrize("version", VERSIONS)
def test_everybody_gets_what_flink_assigns(version: str) -> None:
    """Of every real checkpoint, and of made ones, to 1 to 7 subtasks."""
    kept = kept_answers(version)
    asked = checkpoints(version)
    assert kept.keys() == asked.keys()
    wrong = [
        name for name, data in asked.items() if answers(data, PARALLELISMS) != flinks(kept[name])
    ]
    assert wrong == []


def keyed(first: int, count: int) -> IncrementalHandle:
    return IncrementalHandle(
        checkpoint_id=1,
        backend_id="b",
        groups=KeyGroupRange(first=first, count=count),
        meta=BytesHandle(name="m", data=b""),
        shared=(),
        private=(),
        code=11,
    )


def operator(*handles: IncrementalHandle | None) -> Operator:
    """Return an operator of 16 key groups, a subtask for each handle."""
    return Operator(
        id="00" * 16,
        parallelism=len(handles),
        max_parallelism=16,
        subtasks=tuple(
            Subtask(index=index, managed_keyed=each) for index, each in enumerate(handles)
        ),
    )


@settings(max_examples=50)
@given(
    st.lists(
        st.none() | st.builds(keyed, st.integers(-2, 17), st.integers(0, 17)),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 16),
)
def test_keyed_state_goes_to_whoever_has_some_of_its_key_groups(handles, parallelism: int) -> None:
    """In the order of the old subtasks, also if they overlap, which no Flink writes."""
    for assigned in redistribute(operator(*handles), parallelism).subtasks:
        found = [(each.from_subtask, each.groups) for each in assigned.managed_keyed]
        if parallelism == len(handles):
            own = handles[assigned.index]
            assert found == ([] if own is None else [(assigned.index, own.groups)])
        else:
            assert found == [
                (index, common)
                for index, each in enumerate(handles)
                if each and (common := intersection(each.groups, assigned.groups))
            ]


@pytest.mark.parametrize("number", [2**31 - 1, 32769, 0, -1, -(2**31)])
@pytest.mark.parametrize("field", ["parallelism", "max_parallelism"])
def test_numbers_that_flink_does_not_know_are_refused_at_once(field: str, number: int) -> None:
    """A damaged file may hold any."""
    for subtasks in (operator(keyed(0, 16)).subtasks, ()):
        asked = replace(operator(keyed(0, 16)), subtasks=subtasks, **{field: number})
        assigned = redistribute(asked, 1)
        assert f"is {number}: Flink knows none below 1 or above 32768" in (assigned.refused or "")
        assert assigned.subtasks == ()


def test_the_largest_numbers_are_flinks_own() -> None:
    """As many subtasks as there can be key groups."""
    asked = replace(operator(keyed(0, 16)), parallelism=32768, max_parallelism=32768)
    assert redistribute(asked, 1).refused is None


def test_a_name_takes_its_turn_where_its_state_is_split() -> None:
    """One subtask calls ``BB`` a union state: its split one is met last, so Flink begins with it.

    The answer is what Flink 2.3.0's ``StateAssignmentOperation`` gave.
    """
    split, union = StateMode.SPLIT_DISTRIBUTE, StateMode.UNION
    old = tuple(
        Subtask(
            index=index,
            managed_operator=OperatorHandle(
                states=tuple(
                    OperatorState(name=name, mode=mode, offsets=(at,))
                    for at, (name, mode) in enumerate(states.items())
                ),
                delegate=BytesHandle(name=f"m{index}", data=b"xx"),
            ),
        )
        for index, states in enumerate(({"BB": union, "Aa": split}, {"BB": split}))
    )
    asked = replace(operator(None, None), subtasks=old)
    shares = [each.managed_operator for each in redistribute(asked, 3).subtasks]
    assert [[state.name for state in share] for share in shares] == [["BB"], ["Aa"], []]
