"""UUIDs in order, in two columns: found by a page at a time, and added to without a copy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
_Mask = npt.NDArray[np.bool_]
_Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.signedinteger]
_Key = TypeVar("_Key", bound=Hashable)

_ENTRIES_PER_START = 8  # half a byte of directory an entry, and three or four steps a look-up
_PAGE = 1 << 13
_BLOCK = 1 << 19  # entries that are moved at once: what a merge needs beside the columns


def in_order(hi: Words, lo: Words) -> _Rows:
    """Return int64[n]: the rows of UUIDs in any order, duplicates too, in their order."""
    rows = np.argsort(hi)
    first = hi[rows]
    tied = np.flatnonzero(first[1:] == first[:-1])
    if (lo[rows[tied + 1]] < lo[rows[tied]]).any():  # next to never, but argsort ignores lo
        return np.lexsort((lo, hi))
    return rows


def distinct(hi: Words, lo: Words) -> tuple[Words, Words]:
    """Return UUIDs in their order, each once."""
    rows = in_order(hi, lo)
    hi, lo = hi[rows], lo[rows]
    is_new = np.ones(len(hi), np.bool_)
    is_new[1:] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])
    return hi[is_new], lo[is_new]


def numbered(
    parts: Sequence[tuple[int, Words, Words]], count: int
) -> tuple[SortedUuids, Numbers, _Rows]:
    """Return the UUIDs of some parts, each once, and the numbers of the parts that have each.

    The third value is where the numbers of each UUID start. A column is sorted after the other,
    for they may be large.

    Args:
        count: More than any number.
    """
    hi = np.concatenate([np.empty(0, np.uint64), *(hi for _, hi, _ in parts)])
    lo = np.concatenate([np.empty(0, np.uint64), *(lo for _, _, lo in parts)])
    rows = in_order(hi, lo)
    hi = hi[rows]
    lo = lo[rows]
    numbers = np.array([number for number, _, _ in parts], least_type(count))
    numbers = np.repeat(numbers, np.array([len(each) for _, each, _ in parts], np.intp))[rows]
    del rows
    is_new = np.ones(len(hi), np.bool_)
    is_new[1:] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])
    hi = hi[is_new]
    lo = lo[is_new]
    return SortedUuids(hi, lo), numbers, np.flatnonzero(is_new)


def finder(named: Iterable[tuple[_Key, Words, Words]]) -> Callable[[Words, Words], set[_Key]]:
    """Return what finds the keys that have any of some UUIDs, from the UUIDs of each key."""
    numbers: dict[_Key, int] = {}
    parts = [(numbers.setdefault(key, len(numbers)), hi, lo) for key, hi, lo in named]
    keys = [*numbers]
    uuids, owner, starts = numbered(parts, len(keys))
    bounds = np.append(starts, len(owner))

    def find(hi: Words, lo: Words) -> set[_Key]:
        at, is_there = uuids.find(hi, lo)
        at = np.unique(at[is_there])
        found = {*np.unique(owner[bounds[at]]).tolist()}
        for each in at[bounds[at + 1] - bounds[at] > 1]:  # few: a copy has their names
            found.update(owner[bounds[each] : bounds[each + 1]].tolist())
        return {keys[number] for number in found}

    return find


def least_type(count: int) -> np.dtype[np.signedinteger]:
    """Return the smallest type of the numbers from -1 to below a count: a file has six of them."""
    return np.min_scalar_type(-max(count, 1))


class SortedUuids:
    """n UUIDs in order; duplicates may stand in what is given, and never come by ``insert``.

    A directory over the leading bits leads to a few entries each, for UUIDs are random; where
    they are not, a look-up takes more steps and is as exact. Not to be changed while read.

    Attributes:
        hi: uint64[n], first halves.
        lo: uint64[n], second halves.
    """

    __slots__ = ("_shift", "_starts", "hi", "lo")

    def __init__(self, hi: Words, lo: Words) -> None:
        """Take over two columns, which are in order."""
        self.hi = hi
        self.lo = lo
        self._index()

    @classmethod
    def empty(cls) -> SortedUuids:
        """Return none."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.uint64))

    def __len__(self) -> int:
        """Return n."""
        return len(self.hi)

    def _index(self) -> None:
        bits = max(1, (len(self.hi) // _ENTRIES_PER_START).bit_length())
        self._shift = np.uint64(64 - bits)
        self._starts = np.empty((1 << bits) + 1, np.min_scalar_type(len(self.hi)))
        self._starts[-1] = len(self.hi)
        for start in range(0, 1 << bits, _BLOCK):
            leading = np.arange(start, min(start + _BLOCK, 1 << bits), dtype=np.uint64)
            found = np.searchsorted(self.hi, leading << self._shift)
            self._starts[start : start + len(found)] = found

    def find(self, hi: Words, lo: Words) -> tuple[_Rows, _Mask]:
        """Return the row of the first entry that is not below each UUID, and whether it is it."""
        rows, is_there = np.zeros(len(hi), np.int64), np.zeros(len(hi), np.bool_)
        if len(self):
            for start in range(0, len(hi), _PAGE):
                part = slice(start, start + _PAGE)
                rows[part], is_there[part] = self._find_page(hi[part], lo[part])
        return rows, is_there

    def _find_page(self, hi: Words, lo: Words) -> tuple[_Rows, _Mask]:
        run = (hi >> self._shift).view(np.int64)
        last = self._starts.take(run + 1).astype(np.int64)
        rows = _bisect(
            self._starts.take(run).astype(np.int64),
            last,
            lambda middle: self.hi.take(middle, mode="clip") < hi,
        )
        is_same = self.hi.take(rows, mode="clip") == hi
        low = self.lo.take(rows, mode="clip")
        is_tied = is_same & (low < lo)
        if is_tied.any():
            rows[is_tied] = self._find_tied(hi[is_tied], lo[is_tied], rows[is_tied], last[is_tied])
            is_same = self.hi.take(rows, mode="clip") == hi
            low = self.lo.take(rows, mode="clip")
        is_same &= low == lo
        return rows, is_same

    def is_at(self, rows: _Rows, hi: Words, lo: Words) -> _Mask:
        """Return whether the entries of some rows, the one after the last too, are these."""
        is_same: _Mask = self.hi.take(rows, mode="clip") == hi
        is_same &= self.lo.take(rows, mode="clip") == lo
        is_same &= rows < len(self)
        return is_same

    def _find_tied(self, hi: Words, lo: Words, first: _Rows, last: _Rows) -> _Rows:
        def is_less(middle: _Rows) -> _Mask:
            high, low = self.hi.take(middle, mode="clip"), self.lo.take(middle, mode="clip")
            is_below: _Mask = (high < hi) | ((high == hi) & (low < lo))
            return is_below

        return _bisect(first, last, is_less)

    def insert(self, hi: Words, lo: Words) -> None:
        """Add UUIDs that are in order, each once, and none of them known.

        Old and new are merged from the end, a block at a time, in the columns' own memory: a
        hundred million entries must not stand there twice.
        """
        at = self.find(hi, lo)[0]
        known, end, new_end = len(self), len(self), len(hi)
        self._grow(known + new_end)
        while new_end:
            start = max(0, end - _BLOCK)
            new_start = int(np.searchsorted(at, start, side="right")) if start else 0
            new, places = slice(new_start, new_end), at[new_start:new_end] - start
            target = slice(start + new_start, end + new_end)
            self.hi[target] = np.insert(self.hi[start:end], places, hi[new])
            self.lo[target] = np.insert(self.lo[start:end], places, lo[new])
            end, new_end = start, new_start
        self._index()

    def _grow(self, size: int) -> None:
        """Make room at the end; in place, unless another object still uses a column."""
        for name in ("hi", "lo"):
            try:
                getattr(self, name).resize(size)
            except ValueError:
                old = getattr(self, name)
                setattr(self, name, np.empty(size, np.uint64))
                getattr(self, name)[: len(old)] = old


def _bisect(first: _Rows, last: _Rows, is_below: Callable[[_Rows], _Mask]) -> _Rows:
    """Return the first of the rows first..last, row by row, that is not below the wanted one.

    ``is_below`` is asked of a row in each range, and of ``last`` where the range is empty.
    """
    for _ in range(int((last - first).max()).bit_length()):
        middle = (first + last) >> 1
        is_above = ~is_below(middle) | (middle >= last)
        last = np.where(is_above, np.minimum(middle, last), last)
        first = np.where(is_above, first, middle + 1)
    return first
