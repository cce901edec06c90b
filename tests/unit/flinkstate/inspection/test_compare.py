"""What two checkpoints share: the same bytes at the same place, and nothing else."""

from flinkstate.inspection.compare import CheckpointComparison, FileAmount, Side, compared
from flinkstate.places.locations import parse_alias
from flinkstate.state.contents import (
    KeyedStateContents,
    KeyedStateKind,
    OperatorContents,
    OperatorStateContents,
)
from flinkstate.values import handles
from flinkstate.values import metadata_values as model
from flinkstate.values.handles import StateMode


def file(path: str, size: int = 10) -> handles.FileHandle:
    return handles.FileHandle(path=path, size=size)


def inline(data: bytes) -> handles.BytesHandle:
    return handles.BytesHandle(name="n", data=data)


def segment(start: int, path: str = "/s/merged") -> handles.SegmentHandle:
    return handles.SegmentHandle(
        path=path, start=start, size=4, scope=handles.SegmentScope.SHARED, logical_id="l"
    )


def operator(number: int, *delegates, coordinator=None) -> model.Operator:
    subtasks = tuple(
        model.Subtask(index=n, managed_operator=handles.OperatorHandle(states=(), delegate=each))
        for n, each in enumerate(delegates)
    )
    return model.Operator(
        id=f"{number:032}",
        parallelism=2,
        max_parallelism=128,
        subtasks=subtasks,
        coordinator=coordinator,
    )


def held(each: model.Operator, *, states=(), keyed=(), unknown=None) -> OperatorContents:
    return OperatorContents(
        id=each.id,
        uid=None,
        name=f"op {int(each.id)}",
        parallelism=2,
        max_parallelism=128,
        operator_states=tuple(
            OperatorStateContents(
                name=name, mode=StateMode.UNION, partitions=1, bytes=1, subtasks=(0,)
            )
            for name in states
        ),
        keyed_states=tuple(
            KeyedStateContents(name=name, kind=KeyedStateKind.VALUE) for name in keyed
        ),
        keyed_unknown=unknown,
    )


def side(*operators: model.Operator, contents=None, directory="/s", aliases=()) -> Side:
    metadata = model.Metadata(
        format_version=6, checkpoint_id=7, master_states=(), operators=operators
    )
    return Side(
        metadata=metadata,
        operators=contents or tuple(held(each) for each in operators),
        directory=directory,
        aliases=aliases,
    )


def amounts(comparison: CheckpointComparison) -> tuple[FileAmount, FileAmount, FileAmount]:
    every = comparison.amounts
    return every.shared, every.added, every.dropped


NOTHING = FileAmount(files=0, bytes=0)


def test_a_checkpoint_shares_all_files_with_itself() -> None:
    """Blobs inside the metadata are never shared."""
    one = side(operator(1, file("/s/a"), file("/s/a"), inline(b"123"), coordinator=inline(b"12")))
    found = compared(one, one)
    assert amounts(found) == (FileAmount(files=1, bytes=10), NOTHING, NOTHING)
    assert (found.amounts.inline, found.amounts.other_inline) == (5, 5)
    assert found.operators[0].amounts == found.amounts


def test_what_is_added_and_what_is_dropped() -> None:
    """Of the whole and of each operator; another operator's file counts for both."""
    new = side(operator(1, file("/s/a"), file("/s/b", 20)), operator(2, file("/s/c", 40)))
    old = side(operator(1, file("/s/a"), file("/s/c", 40)), operator(3, file("/s/d", 80)))
    found = compared(new, old)
    assert amounts(found) == (
        FileAmount(files=2, bytes=50),
        FileAmount(files=1, bytes=20),
        FileAmount(files=1, bytes=80),
    )
    first, second, third = found.operators
    assert (first.amounts.shared.bytes, first.amounts.added.bytes) == (10, 20)
    assert first.amounts.dropped.bytes == 40
    assert (second.is_added, second.is_dropped) == (True, False)
    assert (third.is_added, third.is_dropped) == (False, True)


def test_spellings_and_aliases_of_one_place_are_one() -> None:
    """Paths in metadata are as the job saw them, relative ones as the reader does."""
    new = side(operator(1, file("file:/s/a"), file("s3a://b/x")))
    old = side(
        operator(1, handles.RelativeHandle(name="a", size=10), file("s3://b/x")), directory="/s"
    )
    assert compared(new, old).amounts.shared == FileAmount(files=2, bytes=20)
    moved = side(operator(1, file("s3://old/a")), aliases=(parse_alias("s3://old=/s"),))
    assert compared(moved, old).amounts.shared.files == 1


def test_segments_of_one_file_are_told_apart() -> None:
    """The file lies on both sides; its bytes do not."""
    found = compared(side(operator(1, segment(0), segment(4))), side(operator(1, segment(4))))
    assert amounts(found) == (FileAmount(files=1, bytes=4), FileAmount(files=1, bytes=4), NOTHING)


def test_a_path_that_is_no_place_is_compared_as_it_is() -> None:
    """Nothing a file says may stop the others from being compared."""
    one = side(operator(1, file("relative/a\ud800")))
    assert compared(one, one).amounts.shared.files == 1


def test_states_that_came_and_went() -> None:
    """Where one side's keyed names are not all known, absence says nothing."""
    this, that = operator(1, file("/s/a")), operator(1, file("/s/a"))
    new = held(this, states=("o1", "o2"), keyed=("k1", "k2"))
    old = held(that, states=("o1", "o0"), keyed=("k1", "k0"))
    (found,) = compared(side(this, contents=(new,)), side(that, contents=(old,))).operators
    assert (found.states_added, found.states_dropped) == (("k2", "o2"), ("k0", "o0"))
    assert found.states_unknown == ()
    doubtful = held(that, keyed=("k1", "k0"), unknown="gone")
    (found,) = compared(side(this, contents=(new,)), side(that, contents=(doubtful,))).operators
    assert (found.states_added, found.states_dropped) == (("o1", "o2"), ("k0",))
    assert found.states_unknown == ("k2",)
