"""Declarations of state by the operators of a job: the values of a declarations file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from flinkstate.operator_ids import operator_id
from flinkstate.values.handles import StateMode

_TIMERS = "_timer_state/"


class KeyedStateType(StrEnum):
    """Types of keyed state.

    Source: Flink 1.8-2.3, ``StateDescriptor.Type``, without ``UNKNOWN`` and ``FOLDING``.
    """

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"


class RedistributionMode(StrEnum):
    """How Flink redistributes an operator state when the parallelism changes.

    Source: Flink 1.8-2.3, ``OperatorStateHandle.Mode``.
    """

    SPLIT = "split"
    UNION = "union"
    BROADCAST = "broadcast"

    @property
    def mode(self) -> StateMode:
        """Return Flink's mode."""
        return _MODES[self]

    @classmethod
    def of(cls, mode: StateMode) -> RedistributionMode:
        """Return the redistribution of Flink's mode."""
        return next(word for word, each in _MODES.items() if each is mode)


_MODES = {
    RedistributionMode.SPLIT: StateMode.SPLIT_DISTRIBUTE,
    RedistributionMode.UNION: StateMode.UNION,
    RedistributionMode.BROADCAST: StateMode.BROADCAST,
}


class _Value(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


_Type = Annotated[KeyedStateType, Field(strict=False)]
_Mode = Annotated[RedistributionMode, Field(strict=False)]


class KeyedState(_Value):
    """A keyed state."""

    id: str = Field(min_length=1)
    """Name under which the job registers the state."""
    type: _Type
    """Type of the state."""
    serializer: str | None = None
    """Hint: serializer of the values. Another stored one is a warning, if both name classes."""
    queryable_name: str | None = None
    """Name under which other programs query the state. No comparison uses it."""
    new: bool = False
    """Whether it is new: no checkpoint needs to hold it yet."""

    @model_validator(mode="after")
    def _is_the_jobs(self) -> Self:
        if is_timer(self.id):
            raise ValueError(f"{self.id!r} is a timer of Flink's own: it needs no declaration")
        return self


class DeclaredOperatorState(_Value):
    """An operator state."""

    id: str = Field(min_length=1)
    """Name under which the job or its connector registers the state."""
    redistribution: _Mode
    """How Flink redistributes the state when the parallelism changes."""
    serializer: str | None = None
    """Hint: serializer of the elements. Another stored one is a warning, if both name classes."""
    new: bool = False
    """Whether it is new: no checkpoint needs to hold it yet."""


class OperatorDeclaration(_Value):
    """An operator and all the state that it registers."""

    uid: str | None = Field(default=None, min_length=1)
    """Uid that the job sets. Flink's hash of it is an id of the operator."""
    id: str | None = Field(default=None, pattern=r"^[0-9a-f]{32}$")
    """Operator id, 32 hex digits, of an operator without a uid. Beside a uid the uid counts."""
    uid_hash: str | None = Field(default=None, pattern=r"^[0-9a-f]{32}$")
    """Uid hash that the job sets (`setUidHash`), 32 hex digits. Flink restores from it first."""
    name: str | None = None
    """Name for people. No comparison uses it."""
    keyed_states: Annotated[tuple[KeyedState, ...], Field(strict=False)] = ()
    """Keyed states, without timers."""
    operator_states: Annotated[tuple[DeclaredOperatorState, ...], Field(strict=False)] = ()
    """Operator states."""
    coordinator: bool = False
    """Whether its coordinator on the JobManager keeps state, as newer sources do."""
    new: bool = False
    """Whether it is new: no checkpoint needs to hold it yet."""

    @model_validator(mode="after")
    def _is_one_operator(self) -> Self:
        if not self.ids:
            raise ValueError("an operator needs a uid or an id (or a uid_hash)")
        for word, states in (("keyed", self.keyed_states), ("operator", self.operator_states)):
            twice = _first_twice(state.id for state in states)
            if twice is not None:
                raise ValueError(f"{word} state {twice!r} is declared twice")
        return self

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids from which Flink restores it, in Flink's order: the first that is stored.

        Where the id is not that of the uid, the uid counts: it is what the job sets.

        Source: Flink 1.15.4, 1.20.5 and 2.3.0, ``OperatorIDPair``, ``StateAssignmentOperation.
        assignStates``: the uid hash if the checkpoint has it, else the generated id.
        """
        generated = self.id if self.uid is None else operator_id(self.uid)
        return tuple(dict.fromkeys(each for each in (self.uid_hash, generated) if each))

    @property
    def operator_id(self) -> str:
        """Return the id under which Flink stores it: the generated one, if that is known."""
        return self.ids[-1]

    def stored_in(self, stored: Collection[str]) -> str | None:
        """Return the id among stored ones from which Flink restores it; ``None`` if none is its."""
        return next((each for each in self.ids if each in stored), None)

    @property
    def label(self) -> str:
        """Return its name for messages."""
        return self.uid or self.name or self.operator_id


class Declarations(_Value):
    """Declarations file of the next version of a job."""

    version: Literal[1]
    """Version of this format."""
    operators: Annotated[tuple[OperatorDeclaration, ...], Field(strict=False)]
    """Every operator of the job that has or may have state."""

    @model_validator(mode="after")
    def _has_no_twins(self) -> Self:
        twice = _first_twice(each for operator in self.operators for each in operator.ids)
        if twice is not None:
            labels = [each.label for each in self.operators if twice in each.ids]
            raise ValueError(f"operators {labels[0]!r} and {labels[1]!r} have one id, {twice}")
        return self


def _first_twice(ids: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            return each
        seen.add(each)
    return None


def is_timer(name: str) -> bool:
    """Return whether a keyed state is a timer of Flink's own, by its name.

    Source: Flink 1.8-2.3, ``InternalTimeServiceManagerImpl.TIMER_STATE_PREFIX``.
    """
    return name.startswith(_TIMERS)


def declarations_schema() -> dict[str, Any]:
    """Return the JSON schema of the declarations file, for editors and CI."""
    schema = Declarations.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "orphangc state declarations",
        **{key: value for key, value in schema.items() if key != "title"},
    }
