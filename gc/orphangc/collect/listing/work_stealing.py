"""Range scheduler: key ranges for parallel cursors, split again where one turns out heavy.

An idle cursor takes the upper half of what the heaviest other cursor still has before it: that
one's ``until`` is lowered, under the lock, to a key that it has not reached. It learns of that
after each page, and leaves the rows beyond to the new cursor. So every key belongs to exactly
one cursor at any moment, and a wrong estimate costs one request.
"""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from orphangc.core.ranges.key_ranges import KeyRange, Landmarks
from orphangc.core.ranges.split_points import Scale, midpoint, scale_of
from orphangc.errors import StorageUnreachableError

_WORTH_CUTTING = 4000
"""Minimum number of estimated objects before a cursor that is split: two pages for each half."""

_FREE_TRIES = 64
_PAGES_PER_TRY = 16
"""So many ranges may turn out to be empty, and one more for so many pages: names may mislead."""

_LEAST_SHARE = 0.01
"""Minimum listed part of a range; a smaller one says too little of the rest."""


class ListingStoppedError(Exception):
    """The listing is over: somewhere else it failed."""


@dataclass(slots=True)
class Density:
    """Density of objects in a range of names."""

    scale: Scale
    per_unit: float

    def between(self, start: str, until: str | None) -> float:
        """Return the likely number of objects there."""
        return self.per_unit * max(0.0, self.scale.at(until) - self.scale.at(start))


@dataclass(frozen=True, slots=True)
class RemainingRange:
    """What is left of a range when as many objects were listed as were wanted.

    Attributes:
        scale: How its names are written, if any of them was seen.
        objects: Likely number of its objects, by the density seen so far.
    """

    within: KeyRange
    scale: Scale | None
    objects: float


@dataclass(slots=True)
class RangeCursor:
    """One range that is being listed; ``until`` may be lowered by others.

    Attributes:
        after: Start of the range; finished parts before it no longer count.
        is_sealed: Whether all of it is taken, so that it cannot be split any more.
        density: Density of its present folder, or of the one that it was split from.
    """

    after: str | None
    until: str | None
    position: str | None = None
    is_sealed: bool = False
    is_split: bool = False
    density: Density | None = None
    taken: int = 0
    _first: str = ""
    _since_first: int = 0

    @property
    def reached(self) -> str | None:
        """Return the key that it is surely beyond."""
        return self.after if self.position is None else self.position

    @property
    def rest(self) -> KeyRange:
        """Return what it has still before it."""
        return KeyRange(self.reached, self.until)

    def learn(self, first: str, last: str, rows: int) -> None:
        """Record how densely the present folder is filled."""
        folder = last.rpartition("/")[0]
        if self._since_first and self._first.rpartition("/")[0] == folder:
            self._since_first += rows
        else:
            self._first, self._since_first = first, rows
        scale = scale_of(self._first, last)
        seen = scale.at(last) - scale.at(self._first)
        if seen > 0:
            self.density = Density(scale, self._since_first / seen)


