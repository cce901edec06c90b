"""Numbers, times and foreign text as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

NO_JOB = "(no job)"
"""Name shown for files outside all known job directories."""

_INVISIBLE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 and C1 controls: terminal escapes, line ends
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # print as nothing
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\uffff"  # the same, bidi
    "\ud800-\udfff"  # halves of characters: no encoding can write them
    "\U000e0000-\U000e0fff"
    "]"
)
_THOUSAND = 1000
_BYTE_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))


def human_bytes(size: int) -> str:
    """Return bytes in decimal units, as storage is sold: ``1.5 GB``."""
    if size < _THOUSAND:
        return "1 byte" if size == 1 else f"{size:,} bytes"
    amount, unit = float(size), ""
    for unit in _BYTE_UNITS:  # noqa: B007 - the last unit stands for whatever is larger
        amount /= _THOUSAND
        if amount < _THOUSAND:
            break
    return f"{amount:,.1f} {unit}"


def visible(text: str) -> str:
    r"""Return foreign text with everything that a screen would obey spelled out: ``\x1b``.

    Anyone can write a name into a bucket: a line end breaks a table, a terminal escape moves the
    cursor, and a direction mark makes one name look like another.
    """
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def instant(at: datetime) -> str:
    """Return a time in UTC to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(span: timedelta | float) -> str:
    """Return a duration as settings spell it: ``1d12h``; a number means seconds."""
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    rest, parts = round(abs(seconds)), []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    parts += [f"{rest}s"] if rest or not parts else []
    return ("-" if seconds < 0 else "") + "".join(parts)


def share(part: int, whole: int) -> str:
    """Return a share in per cent; 0 % and 100 % are exact."""
    if not part or not whole:
        return "0 %"
    per_cent = 100 * part / whole
    if per_cent < 1:
        return "<1 %"
    if part < whole and per_cent > 99:  # noqa: PLR2004
        return ">99 %"
    return f"{per_cent:.0f} %"


def id_ranges(ids: Iterable[int], limit: int = 12) -> str:
    """Return ascending ids as ranges, ``3, 7-12``; the last ``limit`` ranges."""
    ranges: list[list[int]] = []
    for each in ids:
        if ranges and each == ranges[-1][1] + 1:
            ranges[-1][1] = each
        else:
            ranges.append([each, each])
    shown = [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges[-limit:]]
    return ("... " if len(ranges) > limit else "") + ", ".join(shown)
