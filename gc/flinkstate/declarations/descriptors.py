"""Descriptors: declarations of single states, made before the job runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict, Unpack

from flinkstate.compatibility.declarations import (
    DeclaredOperatorState,
    KeyedState,
    KeyedStateType,
    RedistributionMode,
    is_timer,
)
from flinkstate.declarations.declaration_errors import DeclarationError, check_text


def _check_id(state_id: str, *, is_keyed: bool) -> None:
    check_text("a state's id", state_id, operator="")
    if not state_id.strip():
        raise DeclarationError("a state needs an id that is not blank", operator="", state=state_id)
    if is_keyed and is_timer(state_id):
        problem = f"{state_id!r} is a timer of Flink's own: it needs no declaration"
        raise DeclarationError(problem, operator="", state=state_id)


def _check_hints(state_id: str, hints: Mapping[str, str | None]) -> None:
    for word, hint in hints.items():
        if hint is not None:
            check_text(f"the {word} of state {state_id!r}", hint, operator="", state=state_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedStateDescriptor:
    """Declaration of a keyed state.

    Attributes:
        serializer: Hint for people: serializer of the values.
        queryable_name: Name under which other programs query the state.

    Raises:
        DeclarationError: The id is blank or a timer's, or an attribute is no text.
    """

    id: str
    type: KeyedStateType
    value_type: str | None = None
    serializer: str | None = None
    queryable_name: str | None = None

    def __post_init__(self) -> None:
        _check_id(self.id, is_keyed=True)
        hints = {
            "value type": self.value_type,
            "serializer": self.serializer,
            "queryable name": self.queryable_name,
        }
        _check_hints(self.id, hints)

    @property
    def kind(self) -> str:
        """Return what a person calls it."""
        return f"keyed {self.type} state"

    def declared(self) -> KeyedState:
        """Return its line of the manifest; the type stands in for a serializer's name."""
        return KeyedState(
            id=self.id,
            type=self.type,
            serializer=self.serializer or self.value_type,
            queryable_name=self.queryable_name,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorStateDescriptor:
    """Declaration of an operator state.

    Raises:
        DeclarationError: The id is blank, or an attribute is no text.
    """

    id: str
    redistribution: RedistributionMode
    value_type: str | None = None
    serializer: str | None = None

    def __post_init__(self) -> None:
        _check_id(self.id, is_keyed=False)
        _check_hints(self.id, {"value type": self.value_type, "serializer": self.serializer})

    @property
    def kind(self) -> str:
        """Return what a person calls it."""
        return f"operator state with {self.redistribution} redistribution"

    def declared(self) -> DeclaredOperatorState:
        """Return its line of the manifest; the type stands in for a serializer's name."""
        return DeclaredOperatorState(
            id=self.id,
            redistribution=self.redistribution,
            serializer=self.serializer or self.value_type,
        )


StateDescriptor = KeyedStateDescriptor | OperatorStateDescriptor


class _Hints(TypedDict, total=False):
    serializer: str | None


class _KeyedHints(_Hints, total=False):
    queryable_name: str | None


def value_state(
    state_id: str, value_type: str | None = None, **hints: Unpack[_KeyedHints]
) -> KeyedStateDescriptor:
    """Return the descriptor of one value for each key."""
    kind = KeyedStateType.VALUE
    return KeyedStateDescriptor(id=state_id, type=kind, value_type=value_type, **hints)


def list_state(
    state_id: str, element_type: str | None = None, **hints: Unpack[_KeyedHints]
) -> KeyedStateDescriptor:
    """Return the descriptor of a list for each key."""
    kind = KeyedStateType.LIST
    return KeyedStateDescriptor(id=state_id, type=kind, value_type=element_type, **hints)


def map_state(
    state_id: str, entry_type: str | None = None, **hints: Unpack[_KeyedHints]
) -> KeyedStateDescriptor:
    """Return the descriptor of a map for each key; ``entry_type`` reads ``str, int``."""
    kind = KeyedStateType.MAP
    return KeyedStateDescriptor(id=state_id, type=kind, value_type=entry_type, **hints)


def reducing_state(
    state_id: str, value_type: str | None = None, **hints: Unpack[_KeyedHints]
) -> KeyedStateDescriptor:
    """Return the descriptor of a value for each key, into which new values are reduced."""
    kind = KeyedStateType.REDUCING
    return KeyedStateDescriptor(id=state_id, type=kind, value_type=value_type, **hints)


def aggregating_state(
    state_id: str, accumulator_type: str | None = None, **hints: Unpack[_KeyedHints]
) -> KeyedStateDescriptor:
    """Return the descriptor of an accumulator for each key; Flink stores the accumulator."""
    kind = KeyedStateType.AGGREGATING
    return KeyedStateDescriptor(id=state_id, type=kind, value_type=accumulator_type, **hints)


def operator_list_state(
    state_id: str, element_type: str | None = None, **hints: Unpack[_Hints]
) -> OperatorStateDescriptor:
    """Return the descriptor of a list that Flink splits evenly among the subtasks."""
    mode = RedistributionMode.SPLIT
    return OperatorStateDescriptor(
        id=state_id, redistribution=mode, value_type=element_type, **hints
    )


def union_list_state(
    state_id: str, element_type: str | None = None, **hints: Unpack[_Hints]
) -> OperatorStateDescriptor:
    """Return the descriptor of a list that every subtask receives whole."""
    mode = RedistributionMode.UNION
    return OperatorStateDescriptor(
        id=state_id, redistribution=mode, value_type=element_type, **hints
    )


def broadcast_state(
    state_id: str, entry_type: str | None = None, **hints: Unpack[_Hints]
) -> OperatorStateDescriptor:
    """Return the descriptor of a map that is the same in every subtask."""
    mode = RedistributionMode.BROADCAST
    return OperatorStateDescriptor(id=state_id, redistribution=mode, value_type=entry_type, **hints)
