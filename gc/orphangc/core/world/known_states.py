"""What shows that a state location was used before: an emptied one is not a new one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.times.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownState:
    """The state location of an earlier plan.

    Attributes:
        remembered_at: Time of what the plan left in it; ``None`` if unknown.
    """

    states: frozenset[str]
    at: datetime
    source: str
    remembered_at: datetime | None = None


class MemoryMarker(FrozenPart):
    """The marker beside the memory, which a state of a version without a memory does not have."""

    schema_version: int = Field(default=1, ge=1, le=1)
    root: str
    state: str = Field(min_length=1)
    since: Instant


def known_state(
    states: Sequence[str], at: datetime, source: str, remembered_at: datetime | None = None
) -> tuple[KnownState, ...]:
    """Return the state location of an earlier plan; nothing if it used none."""
    if not states:
        return ()
    known = frozenset(states)
    return (KnownState(states=known, at=at, source=source, remembered_at=remembered_at),)
