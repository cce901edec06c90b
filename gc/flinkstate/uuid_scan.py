"""UUID scan: finds UUIDs in a ``_metadata`` file by their form alone, without the parser.

The scan shares nothing with the parser, on purpose: if the parser overlooks a reference, the bytes
still hold its file name, and a collector that uses both keeps the file.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from flinkstate.buffers import Buffer, let_go

_LENGTH: Final = 36
_HYPHENS: Final = (8, 13, 18, 23)
_DIGITS: Final = np.array([at for at in range(_LENGTH) if at not in _HYPHENS])
_NO_DIGIT: Final = 255
_WINDOW: Final = 1 << 17
"""Bytes scanned at once: a hostile file of hyphens only needs little memory."""

_VALUES: Final = np.full(256, _NO_DIGIT, np.uint8)
_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


def uuid_lots(data: Buffer) -> Iterator[bytes]:
    """Yield every lower-case textual UUID in the bytes, 16 bytes each, in order, some at a time.

    A UUID may start at any position and overlap another one. Adjacent digits do not hide it:
    "41_<uuid>", "ab<uuid>" and "<uuid>ab" contain <uuid>. A UUID that occurs twice is returned
    twice.
    """
    for at in range(0, len(data) - _LENGTH + 1, _WINDOW):
        yield _in_window(np.frombuffer(data[at : at + _WINDOW + _LENGTH - 1], np.uint8))
        let_go(data, at, at + _WINDOW)


def _in_window(text: npt.NDArray[np.uint8]) -> bytes:
    places = len(text) - _LENGTH + 1
    starts = np.flatnonzero(text[_HYPHENS[0] : _HYPHENS[0] + places] == ord("-"))
    for hyphen in _HYPHENS[1:]:
        starts = starts[text[starts + hyphen] == ord("-")]
    values = _VALUES[text[starts[:, None] + _DIGITS]]
    whole = values[(values != _NO_DIGIT).all(axis=1)]
    return bytes((whole[:, ::2] << 4 | whole[:, 1::2]).tobytes())
