"""UUIDs in order: every one is found at its row, whatever stands beside it."""

import tracemalloc
from bisect import bisect_left
from itertools import product

import numpy as np
import pytest

from orphangc.core.columns import sorted_uuids
from orphangc.core.columns.sorted_uuids import SortedUuids, distinct, in_order

EDGES = [0, 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
EVERY = list(product(EDGES, EDGES))
"""UUIDs that share their first halves, and are the first and the last of all."""
RANDOM = np.random.default_rng(5)
MANY = sorted(map(tuple, RANDOM.integers(0, 2**64, (300, 2), dtype=np.uint64).tolist()))

Pairs = list[tuple[int, int]]


def columns_of(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    hi, lo = np.array(pairs, np.uint64).reshape(-1, 2).T.copy()
    return hi, lo


def pairs_of(hi: np.ndarray, lo: np.ndarray) -> Pairs:
    return list(zip(hi.tolist(), lo.tolist(), strict=True))


@pytest.fixture(params=[(1, 1, 1), (2, 3, 2), (8, 1 << 13, 1 << 19)])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few members go through what a hundred million go through."""
    for name, value in zip(("_ENTRIES_PER_START", "_PAGE", "_BLOCK"), request.param, strict=True):
        monkeypatch.setattr(sorted_uuids, name, value)


def holds(found: SortedUuids, known: Pairs) -> None:
    """Fail unless these are found, and nothing else is."""
    near = [(hi, lo + step) for hi, lo in known for step in (-1, 1) if 0 <= lo + step < 2**64]
    asked = [*EVERY, *known, *near]
    rows, is_there = found.find(*columns_of(asked))
    assert len(found) == len(known)
    assert pairs_of(found.hi, found.lo) == known
    assert is_there.tolist() == [each in set(known) for each in asked]
    assert (rows.dtype, is_there.dtype) == (np.int64, np.bool_)
    assert (found.hi.dtype, found.lo.dtype) == (np.uint64, np.uint64)
    if known:
        assert rows.tolist() == [bisect_left(known, each) for each in asked]


KNOWN = {
    "none": [],
    "the first": EVERY[:1],
    "the last": EVERY[-1:],
    "one half": [(2**63, lo) for lo in EDGES],
    "every edge": EVERY,
    "every other": EVERY[::2],
    "the upper ones": EVERY[30:],
    "the lower ones": EVERY[:30],
    "random ones": MANY,
    "neighbours": [(number, number % 3) for number in range(100)],
}


@pytest.mark.parametrize("pairs", KNOWN.values(), ids=KNOWN)
def test_any_order_is_put_right(pairs: Pairs) -> None:
    """By the first half, and where that is the same by the second; duplicates stay."""
    twice = [*pairs[1::2], *pairs[::-1]]
    for mixed in (pairs, pairs[::-1], twice, [twice[at] for at in RANDOM.permutation(len(twice))]):
        hi, lo = columns_of(mixed)
        rows = in_order(hi, lo)
        assert sorted(rows.tolist()) == list(range(len(mixed)))
        assert pairs_of(hi[rows], lo[rows]) == sorted(mixed)
        assert pairs_of(*distinct(hi, lo)) == sorted(set(mixed))


@pytest.mark.parametrize("at", range(4))
def test_one_pair_that_shares_a_half_is_put_right(at: int) -> None:
    """One among a hundred million, wherever it stands; sorting by first halves leaves it."""
    pairs = [(0, 90), (1, 80), (2, 70), (3, 60), (at, 1)]
    hi, lo = columns_of(pairs)
    assert in_order(hi, lo).tolist() == sorted(range(5), key=lambda row: pairs[row])


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_each_is_found_at_its_row_and_no_other_is(known: Pairs) -> None:
    """A member that a look-up misses would be condemned."""
    holds(SortedUuids(*columns_of(known)), known)


def test_of_equal_ones_the_first_is_found() -> None:
    """Several keys may end in one UUID: a look-up starts at the first of them."""
    known = sorted(EVERY[20:40] * 3)
    rows, is_there = SortedUuids(*columns_of(known)).find(*columns_of(EVERY))
    assert rows.tolist() == [bisect_left(known, each) for each in EVERY]
    assert is_there.tolist() == [each in known for each in EVERY]


def test_an_entry_is_compared_with_its_own_row() -> None:
    """Equal halves of two entries make no entry, and there is none behind the last."""
    entries = SortedUuids(*columns_of([(1, 7), (3, 7), (3, 9)]))
    asked = columns_of([(1, 7), (3, 7), (3, 9), (3, 7), (1, 9), (1, 7), (3, 9), (3, 9)])
    rows = np.array([0, 1, 2, 0, 0, 1, 1, 3])
    assert entries.is_at(rows, *asked).tolist() == [True] * 3 + [False] * 5


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("share", [slice(0, 0), slice(0, 7), slice(-7, None), slice(3, None, 4)])
def test_what_is_inserted_stands_in_order_among_the_others(known: Pairs, share: slice) -> None:
    """At either end, between any two, or among none: nothing is lost or doubled."""
    new = known[share]
    old = [each for each in known if each not in new]
    for first, second in ((old, new), (new, old)):
        found = SortedUuids(*columns_of(first))
        found.insert(*columns_of(second))
        holds(found, known)


@pytest.mark.usefixtures("steps")
def test_one_after_the_other_is_inserted() -> None:
    """The directory is that of the entries there are, after every step."""
    found = SortedUuids.empty()
    for count, at in enumerate(RANDOM.permutation(len(EVERY)).tolist(), 1):
        found.insert(*columns_of([EVERY[at]]))
        assert len(found) == count
    holds(found, EVERY)


def test_a_column_that_somebody_looks_at_is_left_to_them() -> None:
    """It must neither move nor grow under its reader."""
    found = SortedUuids(*columns_of(EVERY[::2]))
    views = found.hi[:], found.lo[:]
    found.insert(*columns_of(EVERY[1::2]))
    holds(found, EVERY)
    assert pairs_of(*views) == EVERY[::2]


def test_a_column_that_nobody_else_looks_at_grows_where_it_stands() -> None:
    """A hundred million entries must not stand there twice."""
    found = SortedUuids(np.arange(9, dtype=np.uint64), np.arange(9, dtype=np.uint64))
    columns = {id(found.hi), id(found.lo)}
    found.insert(*columns_of([(9, 9)]))
    assert {id(found.hi), id(found.lo)} == columns


def test_a_directory_takes_half_a_byte_an_entry() -> None:
    """Numbers of eight bytes each would take four times as much."""
    hi = np.sort(RANDOM.integers(0, 2**64, 60_000, dtype=np.uint64))
    tracemalloc.start()
    found = SortedUuids(hi, hi)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < len(found) / 2


def test_a_page_at_a_time_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a look-up needs beside its answer does not grow with what is asked."""
    pages = []
    look = SortedUuids._find_page
    monkeypatch.setattr(sorted_uuids, "_PAGE", 4)
    monkeypatch.setattr(
        SortedUuids,
        "_find_page",
        lambda self, hi, lo: pages.append(hi.tolist()) or look(self, hi, lo),
    )
    hi, lo = columns_of(EVERY[:70:7])
    rows, is_there = SortedUuids(*columns_of(EVERY)).find(hi, lo)
    assert rows.tolist() == list(range(0, 70, 7))
    assert is_there.all()
    assert pages == [hi[:4].tolist(), hi[4:8].tolist(), hi[8:].tolist()]
