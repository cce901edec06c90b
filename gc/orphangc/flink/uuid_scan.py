"""UUIDs by their looks alone: a second opinion on what a ``_metadata`` file mentions.

Shares nothing with the parser, on purpose: if the parser overlooks a reference, its file
name still stands somewhere in the bytes, and a collector that asks both keeps the file.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

_LENGTH: Final = 36
_HYPHENS: Final = (8, 13, 18, 23)
_DIGITS: Final = np.array([at for at in range(_LENGTH) if at not in _HYPHENS])
_NO_DIGIT: Final = 255
_WINDOW: Final = 1 << 17
"""Bytes looked at together: a hostile file of nothing but hyphens needs no memory."""

_VALUES: Final = np.full(256, _NO_DIGIT, np.uint8)
_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


def scan_uuids(data: bytes) -> bytes:
    """Return every lower-case textual UUID in the bytes, 16 bytes each, in order.

    At whatever place its pattern fits, also where two share digits. Digits glued to it do not
    hide one: "41_<uuid>", "ab<uuid>" and "<uuid>ab" hold <uuid>. One that is mentioned twice
    is returned twice.

    Args:
        data: Any bytes, a metadata file or not.

    """
    text = np.frombuffer(data, np.uint8)
    windows = range(0, len(text) - _LENGTH + 1, _WINDOW)
    return b"".join(_in_window(text[at : at + _WINDOW + _LENGTH - 1]) for at in windows)


def _in_window(text: npt.NDArray[np.uint8]) -> bytes:
    """Return the UUIDs that begin at any place but the last 35."""
    places = len(text) - _LENGTH + 1
    starts = np.flatnonzero(text[_HYPHENS[0] : _HYPHENS[0] + places] == ord("-"))
    for hyphen in _HYPHENS[1:]:
        starts = starts[text[starts + hyphen] == ord("-")]
    values = _VALUES[text[starts[:, None] + _DIGITS]]
    whole = values[(values != _NO_DIGIT).all(axis=1)]
    return bytes((whole[:, ::2] << 4 | whole[:, 1::2]).tobytes())
