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


def other_state(own: Iterable[str], known: Iterable[KnownState]) -> KnownState | None:
    """Return the source of a state location that is not this one, ``None`` if there is none.

    Args:
        own: Identifiers of this one; none if it was never written.
    """
    here = set(own)
    return next((each for each in known if not each.states & here), None)


def later_state(
    own: Iterable[str], written_at: datetime | None, known: Iterable[KnownState]
) -> KnownState | None:
    """Return the source that knows this state location at a later time, or ``None``."""
    here = set(own)
    return next(
        (
            each
            for each in known
            if each.states & here
            and each.remembered_at is not None
            and (written_at is None or written_at < each.remembered_at)
        ),
        None,
    )
