"""A bucket's keys, computed: from rank to key and back, without a text held for each.

A ``Run`` is so many UUID names behind one head, ascending by construction: the first 48 bits of
the i-th name lie anywhere in the i-th of equal slots, so rank and key follow from each other.
``Named`` objects are spelled out. A ``KeySpace`` is both, in the order of the keys' bytes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import md5
from itertools import groupby
from typing import NamedTuple

import numpy as np

UUID_LENGTH = 36
_WORD = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_HEX_PAIRS = np.frombuffer("".join(f"{n:02x}" for n in range(256)).encode(), np.uint16)
_DASHES = (8, 13, 18, 23)
_PARTS = ((0, 0, 8), (9, 8, 12), (14, 12, 16), (19, 16, 20), (24, 20, 32))
_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


class Facts(NamedTuple):
    """What is stored, an array of each: the UUID and the ETag are two words of 64 bits."""

    hi: np.ndarray
    lo: np.ndarray
    etag_hi: np.ndarray
    etag_lo: np.ndarray
    size: np.ndarray
    modified: np.ndarray


@dataclass(frozen=True, slots=True)
class Ages:
    """When the objects of runs were stored: seconds since 1970, spread evenly."""

    oldest: int
    newest: int


@dataclass(frozen=True, slots=True)
class Run:
    """UUID names behind one head."""

    head: bytes  # all of the key but the name
    count: int  # at least one
    seed: int = 0
    first: int = 0  # least value of a name's first 48 bits
    limit: int = 2**48  # one more than the greatest

    @property
    def slot(self) -> int:
        """Return how many values of the first 48 bits belong to one name."""
        return (self.limit - self.first) // self.count

    def facts(self, positions: np.ndarray, ages: Ages) -> Facts:
        at = positions.astype(np.uint64)
        a = _mixed(at * np.uint64(_STEP) + np.uint64(self._salt))
        b = _mixed(a + np.uint64(_STEP))
        slot = np.uint64(self.slot)
        first48 = np.uint64(self.first) + at * slot + a % slot
        return Facts(
            hi=first48 << np.uint64(16) | np.uint64(0x4000) | b >> np.uint64(52),
            lo=b >> np.uint64(2) ^ a >> np.uint64(7) | np.uint64(1 << 63),
            etag_hi=a * np.uint64(_STEP),
            etag_lo=b * np.uint64(_STEP),
            size=1_000_000 + (b % np.uint64(9_000_000)).astype(np.int64),
            modified=ages.oldest
            + (a >> np.uint64(20)).astype(np.int64) % max(1, ages.newest - ages.oldest),
        )

    def names(self, positions: np.ndarray) -> list[str]:
        facts = self.facts(positions, Ages(0, 1))
        return uuid_texts(facts.hi, facts.lo).view(f"S{UUID_LENGTH}").ravel().astype(str).tolist()

    def key(self, position: int) -> bytes:
        """Return one whole key; the same as ``facts`` tells, in Python's own integers."""
        a = _mixed_one((position * _STEP + self._salt) & _WORD)
        b = _mixed_one((a + _STEP) & _WORD)
        hi = (self.first + position * self.slot + a % self.slot) << 16 | 0x4000 | b >> 52
        lo = b >> 2 ^ a >> 7 | 1 << 63
        h, t = f"{hi:016x}", f"{lo:016x}"
        return self.head + f"{h[:8]}-{h[8:12]}-{h[12:]}-{t[:4]}-{t[4:]}".encode()

    def rank(self, key: bytes) -> int:
        return bisect_left(range(self.count), key, key=self.key)

    def find(self, names: np.ndarray) -> np.ndarray:
        digits = _DIGITS[np.delete(names, _DASHES, axis=1)]
        packed = (digits[:, 0::2] << 4 | digits[:, 1::2] & 15).astype(np.uint8)
        words = np.ascontiguousarray(packed).view(">u8").astype(np.uint64)
        first48 = (words[:, 0] >> np.uint64(16)).astype(np.int64)
        positions = np.clip((first48 - self.first) // self.slot, 0, self.count - 1)
        facts = self.facts(positions, Ages(0, 1))
        is_here = (uuid_texts(facts.hi, facts.lo) == names).all(axis=1)
        return np.where(is_here, positions, -1)

    @property
    def _salt(self) -> int:
        return int.from_bytes(md5(b"%d %d " % (self.seed, self.first) + self.head).digest()[:8])


@dataclass(frozen=True, slots=True)
class Stored:
    """One object that is spelled out; without a body its bytes are zeros."""

    key: bytes
    modified: int
    body: bytes | None = None
    size: int = 0

    @property
    def length(self) -> int:
        return self.size if self.body is None else len(self.body)

    @property
    def etag(self) -> str:
        return _digest(self.key if self.body is None else self.body)


@cache
def _digest(data: bytes) -> str:
    """Return an ETag; a large checkpoint is asked for in many parts, and each has it."""
    return md5(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Named:
    """Objects that are spelled out, in the order of their keys, with nothing between."""

    objects: tuple[Stored, ...]

    @property
    def count(self) -> int:
        return len(self.objects)

    def key(self, position: int) -> bytes:
        return self.objects[position].key

    def rank(self, key: bytes) -> int:
        return bisect_left(self.objects, key, key=lambda stored: stored.key)


class KeySpace:
    """All keys of a bucket, by rank."""

    def __init__(self, runs: Sequence[Run], objects: Sequence[Stored] = ()) -> None:
        self.segments = _segments(runs, objects)
        self.starts = np.cumsum([0, *(segment.count for segment in self.segments)])
        self._firsts = [segment.key(0) for segment in self.segments]
        self._lasts = [segment.key(segment.count - 1) for segment in self.segments]
        self._by_head: dict[bytes, list[int]] = {}
        for index, segment in enumerate(self.segments):
            if isinstance(segment, Run):
                self._by_head.setdefault(segment.head, []).append(index)
        if any(a >= b for a, b in zip(self._lasts, self._firsts[1:], strict=False)):
            raise ValueError("the keys of two segments are interleaved")

    def __len__(self) -> int:
        return int(self.starts[-1])

    def key(self, rank: int) -> bytes:
        index = self.segment_of(rank)
        return self.segments[index].key(rank - int(self.starts[index]))

    def rank(self, key: bytes) -> int:
        index = bisect_right(self._firsts, key) - 1
        if index < 0:
            return 0
        return int(self.starts[index]) + self.segments[index].rank(key)

    def find(self, key: bytes) -> int | None:
        rank = self.rank(key)
        return rank if rank < len(self) and self.key(rank) == key else None

    def find_all(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return the rank of each key, -1 where there is none; neighbours of one run at once."""
        found = [
            self._find_alike(head, list(alike))
            for head, alike in groupby(keys, key=lambda key: key[:-UUID_LENGTH])
        ]
        return np.concatenate([np.empty(0, np.int64), *found])

    def parts(self, ranks: np.ndarray) -> Iterator[tuple[Run | Named, np.ndarray]]:
        """Yield the segments that ascending ranks lie in, with the positions there."""
        at = 0
        while at < len(ranks):
            index = self.segment_of(int(ranks[at]))
            following = int(np.searchsorted(ranks, self.starts[index + 1]))
            yield self.segments[index], ranks[at:following] - self.starts[index]
            at = following

    def segment_of(self, rank: int) -> int:
        return int(np.searchsorted(self.starts, rank, side="right")) - 1

    def _find_alike(self, head: bytes, keys: list[bytes]) -> np.ndarray:
        runs = self._by_head.get(head, ())
        is_even = all(len(key) == len(head) + UUID_LENGTH for key in keys)
        if len(runs) != 1 or not is_even:
            ranks = map(self.find, keys)
            return np.array([-1 if rank is None else rank for rank in ranks], np.int64)
        texts = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)[:, len(head) :]
        positions = self.segments[runs[0]].find(texts)
        return np.where(positions < 0, -1, positions + self.starts[runs[0]])


def uuid_texts(hi: np.ndarray, lo: np.ndarray) -> np.ndarray:
    """Return UUIDs as texts, shape (n, 36)."""
    digits = hex_digits(hi, lo)
    texts = np.full((len(hi), UUID_LENGTH), ord("-"), np.uint8)
    for to, start, end in _PARTS:
        texts[:, to : to + end - start] = digits[:, start:end]
    return texts


def hex_digits(*words: np.ndarray) -> np.ndarray:
    """Return words of 64 bits as hexadecimal digits, 16 of each word in a row."""
    octets = np.stack(words, axis=1).astype(">u8").view(np.uint8)
    return _HEX_PAIRS[octets].view(np.uint8)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Return words scrambled evenly (the last step of splitmix64)."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


def _mixed_one(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def _segments(runs: Sequence[Run], objects: Sequence[Stored]) -> list[Run | Named]:
    """Return runs and spelled out objects in order, objects grouped between the runs."""
    runs = sorted(runs, key=lambda run: run.key(0))
    firsts = [run.key(0) for run in runs]
    segments: list[Run | Named] = []
    before = 0
    ordered = sorted(objects, key=lambda stored: stored.key)
    for index, alike in groupby(ordered, key=lambda stored: bisect_right(firsts, stored.key)):
        segments += runs[before:index]
        segments.append(Named(tuple(alike)))
        before = index
    return [*segments, *runs[before:]]
