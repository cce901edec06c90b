"""Times, shares, ids, prices and tables of sentences as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from flinkstate.text.shown_text import human_bytes

if TYPE_CHECKING:  # --version loads no document
    from orphangc.core.documents.lineage_report import UnneededPart
    from orphangc.core.documents.plan import Plan

NO_JOB = "(no job)"
"""Name shown for files outside all known job directories."""

LIST_PRICE = 0.023
"""List price of a GiB a month in S3 Standard, in USD."""
_GIB = 2**30
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))

_ENTRY = re.compile(r"^(\S+?)(?: \((\w+)\))?: (.+)((?:\n    .+)*)", re.MULTILINE)


class Entry(NamedTuple):
    """One entry of a table of sentences.

    Attributes:
        mark: Word in parentheses behind the code; "" without one.
    """

    code: str
    mark: str
    title: str
    text: str


def entries(table: str) -> Iterator[Entry]:
    """Yield the entries of a table of sentences.

    Each is a line ``code: title``, or ``code (mark): title``, and indented lines of text.
    """
    for code, mark, title, text in _ENTRY.findall(table):
        yield Entry(code, mark, title, " ".join(text.split()))


def instant(at: datetime) -> str:
    """Return a time in UTC to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def minute(at: datetime | None) -> str:
    """Return a time to the minute; "" if it is unknown."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"


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


def unneeded_sentence(part: UnneededPart, price: float) -> str:
    """Return how much is held by checkpoints that nothing living needs."""
    return (
        f"Checkpoints that nothing living needs hold {human_bytes(part.bytes)} in"
        f" {part.objects:,} files, {money(part.bytes, price)} a month."
    )


def expiry_hint(plan: Plan) -> str | None:
    """Return what ``expire`` could free, for a plan; ``None`` if nothing that is known."""
    part = plan.unneeded
    if part is None or not part.bytes:
        return None
    return (
        f"{unneeded_sentence(part, LIST_PRICE)} Nothing of it goes without a retention"
        " policy: orphangc expire shows it by lineage."
    )


def money(size: int, price: float) -> str:
    """Return the price of some bytes for a month."""
    return f"{size / _GIB * price:,.2f} USD"
