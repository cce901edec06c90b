"""UUIDs by their looks alone: a second opinion on what a ``_metadata`` file mentions.

Shares nothing with the parser, on purpose: if the parser overlooks a reference, its file
name still stands somewhere in the bytes, and a collector that asks both keeps the file.
"""

from __future__ import annotations

import re

__all__ = ["raw_uuids"]

_HEAD_DIGITS = 8
_UUID_CHARACTERS = 36
_UUID_BYTES = 16

# A search from the first hyphen on runs at the speed of memchr; the eight digits before it
# are looked at afterwards. Matches cannot hide one another: within one, every later hyphen
# stands before groups of other lengths, so no second match begins there, and behind it the
# next hyphen is free ("8-4-4-4-12-4-4-4-12" holds two UUIDs, and both are found).
_TAIL = re.compile(rb"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEAD = re.compile(rb"[0-9a-f]{8}")


def raw_uuids(data: bytes) -> set[bytes]:
    """Return every lower-case textual UUID in the bytes, as 16-byte values.

    Digits glued to it do not hide one: "41_<uuid>", "ab<uuid>" and "<uuid>ab" hold <uuid>.

    Args:
        data: Any bytes, a metadata file or not.

    """
    starts = [match.start() - _HEAD_DIGITS for match in _TAIL.finditer(data)]
    candidates = [data[start : start + _UUID_CHARACTERS] for start in starts if start >= 0]
    uuids = b"".join([text for text in candidates if _HEAD.match(text)])
    packed = bytes.fromhex(uuids.translate(None, b"-").decode("ascii"))
    return {packed[at : at + _UUID_BYTES] for at in range(0, len(packed), _UUID_BYTES)}
