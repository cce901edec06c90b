"""Key ranges: a flat key space split into parts that are listed in parallel.

A range may be split anywhere, for every key is in exactly one part whatever the boundaries are.
``landmarks`` finds where to split, if places of keys are known or likely; if nothing
is known, ``orphangc.core.ranges.split_points`` does, from the names that were seen.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from orphangc.core.model.job_folders import SHARED
from orphangc.core.model.naming import parse_artifact_name


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys k with ``after`` < k <= ``until``, in the order of their UTF-8 bytes.

    Python compares texts by code point, which is the order of their UTF-8 bytes. Open below and
    closed above, because S3's ``StartAfter`` is.

    Attributes:
        after: ``None`` starts before every key, also before the empty one.
        until: Last key of the range; ``None`` goes on to the last key of all.
    """

    after: str | None = None
    until: str | None = None

    def __contains__(self, key: str) -> bool:
        """Return whether a key, relative to the storage root, is in the range."""
        return (self.after is None or key > self.after) and (
            self.until is None or key <= self.until
        )

    @property
    def is_empty(self) -> bool:
        """Return whether no key can be in the range."""
        return _end(self) <= _start(self)

    def overlaps(self, other: KeyRange) -> bool:
        """Return whether a key may be in both ranges."""
        return max(_start(self), _start(other)) < min(_end(self), _end(other))


EVERYTHING = KeyRange()
"""The whole key space."""

_Edge = tuple[int, str]


def _start(within: KeyRange) -> _Edge:
    return (0, "") if within.after is None else (1, within.after)


def _end(within: KeyRange) -> _Edge:
    return (2, "") if within.until is None else (1, within.until)


def _between(start: _Edge, end: _Edge) -> KeyRange:
    return KeyRange(start[1] if start[0] else None, end[1] if end[0] == 1 else None)


def gaps(finished: Iterable[KeyRange], within: KeyRange = EVERYTHING) -> list[KeyRange]:
    """Return what no finished range covers, in order; ``ValueError`` if two overlap."""
    found = []
    reached, last = _start(within), _end(within)
    for each in sorted(finished, key=_start):
        start, end = max(_start(each), _start(within)), min(_end(each), last)
        if end <= start:
            continue
        if start < reached:
            raise ValueError(f"{each} overlaps what ends at {reached[1]!r}")
        if reached < start:
            found.append(_between(reached, start))
        reached = end
    return [*found, _between(reached, last)] if reached < last else found


def split_at(within: KeyRange, boundaries: Iterable[str]) -> list[KeyRange]:
    """Return the range in parts that end at the boundaries; those outside it are ignored."""
    first, last = _start(within), _end(within)
    inside = sorted({key for key in boundaries if first < (1, key) < last})
    return [KeyRange(*edges) for edges in pairwise((within.after, *inside, within.until))]


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Points in the key space, and about how many objects are between each and the next."""

    keys: tuple[str, ...] = ()
    totals: tuple[float, ...] = ()

    @property
    def weight(self) -> float:
        """Return the weight of all."""
        return self.totals[-1] if self.totals else 0.0

    def weight_of(self, within: KeyRange) -> float:
        """Return the weight of the points in a range."""
        return self._up_to(within.until) - (
            0.0 if within.after is None else self._up_to(within.after)
        )

    def _up_to(self, key: str | None) -> float:
        if key is None:
            return self.weight
        at = bisect_right(self.keys, key)
        return self.totals[at - 1] if at else 0.0

    def median(self, within: KeyRange) -> str | None:
        """Return the point that halves a range; ``None`` if there is none strictly inside."""
        start = 0.0 if within.after is None else self._up_to(within.after)
        middle = (start + self._up_to(within.until)) / 2
        at = bisect_left(self.totals, middle)
        is_inside = at < len(self.keys) and self.keys[at] in within
        return self.keys[at] if is_inside and self.keys[at] != within.until else None

    def boundaries(self, wanted: int) -> list[str]:
        """Return boundaries that split the key space into at most ``wanted`` parts, by weight."""
        steps = (self.weight * step / wanted for step in range(1, wanted))
        found = (bisect_left(self.totals, each) for each in steps) if self.keys else ()
        return sorted({self.keys[at] for at in found})


_MOST_POINTS = 8192


def landmarks(
    directories: Iterable[str],
    names: Mapping[str, Sequence[str]],
    counts: Mapping[str, int] | None = None,
) -> Landmarks:
    """Return the likely places of objects before anything was listed.

    Names that are UUIDs are spread evenly, so they are as many hex prefixes; ``<id>_<uuid>`` and
    all other names stand where they stand. A folder that nothing is known of counts little.

    Args:
        directories: Keys of the job directories, whose ``shared/`` may contain files.
        names: A sample of base names by the key of their folder.
        counts: Number of names that the sample of a folder represents, if not its own.
    """
    counted = {f"{each}/{SHARED}" if each else SHARED: 1 for each in directories}
    for folder, sample in names.items():
        counted[folder] = max(1, len(sample), (counts or {}).get(folder, 0))
    total = sum(counted.values())
    weights: dict[str, float] = {}
    for folder, count in counted.items():
        room = max(1, _MOST_POINTS * count // total)
        for name, weight in _points(names.get(folder, ()), count, room):
            key = f"{folder}/{name}" if folder else name
            weights[key] = weights.get(key, 0.0) + weight
    keys = sorted(weights)
    return Landmarks(tuple(keys), tuple(accumulate(weights[key] for key in keys)))


def _points(sample: Sequence[str], count: int, room: int) -> Iterable[tuple[str, float]]:
    others = [name for name in sample if (parse_artifact_name(name) or (0, b""))[0] is not None]
    share = len(others) / len(sample) if sample else 0.0
    if others:
        taken = others[:: -(-len(others) // room)]
        yield from ((name, count * share / len(taken)) for name in taken)
    if share < 1:
        digits = next(each for each in (3, 2, 1, 0) if 16**each <= room)
        weight = count * (1 - share) / 16**digits
        yield from ((f"{n:0{digits}x}" if digits else "", weight) for n in range(16**digits))
