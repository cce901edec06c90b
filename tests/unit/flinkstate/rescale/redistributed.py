"""A redistribution as the Java program beside Flink reports it."""

from typing import Any

from flinkstate.metadata.reader import read_metadata
from flinkstate.rescale.assignment import AssignedKeyed, NewSubtask, StateAssignment, redistribute
from flinkstate.rescale.repartitioner import AssignedState
from flinkstate.state.key_groups import groups_of, intersection
from flinkstate.values.handles import (
    BytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    EmptySegmentHandle,
    FileHandle,
    IncrementalHandle,
    KeyedHandle,
    KeyGroupRange,
    KeyGroupsHandle,
    RelativeHandle,
    SegmentHandle,
    StreamHandle,
)

SLOTS = ("managed_operator", "raw_operator", "managed_keyed", "raw_keyed")


def answers(data: bytes, parallelisms: range) -> dict[str, Any]:
    """Return what we say of a checkpoint, in Flink's answer's form."""
    operators = read_metadata(data).operators
    return {
        str(parallelism): {
            each.id: _operator(redistribute(each, parallelism)) for each in operators
        }
        for parallelism in parallelisms
    }


def flinks(said: dict[str, Any]) -> dict[str, Any]:
    """Return Flink's answer without what we say in other words, and in one order."""
    return {
        parallelism: {operator: _flinks(assignment) for operator, assignment in operators.items()}
        for parallelism, operators in said.items()
    }


def _flinks(assignment: Any) -> Any:
    if isinstance(assignment, dict):
        return "refused"
    if all(each.get("finished") for each in assignment):
        return "finished"
    return [{slot: _in_order(states) for slot, states in each.items()} for each in assignment]


def _operator(assignment: StateAssignment) -> Any:
    if assignment.refused:
        return "refused"
    if assignment.operator.is_fully_finished:
        return "finished"
    unions = {"managed_operator": assignment.managed_unions, "raw_operator": assignment.raw_unions}
    common = {slot: [_assigned(each) for each in states] for slot, states in unions.items()}
    return [_subtask(each, common) for each in assignment.subtasks]


def _subtask(assignment: NewSubtask, common: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    slots = {
        slot: [*(_assigned(each) for each in getattr(assignment, slot)), *common.get(slot, ())]
        for slot in SLOTS
    }
    return {slot: _in_order(states) for slot, states in slots.items() if states}


def _in_order(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(states, key=repr)


def _assigned(assignment: AssignedState | AssignedKeyed) -> dict[str, Any]:
    if isinstance(assignment, AssignedKeyed):
        return _keyed(assignment.handle, assignment.groups)
    return {
        "handle": _stream(assignment.delegate),
        "mode": assignment.mode.name,
        "name": assignment.name,
        "offsets": list(assignment.offsets),
    }


def _keyed(handle: KeyedHandle, taken: KeyGroupRange) -> dict[str, Any]:
    held = groups_of(handle)
    match handle:
        case KeyGroupsHandle():
            first = taken.first - held.first
            return {
                "handle": _stream(handle.delegate),
                "key_groups": _range(taken),
                "offsets": list(handle.groups.offsets[first : first + taken.count]),
            }
        case IncrementalHandle():  # Flink hands it over whole
            return {"handle": _stream(handle.meta), "key_groups": _range(held)}
        case ChangelogHandle():
            return {
                "increments": _parts(handle.increments, taken),
                "key_groups": _range(taken),
                "materialized": _parts(handle.materialized, taken),
            }
        case ChangelogFilesHandle():
            files = [_stream(each.handle) for each in handle.files]
            return {"handles": files, "key_groups": _range(taken)}
    return {"key_groups": _range(taken)}


def _parts(handles: tuple[KeyedHandle | None, ...], taken: KeyGroupRange) -> list[dict[str, Any]]:
    return [
        _keyed(each, common)
        for each in handles
        if each and (common := intersection(groups_of(each), taken))
    ]


def _range(groups: KeyGroupRange) -> list[int]:
    return [groups.first, groups.first + groups.count - 1]


def _stream(handle: StreamHandle) -> str:
    match handle:
        case BytesHandle():
            return f"bytes {handle.name}"
        case FileHandle():
            return f"file {handle.path}"
        case RelativeHandle():
            return f"relative {handle.name}"
        case SegmentHandle():
            return f"segment {handle.path} {handle.start} {handle.size}"
        case EmptySegmentHandle():
            return "empty-segment"
        case KeyGroupsHandle():
            return _stream(handle.delegate)
