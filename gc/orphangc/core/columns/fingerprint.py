"""Compact comparison of two collections of UUIDs: the same ones, the same number of times?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Words = npt.NDArray[np.uint64]
_WORD = 2**64 - 1
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_BLOCK = 1 << 16
_LAST, _HALF = np.uint64(0xFF51AFD7ED558CCD), np.uint64(32)


class Fingerprint(NamedTuple):
    """How many UUIDs, and the sum of a mixed word of each: one doubled and one absent differ.

    Different collections of as many UUIDs have the same one with a probability of 2**-64.
    """

    number: int
    mix: int

    @classmethod
    def of(cls, hi: _Words, lo: _Words) -> Fingerprint:
        """Return that of n UUIDs, each as two numbers, in any order."""
        mix = 0
        for start in range(0, len(hi), _BLOCK):
            part = slice(start, start + _BLOCK)
            words = hi[part] * _FIRST + lo[part] * _SECOND
            words = (words ^ (words >> _HALF)) * _LAST
            words ^= words >> _HALF
            mix += int(words.sum())
        return cls(len(hi), mix & _WORD)

    def __add__(self, other: object) -> Fingerprint:
        """Return that of both together."""
        if not isinstance(other, Fingerprint):
            return NotImplemented
        return Fingerprint(self.number + other.number, (self.mix + other.mix) & _WORD)


NOTHING = Fingerprint(0, 0)
"""That of no UUIDs."""
