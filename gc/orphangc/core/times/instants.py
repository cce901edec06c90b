"""Instants that a file, a listing or an answer shows: checked before Python computes with them.

A store may show any number. Python ends at the years 1 and 9999, and a margin taken off an instant
near either end is an error in the middle of a run. So an instant is *known* only between
``EARLIEST`` and ``LATEST``, a thousand years from both ends; every margin is shorter
(``core/model/settings.py`` allows 10,000 days). Any other instant is unknown, which keeps the file,
or makes the document that shows it unreadable.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST: Final = datetime(1000, 1, 1, tzinfo=UTC)
"""The first known instant; Go's zero time, year 1, is before it."""
LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""The last instant that is known."""

_SHORT_YEAR = re.compile(r"\b0\d{3} \d")
_MICROSECOND = timedelta(microseconds=1)
EARLIEST_US: Final[int] = (EARLIEST - EPOCH) // _MICROSECOND
LATEST_US: Final[int] = (LATEST - EPOCH) // _MICROSECOND

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def is_known(at: datetime) -> bool:
    """Return whether an instant is aware, and from ``EARLIEST`` to ``LATEST``."""
    return at.utcoffset() is not None and EARLIEST <= at <= LATEST


def known(at: datetime | None) -> datetime | None:
    """Return an instant in UTC, ``None`` if it is naive or out of range."""
    return at.astimezone(UTC) if at is not None and is_known(at) else None


def known_microseconds(since_1970: float) -> int | None:
    """Return microseconds since 1970, ``None`` if they are out of range or no number."""
    return int(since_1970) if EARLIEST_US <= since_1970 <= LATEST_US else None


def from_microseconds(since_1970: int | None) -> datetime | None:
    """Return the instant in UTC, ``None`` if it is unknown; exact, as a division is not."""
    if since_1970 is None or known_microseconds(since_1970) is None:
        return None
    return EPOCH + timedelta(microseconds=since_1970)


def from_milliseconds(since_1970: int) -> datetime | None:
    """Return the instant in UTC, ``None`` if it is unknown; Java's way to write a time."""
    return from_microseconds(since_1970 * 1000)


def from_iso(text: str) -> datetime | None:
    """Return the instant of an ISO 8601 text in UTC, ``None`` if it is unknown or no time."""
    try:
        return known(datetime.fromisoformat(text))
    except ValueError:
        return None


def from_pattern(text: str, pattern: str) -> datetime | None:
    """Return the instant of a UTC time that ``strptime`` reads, ``None`` if it is unknown."""
    try:
        return known(datetime.strptime(text, pattern).replace(tzinfo=UTC))
    except ValueError:
        return None


def from_http(text: str) -> datetime | None:
    """Return the instant of an HTTP date (RFC 9110), ``None`` if it is unknown or no time.

    Python reads the year 0001, which Go writes for an unknown time, as 2001.
    """
    if _SHORT_YEAR.search(text):
        return None
    try:
        return known(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None


def microseconds_of(at: datetime) -> int:
    """Return microseconds since 1970 of an aware instant, exactly."""
    return (at - EPOCH) // _MICROSECOND


def shifted(at: datetime, by: timedelta) -> datetime:
    """Return an aware instant moved by a duration; Python's first or last one if that is beyond."""
    try:
        return at + by
    except OverflowError:
        return _FIRST if by < timedelta(0) else _LAST


def _checked(at: datetime) -> datetime:
    if not is_known(at):
        raise ValueError(f"the time is not between the years {EARLIEST.year} and {LATEST.year}")
    return at


Instant = Annotated[AwareDatetime, AfterValidator(_checked)]
"""A field of a document that is read again: aware, and known; else the document is unreadable."""
