"""``inspect --rescale-to``: the state of each new subtask, as a document and as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from orphangc.app.console.text import human_bytes, visible
from orphangc.flink.rescale.assignment import (
    AssignedKeyed,
    NewSubtask,
    StateAssignment,
    redistribute,
)
from orphangc.flink.rescale.repartitioner import AssignedState
from orphangc.flink.values.handles import KeyGroupRange, StateMode
from orphangc.flink.values.metadata_values import Metadata

_Document = dict[str, Any]
_WORDS = {mode.name: mode.name.split("_")[0].lower() for mode in StateMode}
_NONE_MOVED = "in-flight data moves as the job partitions its streams, which no checkpoint records"


def rescaled_document(metadata: Metadata, parallelism: int) -> _Document:
    """Return the distribution of every operator's state at a new parallelism.

    ``from_subtask`` is the old subtask, ``offsets`` and ``sizes`` are those of its handle in
    ``operators``. Sizes and bytes are null where a handle does not give them.

    Args:
        metadata: Metadata of the checkpoint.
        parallelism: New parallelism of every operator.

    """
    return {
        "parallelism": parallelism,
        "operators": [_operator(redistribute(each, parallelism)) for each in metadata.operators],
    }


def _operator(told: StateAssignment) -> _Document:
    operator = told.operator
    return {
        "id": operator.id,
        "uid": operator.uid,
        "name": operator.name,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "fully_finished": operator.is_fully_finished,
        "refused": told.refused,
        "unknown": told.unknown,
        "moves_in_flight_data": told.moves_in_flight,
        "subtasks": [_subtask(each) for each in told.subtasks],
    }


def _subtask(told: NewSubtask) -> _Document:
    return {
        "index": told.index,
        "key_groups": _range(told.groups),
        "bytes": told.bytes,
        "operator_states": _states(told.managed_operator),
        "raw_operator_states": _states(told.raw_operator),
        "keyed_states": _keyed(told.managed_keyed),
        "raw_keyed_states": _keyed(told.raw_keyed),
    }


def _range(groups: KeyGroupRange) -> list[int]:
    """Return first and last key group."""
    return [groups.first, groups.first + groups.count - 1]


def _states(states: Iterable[AssignedState]) -> list[_Document]:
    return [
        {
            "name": state.name,
            "mode": state.mode.name,
            "from_subtask": state.from_subtask,
            "offsets": list(state.offsets),
            "sizes": list(state.sizes),
        }
        for state in sorted(states, key=lambda state: (state.name, state.from_subtask))
    ]


def _keyed(states: Iterable[AssignedKeyed]) -> list[_Document]:
    return [
        {
            "key_groups": _range(state.groups),
            "from_subtask": state.from_subtask,
            "bytes": state.bytes,
        }
        for state in states
    ]


def rescaled_tables(document: _Document) -> list[RenderableType]:
    """Return a document of ``rescaled_document`` as tables, one for each operator with state."""
    return [
        shown
        for operator in document["operators"]
        if operator["refused"] or operator["unknown"] or _has_state(operator)
        for shown in _operator_tables(operator, document["parallelism"])
    ]


def _has_state(operator: _Document) -> bool:
    return any(_given(subtask) for subtask in operator["subtasks"])


def _operator_tables(operator: _Document, parallelism: int) -> list[RenderableType]:
    label = visible(operator["uid"] or operator["name"] or operator["id"])
    head = f"{label}: from {operator['parallelism']} to {parallelism} subtasks"
    if problem := operator["refused"] or operator["unknown"]:
        return [Text(f"{head}: {visible(problem)}")]
    caption = _NONE_MOVED if operator["moves_in_flight_data"] else None
    table = Table(
        "new subtask", "key groups", "is given", "of", "size", title=head, caption=caption
    )
    for subtask in operator["subtasks"]:
        first, last = subtask["key_groups"]
        lead = (str(subtask["index"]), f"{first}-{last}")
        rows = _given(subtask) or [("nothing", "", "")]
        for what, source, size in rows:
            table.add_row(*lead, Text(what), source, size)
            lead = ("", "")
        if len(rows) > 1:
            table.add_row("", "", f"{len(rows)} parts", "", _size(subtask["bytes"]))
    return [table]


def _given(subtask: _Document) -> list[tuple[str, str, str]]:
    """Return the state that a subtask is given: its kind, its old subtask, and its size."""
    return [
        *(_state_row(each, "") for each in subtask["operator_states"]),
        *(_state_row(each, "raw ") for each in subtask["raw_operator_states"]),
        *(_keyed_row(each, "keyed") for each in subtask["keyed_states"]),
        *(_keyed_row(each, "raw keyed") for each in subtask["raw_keyed_states"]),
    ]


def _state_row(state: _Document, prefix: str) -> tuple[str, str, str]:
    count = len(state["offsets"])
    partitions = "partition" if count == 1 else "partitions"
    what = f"{prefix}{_WORDS[state['mode']]} {visible(state['name'])}: {count} {partitions}"
    sizes = state["sizes"]
    return what, str(state["from_subtask"]), _size(None if None in sizes else sum(sizes))


def _keyed_row(state: _Document, word: str) -> tuple[str, str, str]:
    first, last = state["key_groups"]
    return f"{word}, key groups {first}-{last}", str(state["from_subtask"]), _size(state["bytes"])


def _size(size: int | None) -> str:
    return "unknown" if size is None else human_bytes(size)
