"""What shows that a state location was used before: an emptied one is not a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.times.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownState:
    """The state location of an earlier plan."""

    states: frozenset[str]
    at: datetime
    source: str


class MemoryMarker(FrozenPart):
    """The marker beside the memory, which a state of a version without a memory does not have.

    Attributes:
        state: Identifier of the state location; the memory has it too.
        since: Time of the first cycle that left this memory.
    """

    schema_version: int = Field(default=1, ge=1, le=1)
    root: str
    state: str = Field(min_length=1)
    since: Instant


def known_state(states: Sequence[str], at: datetime, source: str) -> tuple[KnownState, ...]:
    """Return the state location of an earlier plan; nothing if it used none."""
    if not states:
        return ()
    return (KnownState(states=frozenset(states), at=at, source=source),)


def other_state(own: Iterable[str], known: Iterable[KnownState]) -> KnownState | None:
    """Return the source of a state location that is not this one, ``None`` if there is none.

    Args:
        own: Identifiers of this one; none if it was never written.
    """
    here = set(own)
    return next((each for each in known if not each.states & here), None)
