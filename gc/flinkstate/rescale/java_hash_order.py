"""Iteration order of strings in Java's hash maps: Flink assigns state in this order."""

from collections.abc import Iterable

_SMALLEST_TABLE = 16
_TREE_TABLE = 64
_LONGEST_PUT = 8
_LONGEST_COMPUTED = 7


def order_of_put(keys: Iterable[str]) -> tuple[str, ...] | None:
    """Return the keys in the iteration order of a ``HashMap`` into which they were put in turn.

    None if one bucket gets so many keys that Java turns it into a tree, which has another order.

    Source: OpenJDK 8-21, ``String.hashCode``, ``HashMap.putVal``, ``HashMap.resize``.
    """
    table = _Table()
    for count, key in enumerate(dict.fromkeys(keys), 1):
        bucket = table.bucket(key)
        bucket.append(key)
        if len(bucket) > _LONGEST_PUT and not table.relieve():
            return None
        if table.is_full(count):
            table.grow()
    return table.keys()


def order_of_computed(keys: Iterable[str]) -> tuple[str, ...] | None:
    """Return the keys in the iteration order of a ``HashMap`` filled by ``computeIfAbsent``.

    A new key goes to the front of its bucket. A full table grows at the next call, even for a
    present key.

    Args:
        keys: Keys of all calls in turn; a key may occur again.

    Source: OpenJDK 8-21, ``HashMap.computeIfAbsent``.
    """
    table = _Table()
    known: set[str] = set()
    for key in keys:
        if table.is_full(len(known)):
            table.grow()
        if key in known:
            continue
        known.add(key)
        bucket = table.bucket(key)
        bucket.insert(0, key)
        if len(bucket) > _LONGEST_COMPUTED and not table.relieve():
            return None
    return table.keys()


class _Table:
    def __init__(self) -> None:
        self._buckets: list[list[str]] = [[] for _ in range(_SMALLEST_TABLE)]

    def bucket(self, key: str) -> list[str]:
        return self._buckets[_spread(key) % len(self._buckets)]

    def keys(self) -> tuple[str, ...]:
        return tuple(key for bucket in self._buckets for key in bucket)

    def is_full(self, count: int) -> bool:
        return 4 * count > 3 * len(self._buckets)

    def grow(self) -> None:
        keys = self.keys()
        self._buckets = [[] for _ in range(2 * len(self._buckets))]
        for key in keys:
            self.bucket(key).append(key)

    def relieve(self) -> bool:
        """Grow because a bucket is too long; return False if Java would make a tree instead."""
        is_small = len(self._buckets) < _TREE_TABLE
        if is_small:
            self.grow()
        return is_small


def _spread(key: str) -> int:
    value = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return value ^ value >> 16
