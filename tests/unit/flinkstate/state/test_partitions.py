"""Where partitions end, and how much of keyed state a subtask reads."""

from dataclasses import replace

import pytest

from flinkstate.rescale.assignment import redistribute
from flinkstate.state.key_groups import keyed_bytes
from flinkstate.state.partitions import partition_sizes
from flinkstate.values.handles import (
    BytesHandle,
    EmptySegmentHandle,
    FileHandle,
    IncrementalHandle,
    KeyGroupOffsets,
    KeyGroupRange,
    KeyGroupsHandle,
    NamedHandle,
    OperatorHandle,
    OperatorState,
    StateMode,
    StreamHandle,
)
from flinkstate.values.metadata_values import Operator, Subtask
from unit.flinkstate.rescale.test_java_hash_order import SAME_HASH

FILE = FileHandle(path="s3://b/f", size=20)


def handle(delegate: StreamHandle, **states: tuple[int, ...]) -> OperatorHandle:
    """Return an operator state handle of list states."""
    return OperatorHandle(
        states=tuple(
            OperatorState(name=name, mode=StateMode.SPLIT_DISTRIBUTE, offsets=offsets)
            for name, offsets in states.items()
        ),
        delegate=delegate,
    )


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param({"a": (3, 7)}, {"a": (4, 13)}, id="to the next, and to the end"),
        pytest.param({"a": (3, 9), "b": (7,)}, {"a": (4, 11), "b": (2,)}, id="of another state"),
        pytest.param({"a": (3, 3, 7)}, {"a": (0, 4, 13)}, id="an empty one"),
        pytest.param({"a": (3,), "b": (3,)}, {"a": (None,), "b": (None,)}, id="which is empty?"),
        pytest.param({"a": (3, 20)}, {"a": (17, 0)}, id="at the end"),
        pytest.param({"a": (3, 21)}, {"a": (18, None)}, id="behind the end"),
        pytest.param({"a": ()}, {"a": ()}, id="none"),
    ],
)
def test_a_partition_ends_where_the_next_begins(states, expected) -> None:
    """Whichever state that is of."""
    assert partition_sizes(handle(FILE, **states)) == expected


@pytest.mark.parametrize(
    ("delegate", "last"),
    [
        pytest.param(replace(FILE, size=-1), None, id="unknown"),
        pytest.param(BytesHandle(name="n", data=b"x" * 9), 4, id="inline"),
        pytest.param(EmptySegmentHandle(), None, id="nothing there"),
    ],
)
def test_the_last_partition_ends_with_the_handle(delegate, last) -> None:
    """If the handle states its size."""
    assert partition_sizes(handle(delegate, a=(2, 5))) == {"a": (3, last)}


GROUPS = KeyGroupsHandle(
    groups=KeyGroupOffsets(first=4, offsets=(5, 0, 8, 8, 12)), delegate=FILE, code=12
)


@pytest.mark.parametrize(
    ("first", "count", "expected"),
    [(4, 5, 15), (4, 1, 3), (5, 1, 0), (6, 1, 0), (7, 1, 4), (8, 9, 8), (0, 4, 0), (4, 2, 3)],
)
def test_key_groups_are_read_one_by_one(first: int, count: int, expected: int) -> None:
    """Offset 0 says that one is empty; a header stands there."""
    assert keyed_bytes(GROUPS, KeyGroupRange(first=first, count=count)) == expected


def test_raw_key_groups_begin_without_a_header() -> None:
    """There -1 says that one is empty."""
    raw = replace(GROUPS, groups=KeyGroupOffsets(first=0, offsets=(-1, 0, 6)))
    sizes = [
        keyed_bytes(raw, KeyGroupRange(first=group, count=1), is_raw=True) for group in range(3)
    ]
    assert sizes == [0, 6, 14]


def test_an_incremental_snapshot_is_fetched_whole() -> None:
    """Whatever part of its key groups is wanted; one unknown size makes all unknown."""
    snapshot = IncrementalHandle(
        checkpoint_id=1,
        backend_id="b",
        groups=KeyGroupRange(first=0, count=8),
        meta=BytesHandle(name="m", data=b"12345"),
        shared=(NamedHandle(name="1.sst", handle=FILE),),
        private=(NamedHandle(name="MANIFEST", handle=FILE),),
        code=11,
    )
    one = KeyGroupRange(first=3, count=1)
    assert keyed_bytes(snapshot, one) == 45
    untold = NamedHandle(name="2.sst", handle=replace(FILE, size=-1))
    assert keyed_bytes(replace(snapshot, shared=(untold,)), one) is None


def test_where_javas_order_is_unknown_nobody_is_given_anything() -> None:
    """It is said, not guessed; with the same parallelism the order does not matter."""
    states = dict.fromkeys(SAME_HASH, (1,))
    subtask = Subtask(index=0, managed_operator=handle(FILE, **states))
    operator = Operator(id="0" * 32, parallelism=1, max_parallelism=8, subtasks=(subtask,))
    assignment = redistribute(operator, 2)
    assert (assignment.subtasks, assignment.refused) == ((), None)
    assert "share a hash" in (assignment.unknown or "")
    assert redistribute(operator, 1).unknown is None
