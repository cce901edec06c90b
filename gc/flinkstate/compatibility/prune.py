"""Prunes unclaimed state from the metadata of a checkpoint.

Keyed state in part is in files that hold all states of a subtask: the caller rewrites them, and
gives their handles.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

from flinkstate.compatibility.comparison import DeclarationComparison, FindingKind
from flinkstate.errors import FlinkStateError
from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.metadata.writer import write_metadata
from flinkstate.state.referenced_files import absolute_path, directories_of, files_of
from flinkstate.values.handles import (
    EmptySegmentHandle,
    FileHandle,
    KeyedHandle,
    KeyGroupsHandle,
    MergedOperatorHandle,
    OperatorStateHandle,
    RelativeHandle,
)
from flinkstate.values.metadata_values import Metadata, Operator

KeyedHandles = Mapping[tuple[str, int], KeyedHandle]
"""New handles of keyed state, by operator id and index of the subtask."""


def pruned_bytes(
    metadata: Metadata,
    comparison: DeclarationComparison,
    *,
    directory: str,
    keyed: KeyedHandles = MappingProxyType({}),
) -> bytes:
    """Return the ``_metadata`` of the pruned checkpoint, parsed again and checked.

    Args:
        directory: Directory of its relative files, as Flink will address it.
        keyed: New handles of keyed state; their relative files are beside the new metadata.

    Raises:
        FlinkStateError: The metadata cannot be pruned, or the result refers to a file to which the
            original does not refer.
    """
    wanted = pruned(metadata, comparison, directory=directory, keyed=keyed)
    try:
        data = write_metadata(wanted)
    except ValueError as err:
        raise FlinkStateError(f"{directory} cannot be pruned: {err}") from err
    _check(data, wanted, metadata, directory, new=_new_files(keyed))
    return data


def pruned(
    metadata: Metadata,
    comparison: DeclarationComparison,
    *,
    directory: str,
    keyed: KeyedHandles = MappingProxyType({}),
) -> Metadata:
    """Return the metadata without unclaimed operators, operator states and coordinator states.

    Relative handles become absolute, so that the result can be in another directory than the
    files. Nothing else changes, including the format version.

    Raises:
        FlinkStateError: An operator to prune has in-flight records. These belong to the operators
            downstream, which would lose them.

    Source: Flink 1.15-2.3, ``FileStateHandle``: every version restores absolute handles from
    every slot that allows a relative one.
    """
    found = comparison.unclaimed
    gone = {each.operator.id for each in found if each.kind is FindingKind.OPERATOR}
    orphaned = {each.operator.id for each in found if each.kind is FindingKind.COORDINATOR_STATE}
    states: dict[str, set[str | None]] = {}
    for each in found:
        if each.kind is FindingKind.OPERATOR_STATE:
            states.setdefault(each.operator.id, set()).add(each.state)
    for operator in metadata.operators:
        if operator.id in gone and any(each.has_in_flight_data for each in operator.subtasks or ()):
            raise FlinkStateError(
                f"{directory} cannot be pruned: records were in flight through operator"
                f" {operator.uid or operator.id} (unaligned checkpoint); take a savepoint, and"
                " prune that"
            )
    kept = tuple(
        _without(
            operator, states=states.get(operator.id, ()), loses_coordinator=operator.id in orphaned
        )
        for operator in metadata.operators
        if operator.id not in gone
    )
    moved = _absolute(kept, directory)
    return replace(metadata, operators=tuple(_with_keyed(each, keyed) for each in moved))


def _with_keyed(operator: Operator, keyed: KeyedHandles) -> Operator:
    if operator.subtasks is None or not any(id_ == operator.id for id_, _ in keyed):
        return operator
    return replace(
        operator,
        subtasks=tuple(
            replace(each, managed_keyed=keyed.get((operator.id, each.index), each.managed_keyed))
            for each in operator.subtasks
        ),
    )


def _without(
    operator: Operator, *, states: Collection[str | None], loses_coordinator: bool
) -> Operator:
    subtasks = operator.subtasks
    if subtasks is not None and states:
        subtasks = tuple(
            replace(each, managed_operator=_without_states(each.managed_operator, states))
            for each in subtasks
        )
    coordinator = None if loses_coordinator else operator.coordinator
    return replace(operator, subtasks=subtasks, coordinator=coordinator)


def _without_states(
    handle: OperatorStateHandle | None, names: Collection[str | None]
) -> OperatorStateHandle | None:
    """Return the handle without some states; offsets of the others do not change.

    A handle without remaining states is removed, or Flink would read its file and register the
    states in the file's own header. A handle of merged files is replaced by the empty handle that
    Flink writes, because its directories are state of their own.

    Source: Flink 1.8-2.3, ``OperatorStateRestoreOperation.restore``; 1.20-2.3,
    ``EmptyFileMergingOperatorStreamStateHandle``.
    """
    if handle is None:
        return None
    left = tuple(each for each in handle.states if each.name not in names)
    if left or not handle.states:
        return replace(handle, states=left)
    if isinstance(handle, MergedOperatorHandle):
        return replace(handle, states=(), is_empty=True, delegate=EmptySegmentHandle())
    return None


def _absolute(value: Any, directory: str) -> Any:
    if isinstance(value, RelativeHandle):
        return FileHandle(path=absolute_path(directory, value.name), size=value.size)
    if isinstance(value, tuple):
        if value and isinstance(value[0], int):  # offsets, by the thousand
            return value
        return tuple(_absolute(each, directory) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            each.name: new
            for each in fields(value)
            if (new := _absolute(old := getattr(value, each.name), directory)) is not old
        }
        return replace(value, **changed) if changed else value
    return value


def _check(
    data: bytes, wanted: Metadata, original: Metadata, directory: str, *, new: Collection[str]
) -> None:
    """Raise unless the bytes encode what is wanted and name no other file: a bug of ours.

    Relative ones are the new files of keyed state.
    """
    references = read_references(data)
    files = {each.path for each in files_of(original, directory=directory)}
    is_sound = (
        replace(read_metadata(data), variant=wanted.variant) == wanted
        and set(references.relative_names) == set(new)
        and files.issuperset(references.paths)
        and set(directories_of(original)).issuperset(references.directories)
    )
    if not is_sound:
        raise FlinkStateError(
            f"{directory} cannot be pruned: what was written is not what was meant (a bug);"
            " nothing was kept of it"
        )


def _new_files(keyed: KeyedHandles) -> set[str]:
    delegates = (each.delegate for each in keyed.values() if isinstance(each, KeyGroupsHandle))
    return {each.name for each in delegates if isinstance(each, RelativeHandle)}
