"""``inspect --rescale-to``: the state of each new subtask, as a document and as tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.errors import SettingsError
from flinkstate.rescale.assignment import (
    AssignedKeyed,
    NewSubtask,
    StateAssignment,
    redistribute,
    sizes_of,
)
from flinkstate.rescale.extraction import find_operator
from flinkstate.rescale.repartitioner import AssignedState
from flinkstate.state.key_groups import MAX_PARALLELISM, known_sum
from flinkstate.tables.checkpoint_view import RescaledOperator
from flinkstate.text.shown_text import counted, human_bytes, visible
from flinkstate.values.handles import KeyGroupRange, StateMode
from flinkstate.values.metadata_values import Metadata

_Document = dict[str, Any]
_NAMES = {mode: mode.name for mode in StateMode}
_WORDS = {name: name.split("_")[0].lower() for name in _NAMES.values()}
_MANY, _FEW, _TOGETHER = 16, 2, 160
"""Maximum and minimum number of new subtasks that a table shows, and of all tables together;
documents and pages show more.
"""
_MOST_SUBTASKS = 1 << 20
"""Maximum number of new subtasks of all operators: each takes some hundred bytes."""
_NONE_MOVED = "in-flight data moves as the job partitions its streams, which no checkpoint records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaling:
    """New parallelisms.

    Attributes:
        every: Parallelism of every operator without one of its own; ``None``: it keeps its own.
        operators: Parallelism of single operators, by id, uid or name.
    """

    every: int | None = None
    operators: Mapping[str, int] = field(default_factory=dict)


def rescaling_from(texts: Sequence[str]) -> Rescaling:
    """Return the parallelisms that options ``N`` and ``OPERATOR=N`` state.

    Raises:
        SettingsError: An option has another form, or Flink knows no such parallelism; or two
            options are about the same.
    """
    every: int | None = None
    operators: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        parallelism = int(number) if number.isdecimal() and number.isascii() else 0
        if not 1 <= parallelism <= MAX_PARALLELISM or (equals and not name):
            raise SettingsError(
                f"new parallelism {text!r}: give N, or OPERATOR=N, with N from 1 to"
                f" {MAX_PARALLELISM}"
            )
        if name in operators or (not name and every is not None):
            raise SettingsError(
                f"new parallelism {text!r}: a second parallelism of the same operators"
            )
        if name:
            operators[name] = parallelism
        else:
            every = parallelism
    return Rescaling(every=every, operators=operators)


def rescaled_document(metadata: Metadata, rescaling: Rescaling) -> _Document:
    """Return the distribution of every operator's state at new parallelisms.

    ``from_subtask`` is the old subtask, ``offsets`` and ``sizes`` are those of its handle in
    ``operators``. Sizes and bytes are null where a handle does not give them. Every new subtask
    gets a union state whole: ``union_states`` lists it once for the operator, and each subtask
    has one entry of it, whose ``from_subtask``, ``offsets`` and ``sizes`` are null.

    Raises:
        SettingsError: The checkpoint has no such operator, or several; or there are too many new
            subtasks.
    """
    by_id = {
        find_operator(metadata, name).id: parallelism
        for name, parallelism in rescaling.operators.items()
    }
    asked = [
        by_id.get(each.id) or rescaling.every or each.parallelism for each in metadata.operators
    ]
    together = sum(each for each in asked if 0 < each <= MAX_PARALLELISM)
    if together > _MOST_SUBTASKS:
        raise SettingsError(
            f"{together:,} new subtasks: more than {_MOST_SUBTASKS:,} are not shown"
        )
    pairs = zip(metadata.operators, asked, strict=True)
    return {
        "parallelism": rescaling.every,
        "operators": [_operator(redistribute(*pair)) for pair in pairs],
    }


def rescaling_problems(document: _Document) -> list[tuple[bool, str]]:
    """Return what cannot be restored so, or is unknown: whether Flink refuses it, and why."""
    return [
        (operator["refused"] is not None, operator["refused"] or operator["unknown"])
        for operator in document["operators"]
        if operator["refused"] or operator["unknown"]
    ]


def _operator(assignment: StateAssignment) -> _Document:
    operator = assignment.operator
    unions = {
        "operator_states": _Unions.of(assignment.managed_unions),
        "raw_operator_states": _Unions.of(assignment.raw_unions),
    }
    return {
        "id": operator.id,
        "uid": operator.uid,
        "name": operator.name,
        "parallelism": operator.parallelism,
        "new_parallelism": assignment.parallelism,
        "max_parallelism": operator.max_parallelism,
        "fully_finished": operator.is_fully_finished,
        "refused": assignment.refused,
        "unknown": assignment.unknown,
        "moves_in_flight_data": assignment.moves_in_flight,
        "union_states": _states(assignment.managed_unions),
        "raw_union_states": _states(assignment.raw_unions),
        "subtasks": [_subtask(each, unions) for each in assignment.subtasks],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unions:
    entries: tuple[_Document, ...]
    bytes: int | None

    @classmethod
    def of(cls, states: Sequence[AssignedState]) -> Self:
        parts: dict[str, list[AssignedState]] = {}
        for state in states:
            parts.setdefault(state.name, []).append(state)
        entries: tuple[_Document, ...] = tuple(
            {
                "name": name,
                "mode": StateMode.UNION.name,
                "from_subtask": None,
                "offsets": None,
                "sizes": None,
                "partitions": sum(len(each.offsets) for each in parts[name]),
                "bytes": known_sum(sizes_of(parts[name])),
            }
            for name in sorted(parts)
        )
        return cls(entries=entries, bytes=known_sum(each["bytes"] for each in entries))


def _subtask(subtask: NewSubtask, unions: Mapping[str, _Unions]) -> _Document:
    own = {
        "operator_states": _states(subtask.managed_operator),
        "raw_operator_states": _states(subtask.raw_operator),
    }
    return {
        "index": subtask.index,
        "key_groups": _range(subtask.groups),
        "bytes": known_sum((subtask.bytes, *(each.bytes for each in unions.values()))),
        **{name: [*states, *unions[name].entries] for name, states in own.items()},
        "keyed_states": _keyed(subtask.managed_keyed),
        "raw_keyed_states": _keyed(subtask.raw_keyed),
    }


def _range(groups: KeyGroupRange) -> list[int]:
    return [groups.first, groups.first + groups.count - 1]


def _states(states: Iterable[AssignedState]) -> list[_Document]:
    return [
        {
            "name": state.name,
            "mode": _NAMES[state.mode],
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
    shown = rescaled_rows(document)
    many = max(_FEW, min(_MANY, _TOGETHER // max(1, len(shown))))
    return [_operator_table(each, many) for each in shown]


def rescaled_rows(document: _Document) -> list[RescaledOperator]:
    """Return the operators with state of a document of ``rescaled_document``."""
    return [
        _rows_of(operator)
        for operator in document["operators"]
        if operator["refused"] or operator["unknown"] or any(map(_given, operator["subtasks"]))
    ]


def _rows_of(operator: _Document) -> RescaledOperator:
    label = visible(operator["uid"] or operator["name"] or operator["id"])
    new = operator["new_parallelism"]
    head = f"{label}: from {operator['parallelism']} to {counted(new, 'subtask')}"
    if problem := operator["refused"] or operator["unknown"]:
        return RescaledOperator(head=head, problem=visible(problem))
    return RescaledOperator(
        head=head,
        caption=_NONE_MOVED if operator["moves_in_flight_data"] else "",
        subtasks=len(operator["subtasks"]),
        rows=tuple(row for each in operator["subtasks"] for row in _subtask_rows(each)),
    )


def _subtask_rows(subtask: _Document) -> list[tuple[str, str, str, str, str]]:
    first, last = subtask["key_groups"]
    given = _given(subtask) or [("nothing", "", "")]
    leads = [(str(subtask["index"]), f"{first}-{last}"), *[("", "")] * (len(given) - 1)]
    rows = [(*lead, *row) for lead, row in zip(leads, given, strict=True)]
    if len(given) > 1:
        rows.append(("", "", f"{len(given)} parts", "", _size(subtask["bytes"])))
    return rows


def _operator_table(operator: RescaledOperator, many: int) -> RenderableType:
    if operator.problem:
        return Text(f"{operator.head}: {operator.problem}")
    table = Table(
        *("new subtask", "key groups", "is given", "of", "size"),
        title=operator.head,
        caption="; ".join(filter(None, (_left_out(operator, many), operator.caption))) or None,
    )
    for row in operator.first_rows(many):
        table.add_row(*map(Text, row))
    return table


def _left_out(operator: RescaledOperator, many: int) -> str:
    if operator.subtasks <= many:
        return ""
    return f"the first {many} of {operator.subtasks:,}; --output json has all"


def _given(subtask: _Document) -> list[tuple[str, str, str]]:
    return [
        *(_state_row(each, "") for each in subtask["operator_states"]),
        *(_state_row(each, "raw ") for each in subtask["raw_operator_states"]),
        *(_keyed_row(each, "keyed") for each in subtask["keyed_states"]),
        *(_keyed_row(each, "raw keyed") for each in subtask["raw_keyed_states"]),
    ]


def _state_row(state: _Document, prefix: str) -> tuple[str, str, str]:
    what = f"{prefix}{_WORDS[state['mode']]} {visible(state['name'])}"
    if state["offsets"] is None:
        every = f"{what}: all {counted(state['partitions'], 'partition')} of all subtasks"
        return every, "all", _size(state["bytes"])
    count = counted(len(state["offsets"]), "partition")
    return f"{what}: {count}", str(state["from_subtask"]), _size(known_sum(state["sizes"]))


def _keyed_row(state: _Document, word: str) -> tuple[str, str, str]:
    first, last = state["key_groups"]
    return f"{word}, key groups {first}-{last}", str(state["from_subtask"]), _size(state["bytes"])


def _size(size: int | None) -> str:
    return "unknown" if size is None else human_bytes(size)
