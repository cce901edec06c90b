"""Finds the partitions of one operator state in a checkpoint."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flinkstate.errors import FlinkStateError, SettingsError
from flinkstate.operator_ids import operator_id
from flinkstate.state.partitions import partition_sizes, states_of, stream_size
from flinkstate.values.handles import OperatorStateHandle, StateMode, StreamHandle
from flinkstate.values.metadata_values import Metadata, Operator

_KINDS = ("managed", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPartition:
    """One partition of an operator state.

    Attributes:
        kind: Kind of the state: ``managed`` or ``raw``.
        offset: Offset of the first byte in the stream.
        size: Size in bytes; None if the partition extends to the end of a file of unknown size.
    """

    kind: str
    subtask: int
    number: int
    mode: StateMode
    delegate: StreamHandle
    offset: int
    size: int | None


def find_operator(metadata: Metadata, wanted: str) -> Operator:
    """Return an operator by its id, its uid, or its name.

    Before Flink 2.0 checkpoints hold no uids: the id computed from the uid finds the operator.

    Raises:
        SettingsError: No operator or more than one operator matches.
    """
    readings = (
        [each for each in metadata.operators if each.id == wanted.lower()],
        [each for each in metadata.operators if each.uid == wanted],
        [each for each in metadata.operators if each.id == operator_id(wanted)],
        [each for each in metadata.operators if each.name == wanted],
    )
    found = next((reading for reading in readings if reading), [])
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(each.id for each in found)
        raise SettingsError(f"several operators are called {wanted!r}: give an id of {ids}")
    known = ", ".join(_label(each) for each in metadata.operators) or "none"
    names = [name for each in metadata.operators for name in (each.uid, each.name) if name]
    close = difflib.get_close_matches(wanted, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise SettingsError(f"the checkpoint has no operator {wanted!r}; {hint}it has: {known}")


def _label(operator: Operator) -> str:
    names = [repr(each) for each in (operator.uid, operator.name) if each]
    return f"{operator.id} ({', '.join(names)})" if names else operator.id


def find_partitions(
    operator: Operator, state: str, *, subtask: int | None = None
) -> tuple[FoundPartition, ...]:
    """Return the partitions of an operator state, managed before raw, subtask by subtask.

    Raises:
        SettingsError: The operator has no such state, or the subtask lists none.
        FlinkStateError: The end of a partition is unknown.
    """
    subtasks = tuple(
        sorted({index for _, index, handle in _handles(operator) if state in states_of(handle)})
    )
    if not subtasks:
        names = sorted({name for _, _, handle in _handles(operator) for name in states_of(handle)})
        raise SettingsError(
            f"operator {_label(operator)} has no operator state {state!r};"
            f" it has: {', '.join(map(repr, names)) or 'none'}"
        )
    if subtask is not None and subtask not in subtasks:
        raise SettingsError(
            f"subtask {subtask} of operator {_label(operator)} has no operator state {state!r};"
            f" these have: {', '.join(map(str, subtasks))}"
        )
    return tuple(
        found
        for kind, index, handle in _handles(operator)
        if subtask in {None, index} and state in states_of(handle)
        for found in _partitions(kind, index, handle, state)
    )


def _handles(operator: Operator) -> Iterator[tuple[str, int, OperatorStateHandle]]:
    subtasks = sorted(operator.subtasks or (), key=lambda each: each.index)
    for kind in _KINDS:
        for each in subtasks:
            handle = each.managed_operator if kind == "managed" else each.raw_operator
            if handle:
                yield kind, each.index, handle


def _partitions(
    kind: str, index: int, handle: OperatorStateHandle, name: str
) -> Iterable[FoundPartition]:
    state = states_of(handle)[name]
    last = max(offset for each in handle.states for offset in each.offsets or (0,))
    is_open = stream_size(handle.delegate) is None
    sizes = partition_sizes(handle)[name]
    for number, (offset, size) in enumerate(zip(state.offsets, sizes, strict=True)):
        if size is None and not (is_open and offset == last):
            raise FlinkStateError(
                f"nobody can tell where partition {number} of {name!r} of subtask {index} ends:"
                f" it begins at byte {offset}, as another state does, or behind the end"
            )
        yield FoundPartition(
            kind=kind,
            subtask=index,
            number=number,
            mode=state.mode,
            delegate=handle.delegate,
            offset=offset,
            size=size,
        )
