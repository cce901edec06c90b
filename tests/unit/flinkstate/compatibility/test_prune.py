"""A pruned checkpoint: what is left out, and that nothing else changes."""

from dataclasses import replace

import pytest

from flinkstate.compatibility.comparison import (
    DeclarationComparison,
    FindingKind,
    OperatorRef,
    Unclaimed,
)
from flinkstate.compatibility.prune import pruned, pruned_bytes
from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.state.referenced_files import directories_of, files_of, handles_of
from flinkstate.values.handles import (
    BytesHandle,
    EmptySegmentHandle,
    FileHandle,
    MergedOperatorHandle,
    OperatorHandle,
    OperatorState,
    RelativeHandle,
    StateMode,
)
from flinkstate.values.metadata_values import Metadata, Operator, Subtask
from orphangc.errors import OrphanGcError
from unit.flinkstate.metadata.golden_files import GoldenFile, every_golden_file, golden

HERE = "s3a://bucket/sp-1"
ID = "00000000000000010000000000000002"


def comparison_of(*kinds: tuple[FindingKind, str, str | None]) -> DeclarationComparison:
    found = tuple(
        Unclaimed(
            kind=kind, operator=OperatorRef(id=id_, uid=None, name=None), state=state, bytes=0
        )
        for kind, id_, state in kinds
    )
    return DeclarationComparison(
        checkpoint_id=1,
        unclaimed=found,
        changed=(),
        replaced=(),
        uncompared=(),
        absent=(),
        missing=(),
    )


def one_operator(handle, **more) -> Metadata:
    subtask = Subtask(index=0, managed_operator=handle)
    operator = Operator(
        **{"id": ID, "parallelism": 1, "max_parallelism": 8, "subtasks": (subtask,)} | more
    )
    return Metadata(format_version=6, checkpoint_id=1, master_states=(), operators=(operator,))


STATES = tuple(
    OperatorState(name=name, mode=StateMode.UNION, offsets=offsets)
    for name, offsets in {"a": (9, 12), "b": (15,), "c": ()}.items()
)
HANDLE = OperatorHandle(states=STATES, delegate=RelativeHandle(name="n", size=20))
MERGED = MergedOperatorHandle(
    states=STATES,
    taskowned_directory="s3://b/t",
    shared_directory="s3://b/s",
    is_empty=False,
    delegate=EmptySegmentHandle(),
)


@every_golden_file
def test_with_nothing_unclaimed_only_relative_handles_change(file: GoldenFile) -> None:
    """They become absolute, with the same sizes; every other byte of every release stays."""
    original = read_metadata(file.data)
    data = pruned_bytes(original, comparison_of(), directory=HERE)
    again = read_metadata(data)
    assert not [each for each in handles_of(again.operators) if isinstance(each, RelativeHandle)]
    paths = {each.path: each.size for each in files_of(original, directory=HERE)}
    assert {each.path: each.size for each in files_of(again, directory="/elsewhere")} == paths
    if not [each for each in handles_of(original.operators) if isinstance(each, RelativeHandle)]:
        assert data == file.data


@every_golden_file
def test_without_an_operator_the_others_stay_as_they_are(file: GoldenFile) -> None:
    """And what the file refers to is a part of what it referred to."""
    original = read_metadata(file.data)
    gone = {
        each.id
        for each in original.operators[::2]
        if not any(sub.input_channels or sub.output_channels for sub in each.subtasks or ())
    }
    kinds = [(FindingKind.OPERATOR, each, None) for each in sorted(gone)]
    data = pruned_bytes(original, comparison_of(*kinds), directory=HERE)
    again = read_metadata(data)
    whole = read_metadata(pruned_bytes(original, comparison_of(), directory=HERE))
    assert again.operators == tuple(each for each in whole.operators if each.id not in gone)
    rest = replace(again, operators=(), variant=original.variant)
    assert rest == replace(original, operators=())
    paths = {each.path for each in files_of(original, directory=HERE)}
    assert paths.issuperset(read_references(data).paths)
    assert set(directories_of(original)).issuperset(read_references(data).directories)


@pytest.mark.parametrize("handle", [HANDLE, MERGED], ids=["plain", "merged"])
def test_one_of_several_states_goes_and_the_others_offsets_stay(handle) -> None:
    """The file is the same, so the offsets are."""
    found = pruned(
        one_operator(handle), comparison_of((FindingKind.OPERATOR_STATE, ID, "a")), directory=HERE
    ).operators[0]
    assert found.subtasks[0].managed_operator.states == STATES[1:]


def test_a_handle_without_any_state_left_goes() -> None:
    """Flink would register again what the file's own header lists."""
    every = comparison_of(*((FindingKind.OPERATOR_STATE, ID, each.name) for each in STATES))
    assert pruned(one_operator(HANDLE), every, directory=HERE).operators[0].subtasks == (
        Subtask(index=0),
    )
    left = pruned(one_operator(MERGED), every, directory=HERE).operators[0].subtasks[0]
    assert left.managed_operator == replace(MERGED, states=(), is_empty=True)


def test_a_handle_that_lists_no_state_stays() -> None:
    """Nothing of it was unclaimed."""
    empty = replace(HANDLE, states=())
    left = pruned(
        one_operator(empty), comparison_of((FindingKind.OPERATOR_STATE, ID, "a")), directory=HERE
    ).operators[0]
    assert left.subtasks[0].managed_operator.delegate == FileHandle(path=f"{HERE}/n", size=20)


def test_a_coordinators_state_goes_alone() -> None:
    """The operator's own stays."""
    original = one_operator(HANDLE, coordinator=BytesHandle(name="c", data=b"x"))
    kept = pruned(original, comparison_of(), directory=HERE).operators[0]
    left = pruned(
        original, comparison_of((FindingKind.COORDINATOR_STATE, ID, None)), directory=HERE
    ).operators[0]
    assert left == replace(kept, coordinator=None)
    assert kept.coordinator == original.operators[0].coordinator


def test_keyed_state_stays_whatever_is_unclaimed() -> None:
    """Its files hold all states of the operator."""
    original = read_metadata(golden("2.3.0/classic").data)
    found = comparison_of(*((FindingKind.KEYED_STATE, each.id, "x") for each in original.operators))
    whole = pruned(original, comparison_of(), directory=HERE)
    assert pruned(original, found, directory=HERE) == whole


def test_an_operator_with_records_in_flight_is_not_left_out() -> None:
    """Records that it has sent are still to reach the operators that stay."""
    original = read_metadata(golden("2.3.0/unaligned").data)
    gone = next(
        each.id
        for each in original.operators
        if any(sub.output_channels for sub in each.subtasks or ())
    )
    with pytest.raises(OrphanGcError, match="in flight"):
        pruned(original, comparison_of((FindingKind.OPERATOR, gone, None)), directory=HERE)


def test_what_cannot_be_written_is_an_error_of_ours() -> None:
    """A path too long for Java, say."""
    with pytest.raises(OrphanGcError, match="cannot be pruned"):
        pruned_bytes(one_operator(HANDLE), comparison_of(), directory="s3://" + 70_000 * "x")
