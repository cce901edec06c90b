"""Foreign text, sizes and numbers of things as people read them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

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


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 job``, ``2,048 objects``, ``2 entries``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def some(values: Iterable[object], limit: int = 3) -> str:
    """Return the first few of many for a sentence."""
    shown = [str(value) for value in values]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


@dataclass(frozen=True, slots=True)
class KindText:
    """Name of a kind, and its meaning in a sentence."""

    label: str
    meaning: str
