"""Where to split the rest of a key range, by the names that were seen in it.

Names of one folder are mostly written in one alphabet: UUIDs in hex digits, ids in decimal ones.
A ``Scale`` reads such names as numbers between 0 and 1, so that the seen part of a folder shows
how much of it is still to come, and where its middle is. Nothing rests on that but speed.
"""

from bisect import bisect_left
from dataclasses import dataclass

from orphangc.core.ranges.key_ranges import KeyRange

_DECIMAL = "0123456789"
_HEX = "0123456789abcdef"
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_UUID_DIGITS = 8
"""A UUID begins with so many hex digits."""

_DIGITS = 12
"""About as many hex digits as a float distinguishes."""

_LONGEST = 512
"""Bytes of a key that is made up; longer than that only between names that are longer still."""

_BLOCKS = ((0x21, 0x7E), (0xA1, 0xD7FF), (0xE000, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0x1FFFD))
"""Code points that every server accepts: no control characters, surrogates, non-characters."""

_PAST_ALL = 0x110000
_ANY = "O"  # in the middle of ASCII


@dataclass(frozen=True, slots=True)
class Scale:
    """A stretch of the key space whose names are read as numbers.

    Attributes:
        prefix: All keys of the stretch start with it.
        alphabet: Characters after the prefix, ascending.
    """

    prefix: str
    alphabet: str

    def at(self, key: str | None) -> float:
        """Return the position of a key: 0 before the stretch, 1 after it; ``None`` is after all."""
        if key is None or not key.startswith(self.prefix):
            return float(key is None or key > self.prefix)
        name = key[len(self.prefix) :][:_DIGITS]
        if not name.strip(self.alphabet) and name and len(self.alphabet) <= len(_HEX):
            return int(name, len(self.alphabet)) / float(len(self.alphabet)) ** len(name)
        value, weight = 0.0, 1.0
        for char in name:
            weight /= len(self.alphabet)
            rank = bisect_left(self.alphabet, char)
            value += rank * weight
            if not self.alphabet.startswith(char, rank):
                break
        return value

    def key(self, at: float, digits: int) -> str:
        """Return the key of so many digits that stands at a number below 1, or just before."""
        text = ""
        for _ in range(digits):
            at *= len(self.alphabet)
            rank = min(int(at), len(self.alphabet) - 1)
            text += self.alphabet[rank]
            at -= rank
        return self.prefix + text


def scale_of(first: str, last: str) -> Scale:
    """Return the scale on which two keys of a page differ; of one key, that of its name."""
    at = _common(first, last) if first != last else last.rfind("/") + 1
    start, end = _run(last, at, _HEX)
    run = last[start:end]
    is_uuid = len(run) == _UUID_DIGITS and last[end : end + 1] == "-"
    if is_uuid or (len(run) >= _UUID_DIGITS and run.strip(_DECIMAL)):
        return Scale(last[:start], _HEX)
    start, end = _run(last, at, _DECIMAL)
    return Scale(last[:start], _DECIMAL if start < end else _PRINTABLE)


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _run(text: str, at: int, alphabet: str) -> tuple[int, int]:
    start = end = at
    while start > 0 and text[start - 1] in alphabet:
        start -= 1
    while end < len(text) and text[end] in alphabet:
        end += 1
    return start, end


def midpoint(position: str, within: KeyRange, scale: Scale | None = None) -> str | None:
    """Return where to split the rest of a range after ``position``, strictly inside of it.

    Args:
        position: The last key that was seen; if it is not in the range, all is still to come.

    Returns:
        A key that can be sent to any store; ``None`` if none lies between.
    """
    until = within.until
    start = position if within.after is None else max(position, within.after)
    if until is not None and until <= start:
        return None
    found = _on_scale(start, until, scale or scale_of(start, start)) or _by_code_point(start, until)
    is_short = found is not None and len(found.encode()) <= max(_LONGEST, len(start.encode()))
    return found if is_short else None


def _on_scale(start: str, until: str | None, scale: Scale) -> str | None:
    low, high = scale.at(start), scale.at(until)
    middle, slack = (low + high) / 2, (high - low) / 8
    for digits in range(1, _DIGITS + 1):
        key = scale.key(middle, digits)
        is_inside = start < key and (until is None or key < until)
        if is_inside and abs(scale.at(key) - middle) <= slack:
            return key
    return None


def _by_code_point(start: str, until: str | None) -> str | None:
    if until is None:
        return _above(start, 0)
    at = _common(start, until)
    char = _middle_char(ord(start[at]) if at < len(start) else -1, ord(until[at]))
    if char is not None:
        return start[:at] + char
    if at < len(start):
        return _above(start, at + 1)
    return until[: at + 1] if at + 1 < len(until) else None


def _above(start: str, at: int) -> str:
    for length in range(at, len(start)):
        char = _middle_char(ord(start[length]), _PAST_ALL)
        if char is not None:
            return start[:length] + char
    return start + _ANY


def _middle_char(low: int, high: int) -> str | None:
    """Return the character in the middle of what may be used strictly between two code points.

    In ASCII if there is any: names rarely leave it.
    """
    for first, last in _BLOCKS:
        start, end = max(first, low + 1), min(last, high - 1)
        if start <= end:
            return chr((start + end + 1) // 2)
    return None
