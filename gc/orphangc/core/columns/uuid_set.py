"""A set of UUIDs that may have a hundred million members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from threading import RLock

import numpy as np
import numpy.typing as npt

from orphangc.core.columns.sorted_uuids import SortedUuids, distinct
from orphangc.core.columns.uuid_words import bytes_of, words_of

_Words = npt.NDArray[np.uint64]
_Mask = npt.NDArray[np.bool_]

_UUID_BYTES = 16
_STAGED = 1 << 18  # rows that wait to be sorted
_RECENT = 1 << 21  # members that wait to be merged: 34 MB
_SHARE = 32  # or so large a part of all, so that the cost of merging grows with n log n
_BLOCK = 1 << 16


class UuidSet:
    """An exact set of UUIDs, 16 bytes each; it grows, and may be shared between threads.

    What is added waits, is sorted in larger lots, merged into a small sorted part and from there
    into the large one. A look-up first merges what waits, so it never misses a member.
    """

    __slots__ = ("_is_whole", "_lock", "_main", "_recent", "_staged", "_staged_rows")

    def __init__(self, uuids: Iterable[bytes] = ()) -> None:
        """Start with these, 16 bytes each."""
        self._lock = RLock()  # a merge moves members: a look-up meanwhile could miss one
        self._is_whole = True
        self._staged: list[tuple[_Words, _Words]] = []
        self._staged_rows = 0
        self._recent = SortedUuids.empty()
        self._main = SortedUuids.empty()
        self.update(uuids)

    def update(self, uuids: Iterable[bytes]) -> None:
        """Add UUIDs of 16 bytes each; another ``UuidSet`` is taken over by columns."""
        if isinstance(uuids, UuidSet):
            self.extend(*uuids.columns())
            return
        rest = iter(uuids)
        while lot := list(islice(rest, _BLOCK)):
            if any(len(uuid) != _UUID_BYTES for uuid in lot):
                raise ValueError("a UUID has 16 bytes")
            self.extend(*words_of(b"".join(lot)))

    def extend(self, hi: _Words, lo: _Words) -> None:
        """Add n UUIDs, known or not, each as two uint64, in any order, or raise ``ValueError``."""
        _check_columns(hi, lo)
        for start in range(0, len(hi), _STAGED):
            part = slice(start, start + _STAGED)
            with self._lock:
                self._staged.append((hi[part].copy(), lo[part].copy()))
                self._staged_rows += len(self._staged[-1][0])
                if self._staged_rows >= _STAGED:
                    self._merge_waiting()

    def adopt(self, hi: _Words, lo: _Words) -> None:
        """Add n UUIDs as ``extend`` does; an empty set uses the columns themselves.

        They are not to be changed afterwards. It is for columns in order, each UUID once: others
        are copied.
        """
        _check_columns(hi, lo)
        with self._lock:
            if len(self) or not _is_in_order(hi, lo):
                self.extend(hi, lo)
                return
            # a view cannot be resized, so what is added later is merged into a copy
            self._main = SortedUuids(hi.view(), lo.view())

    def contains(self, hi: _Words, lo: _Words) -> _Mask:
        """Return bool[n]: whether each UUID is a member; raises as ``extend`` does."""
        _check_columns(hi, lo)
        with self._lock:
            self._merge_waiting()
            is_there = self._main.find(hi, lo)[1]
            if len(self._recent):
                is_there |= self._recent.find(hi, lo)[1]
            return is_there

    def columns(self) -> tuple[_Words, _Words]:
        """Return all members in order as two columns, read-only and without a copy."""
        with self._lock:
            self._merge_waiting()
            self._merge()
            views = self._main.hi.view(), self._main.lo.view()
        for view in views:
            view.flags.writeable = False
        return views

    def __contains__(self, uuid: object) -> bool:
        """Return whether 16 bytes are a member."""
        if not isinstance(uuid, bytes) or len(uuid) != _UUID_BYTES:
            return False
        return bool(self.contains(*words_of(uuid))[0])

    def __len__(self) -> int:
        """Return how many members there are."""
        with self._lock:
            self._merge_waiting()
            return len(self._main) + len(self._recent)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the members in the order of their bytes."""
        hi, lo = self.columns()
        for start in range(0, len(hi), _BLOCK):
            data = bytes_of(hi[start : start + _BLOCK], lo[start : start + _BLOCK])
            for at in range(0, len(data), _UUID_BYTES):
                yield data[at : at + _UUID_BYTES]

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same members."""
        if not isinstance(other, UuidSet):
            return NotImplemented
        return all(map(np.array_equal, self.columns(), other.columns()))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        """Return how many there are; there may be a hundred million."""
        return f"<{len(self)} UUIDs>"

    def __reduce__(self) -> tuple[type[UuidSet], tuple[()], tuple[_Words, _Words]]:
        """Return what makes an equal set in another process."""
        return UuidSet, (), self.columns()

    def __setstate__(self, state: tuple[_Words, _Words]) -> None:
        """Take over the columns of a pickled set."""
        self._main = SortedUuids(*state)

    def _merge_waiting(self) -> None:
        """Sort what waits, and add what is new of it to the recent members.

        Raises:
            RuntimeError: An earlier merge was broken off, by a signal or for want of memory: what
                is left may lack members, and a live set that lacks one condemns it.
        """
        if not self._is_whole:
            raise RuntimeError("a set of UUIDs was broken off while it was merged")
        if not self._staged:
            return
        self._is_whole = False
        hi, lo = (np.concatenate(each) for each in zip(*self._staged, strict=True))
        self._staged, self._staged_rows = [], 0
        self._add_to_recent(hi, lo)
        self._is_whole = True
        if len(self._recent) > max(_RECENT, len(self._main) // _SHARE):
            self._merge()

    def _add_to_recent(self, hi: _Words, lo: _Words) -> None:
        hi, lo = distinct(hi, lo)
        is_known = self._main.find(hi, lo)[1] | self._recent.find(hi, lo)[1]
        self._recent.insert(hi[~is_known], lo[~is_known])

    def _merge(self) -> None:
        if len(self._recent) == 0:
            return
        self._is_whole = False
        if len(self._main) == 0:
            self._main, self._recent = self._recent, self._main
        else:
            self._main.insert(self._recent.hi, self._recent.lo)
            self._recent = SortedUuids.empty()
        self._is_whole = True


def _check_columns(hi: _Words, lo: _Words) -> None:
    """Raise unless these are UUIDs: a signed number would never be found."""
    if not (hi.dtype == lo.dtype == np.uint64 and hi.shape == lo.shape == (len(hi),)):
        raise ValueError("UUIDs are two columns of uint64, one as long as the other")


def _is_in_order(hi: _Words, lo: _Words) -> bool:
    for start in range(0, len(hi), _BLOCK):
        part, following = slice(start, start + _BLOCK), slice(start + 1, start + 1 + _BLOCK)
        high, low = hi[following], lo[following]
        before = hi[part][: len(high)], lo[part][: len(low)]
        if not ((high > before[0]) | ((high == before[0]) & (low > before[1]))).all():
            return False
    return True