class RangeScheduler:
    """Holds all ranges and their cursors; every method may be called from any thread."""

    def __init__(
        self,
        ranges: Iterable[KeyRange],
        landmarks: Landmarks,
        *,
        known: int = 0,
        most: int | None = None,
        worth_cutting: int = _WORTH_CUTTING,
    ) -> None:
        """Start with these ranges; ``known`` objects in all others are listed already.

        After about ``most`` objects, what is not listed is left to others.
        """
        self._worth_cutting = worth_cutting
        self._most = most
        self.left: list[RemainingRange] = []
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._pending = deque(RangeCursor(each.after, each.until) for each in ranges)
        self._active: list[RangeCursor] = []
        self._landmarks = landmarks
        self._open = sum(landmarks.weight_of(each.rest) for each in self._pending)
        self._known = known
        self._taken = 0
        self._pages = 0
        self._empty = 0
        self.failure: BaseException | None = None
        self.ranges = len(self._pending)
        with self._changed:
            self._notify_if_over()

    @property
    def is_over(self) -> bool:
        """Return whether all is listed, or it failed."""
        return self._over.is_set()

    @property
    def is_full(self) -> bool:
        """Return whether as many objects are listed as are wanted."""
        return self._most is not None and self._taken >= self._most

    def wait(self, seconds: float) -> bool:
        """Return whether it is over, after so many seconds at most."""
        return self._over.wait(seconds)

    def take(self, patience: float = 0.0) -> RangeCursor | None:
        """Return a range to list; ``None`` if there is none now: ask again unless it is over."""
        with self._changed:
            cursor = self._next()
            if cursor is None and patience and not self.is_over:
                self._changed.wait(patience)
                cursor = self._next()
            return cursor

    def _next(self) -> RangeCursor | None:
        if self.is_over:
            return None
        if self.is_full:
            self.left += map(self._remaining, self._pending)
            self._pending.clear()
            self._notify_if_over()
            return None
        cursor = self._pending.popleft() if self._pending else self._split_largest()
        if cursor is not None:
            self._active.append(cursor)
            self._changed.notify()  # there may be more to take
        return cursor

    def _split_largest(self) -> RangeCursor | None:
        if self._empty >= _FREE_TRIES + self._pages // _PAGES_PER_TRY:
            return None
        unsealed = (each for each in self._active if not each.is_sealed)
        for heavy in sorted(unsealed, key=self._before_it, reverse=True):
            if self._before_it(heavy) < self._worth_cutting:
                return None
            at = self._middle(heavy)
            if at is not None:
                self.ranges += 1
                upper = RangeCursor(at, heavy.until, is_split=True, density=heavy.density)
                heavy.until = at
                return upper
        return None

    def _before_it(self, cursor: RangeCursor) -> float:
        """Return the number of objects before a cursor, by landmarks or by its own density."""
        rest = cursor.rest
        seen = cursor.density.between(rest.after or "", rest.until) if cursor.density else 0.0
        return max(seen, self._landmarks.weight_of(rest))

    def _middle(self, cursor: RangeCursor) -> str | None:
        rest, density = cursor.rest, cursor.density
        start = rest.after or ""
        known = self._landmarks.weight_of(rest)
        if density is None or known >= density.between(start, rest.until):
            at = self._landmarks.median(rest)
            if at is not None:
                return at
        return midpoint(start, rest, density.scale if density else None)

    def advance(self, cursor: RangeCursor, first: str, last: str, rows: int) -> str | None:
        """Record a page; return where the cursor's range ends now: rows beyond are not its own.

        Raises:
            StorageUnreachableError: The page does not come after the one before.
            ListingStoppedError: The listing is over.
        """
        with self._changed:
            if self.is_over:
                raise ListingStoppedError
            if last < first or (cursor.reached is not None and first <= cursor.reached):
                raise StorageUnreachableError("the store does not list in the order of its keys")
            self._pages += 1
            if cursor.until is not None and last >= cursor.until:
                cursor.is_sealed = True
                return cursor.until
            cursor.position = last
            cursor.learn(first, last, rows)
            if self._before_it(cursor) >= self._worth_cutting:
                self._changed.notify()
            return cursor.until

    def took(self, cursor: RangeCursor, rows: int) -> None:
        """Record how many rows of a page belonged to the cursor's range."""
        with self._changed:
            cursor.taken += rows
            self._taken += rows

    def seal(self, cursor: RangeCursor) -> KeyRange:
        """Return the range that the cursor has listed to its end."""
        with self._changed:
            cursor.is_sealed = True
            return KeyRange(cursor.after, cursor.until)

    def split(self, cursor: RangeCursor) -> KeyRange:
        """Return the range listed so far; the cursor goes on with the rest as a new range."""
        with self._changed:
            listed = KeyRange(cursor.after, cursor.position)
            cursor.after = cursor.position
            self._close(listed)
            return listed

    def finish(self, cursor: RangeCursor) -> None:
        """Record that the spool has all rows of the cursor."""
        with self._changed:
            self._active.remove(cursor)
            self._empty += cursor.is_split and not cursor.taken
            self._close(KeyRange(cursor.after, cursor.until))
            self._notify_if_over()

    def leave(self, cursor: RangeCursor) -> None:
        """Leave what a cursor has still before it to others."""
        with self._changed:
            self._active.remove(cursor)
            self.left.append(self._remaining(cursor))
            self._notify_if_over()

    def _remaining(self, cursor: RangeCursor) -> RemainingRange:
        scale = cursor.density.scale if cursor.density else None
        return RemainingRange(cursor.rest, scale, self._before_it(cursor))

    def _close(self, listed: KeyRange) -> None:
        self._open -= self._landmarks.weight_of(listed)

    def _notify_if_over(self) -> None:
        if not self._pending and not self._active:
            self._over.set()
            self._changed.notify_all()

    def fail(self, error: BaseException | None) -> None:
        """Stop all cursors; the first error is kept."""
        with self._changed:
            if not self.is_over:
                self.failure = error
            self._over.set()
            self._changed.notify_all()

    def progress(self) -> tuple[int, int | None]:
        """Return how many objects are listed, and about how many there are; ``None``: unknown."""
        with self._changed:
            done, weight = self._known + self._taken, self._landmarks.weight
            begun = sum(
                self._landmarks.weight_of(KeyRange(each.after, each.position))
                for each in self._active
                if each.position is not None
            )
            share = (weight - self._open + begun) / weight if weight else 0.0
            return done, None if share < _LEAST_SHARE else max(done, int(done / share))
