"""The clock of a store, as the ``Date`` headers of its answers show it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from orphangc.adapters.files.translate import host_now
from orphangc.core.times.instants import from_http
from orphangc.ports import StoreTime

_FRESH = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class DatedAnswer:
    """When an answer was asked for and came, by this machine, and its ``Date`` header."""

    asked_at: datetime
    answered_at: datetime
    date: str | None

    @property
    def is_fresh(self) -> bool:
        """Return whether it is of the last second: the header has whole seconds."""
        return timedelta() <= host_now() - self.asked_at <= _FRESH


def store_time(answer: DatedAnswer | None) -> StoreTime:
    """Return the store's time at an answer, unknown without one."""
    if answer is None:
        return StoreTime(now=None, local=host_now(), source="Date header")
    local = answer.asked_at + (answer.answered_at - answer.asked_at) / 2
    now = from_http(answer.date) if answer.date else None
    return StoreTime(now=now, local=local, source="Date header")
