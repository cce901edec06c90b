"""Descriptors: what a job says of one state before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orphangc.declarations.declaration_errors import DeclarationError, check_text
from orphangc.flink.compatibility.declarations import (
    DeclaredOperatorState,
    KeyedState,
    KeyedStateType,
    RedistributionMode,
    is_timer,
)


def _check_id(state_id: str, *, is_keyed: bool) -> None:
    check_text("a state's id", state_id, operator="")
    if not state_id.strip():
        raise DeclarationError("a state needs an id that is not blank", operator="", state=state_id)
    if is_keyed and is_timer(state_id):
        problem = f"{state_id!r} is a timer of Flink's own, which nobody declares"
        raise DeclarationError(problem, operator="", state=state_id)


def _check_hints(state_id: str, hints: Mapping[str, str | None]) -> None:
    for word, hint in hints.items():
        if hint is not None:
            check_text(f"the {word} of state {state_id!r}", hint, operator="", state=state_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedStateDescriptor:
    """A state that the job keeps for each key.

    Attributes:
        id: Name that it is registered and found by.
        type: What it is to the job.
        value_type: What it holds, as text; None if nobody says.
        serializer: Hint for people: what writes its values.
        queryable_name: Name that it can be queried by from outside.

    Raises:
        DeclarationError: The id is blank, or that of a timer; or something is no text.

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
    """A state that the job keeps for each subtask.

    Attributes:
        id: Name that it is registered and found by.
        redistribution: What becomes of it when the parallelism changes.
        value_type: What it holds, as text; None if nobody says.
        serializer: Hint for people: what writes its elements.

    Raises:
        DeclarationError: The id is blank; or something is no text.

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


def value_state(
    state_id: str,
    value_type: str | None = None,
    *,
    serializer: str | None = None,
    queryable_name: str | None = None,
) -> KeyedStateDescriptor:
    """Return the descriptor of one value a key."""
    return KeyedStateDescriptor(
        id=state_id,
        type=KeyedStateType.VALUE,
        value_type=value_type,
        serializer=serializer,
        queryable_name=queryable_name,
    )


def list_state(
    state_id: str,
    element_type: str | None = None,
    *,
    serializer: str | None = None,
    queryable_name: str | None = None,
) -> KeyedStateDescriptor:
    """Return the descriptor of a list a key."""
    return KeyedStateDescriptor(
        id=state_id,
        type=KeyedStateType.LIST,
        value_type=element_type,
        serializer=serializer,
        queryable_name=queryable_name,
    )


def map_state(
    state_id: str,
    entry_type: str | None = None,
    *,
    serializer: str | None = None,
    queryable_name: str | None = None,
) -> KeyedStateDescriptor:
    """Return the descriptor of a map a key; the type is that of its entries (``str, int``)."""
    return KeyedStateDescriptor(
        id=state_id,
        type=KeyedStateType.MAP,
        value_type=entry_type,
        serializer=serializer,
        queryable_name=queryable_name,
    )


def reducing_state(
    state_id: str,
    value_type: str | None = None,
    *,
    serializer: str | None = None,
    queryable_name: str | None = None,
) -> KeyedStateDescriptor:
    """Return the descriptor of a value a key that new ones are reduced into."""
    return KeyedStateDescriptor(
        id=state_id,
        type=KeyedStateType.REDUCING,
        value_type=value_type,
        serializer=serializer,
        queryable_name=queryable_name,
    )


def aggregating_state(
    state_id: str,
    accumulator_type: str | None = None,
    *,
    serializer: str | None = None,
    queryable_name: str | None = None,
) -> KeyedStateDescriptor:
    """Return the descriptor of an accumulator a key; it is what is stored."""
    return KeyedStateDescriptor(
        id=state_id,
        type=KeyedStateType.AGGREGATING,
        value_type=accumulator_type,
        serializer=serializer,
        queryable_name=queryable_name,
    )


def operator_list_state(
    state_id: str, element_type: str | None = None, *, serializer: str | None = None
) -> OperatorStateDescriptor:
    """Return the descriptor of a list that is cut into equal shares."""
    return OperatorStateDescriptor(
        id=state_id,
        redistribution=RedistributionMode.SPLIT,
        value_type=element_type,
        serializer=serializer,
    )


def union_list_state(
    state_id: str, element_type: str | None = None, *, serializer: str | None = None
) -> OperatorStateDescriptor:
    """Return the descriptor of a list that every subtask gets whole."""
    return OperatorStateDescriptor(
        id=state_id,
        redistribution=RedistributionMode.UNION,
        value_type=element_type,
        serializer=serializer,
    )


def broadcast_state(
    state_id: str, entry_type: str | None = None, *, serializer: str | None = None
) -> OperatorStateDescriptor:
    """Return the descriptor of a map that is the same in every subtask."""
    return OperatorStateDescriptor(
        id=state_id,
        redistribution=RedistributionMode.BROADCAST,
        value_type=entry_type,
        serializer=serializer,
    )
