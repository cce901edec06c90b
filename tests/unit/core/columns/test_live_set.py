"""Sets of UUIDs that may not miss one, the names they come from, and the live set."""

import hashlib
import pickle
import threading
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.columns import sorted_uuids
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.sorted_uuids import SortedUuids, in_order
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import bytes_of, texts_of, words_of
from orphangc.core.model.naming import uuid_of
from support.builders import NAME, NAME_WITH_ID, OTHER_UUID, UUID
from support.strategies import names
from unit.core.columns.test_uuid_set import SMALL

EDGES = [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
EVERY = [(hi << 64 | lo).to_bytes(16) for hi, lo in product(EDGES, EDGES)]
"""UUIDs that share first halves, and are first and last of all: what a look-up may trip over."""


def some(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return tuple(random.integers(0, 2**64, (2, count), dtype=np.uint64))


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a set of a few members go through what a hundred million go through."""
    for module, name, value in SMALL:
        monkeypatch.setattr(module, name, value)


lots = st.lists(st.lists(st.sampled_from(EVERY) | st.binary(min_size=16, max_size=16), max_size=9))
ways = ("extend", "update", "add", "union", "adopt", "adopt in order", "look", "pickle")


@pytest.mark.usefixtures("small_steps")
def test_a_set_is_a_set_whatever_it_went_through() -> None:
    """R5: in any order, in lots of any size, with look-ups between, twice, or sent elsewhere."""

    @given(lots, st.data())
    def holds(given_lots: list[list[bytes]], data: st.DataObject) -> None:
        uuids, expected = UuidSet(), set()
        for lot in given_lots:
            uuids = grown(uuids, lot, data.draw(st.sampled_from(ways)))
            expected |= set(lot)
        asked = [*EVERY, *expected]
        is_there = uuids.contains(*words_of(b"".join(asked)))
        assert is_there.dtype == np.bool_
        assert is_there.tolist() == [each in expected for each in asked]
        assert [each in uuids for each in EVERY] == [each in expected for each in EVERY]
        assert list(uuids) == sorted(expected)
        assert bytes_of(*uuids.columns()) == b"".join(sorted(expected))
        assert len(uuids) == len(expected)
        assert (uuids == UuidSet(expected)) is True
        assert (uuids == UuidSet(expected ^ {UUID})) is False

    holds()


def grown(uuids: UuidSet, lot: list[bytes], way: str) -> UuidSet:
    if way == "add":
        for each in lot:
            uuids.update([each])
    elif way == "extend":
        uuids.extend(*words_of(b"".join(lot)))
    elif way == "adopt":
        uuids.adopt(*words_of(b"".join(lot)))
    elif way == "adopt in order":
        uuids.adopt(*words_of(b"".join(sorted(set(lot)))))
    else:
        uuids.update(UuidSet(lot) if way == "union" else iter(lot))
    if way == "look":
        uuids.contains(*words_of(b"".join(EVERY)))
    return pickle.loads(pickle.dumps(uuids)) if way == "pickle" else uuids


def test_a_large_set_misses_nothing_and_invents_nothing() -> None:
    """The same at a size at which the usual steps are taken: pages, blocks, several merges."""
    hi, lo = some(300_000)
    uuids = UuidSet()
    for part in np.array_split(np.arange(len(hi)), 7):
        uuids.extend(hi[part], lo[part])
    uuids.extend(hi[::3], lo[::3])
    assert len(uuids) == len(hi)
    assert uuids.contains(hi, lo).all()
    assert not uuids.contains(hi, lo + np.uint64(1)).any()
    assert not uuids.contains(*some(300_000, seed=2)).any()
    rows = np.lexsort((lo, hi))
    assert all(map(np.array_equal, uuids.columns(), (hi[rows], lo[rows])))


@pytest.mark.parametrize("shift", [0, 16, 60])
def test_uuids_that_are_not_random_are_found_all_the_same(shift: int) -> None:
    """Time-ordered UUIDs crowd into few directory entries; that may cost time, not truth."""
    hi = np.arange(50_000, dtype=np.uint64) >> np.uint64(shift % 20) << np.uint64(shift % 40)
    lo = np.arange(50_000, dtype=np.uint64) % np.uint64(977) * np.uint64(2)
    uuids = UuidSet()
    uuids.extend(hi, lo)
    assert uuids.contains(hi, lo).all()
    assert not uuids.contains(hi, lo + np.uint64(1)).any()


def test_adding_to_a_large_set_takes_no_second_copy(monkeypatch) -> None:
    """A hundred million UUIDs must fit in 2 GB while the last root is being added, too."""
    monkeypatch.setattr(sorted_uuids, "_BLOCK", 1 << 13)
    hi, lo = some(300_000)
    rows = in_order(hi, lo)
    more = UuidSet()
    more.extend(*some(1000, seed=2))
    tracemalloc.start()
    main = SortedUuids(hi[rows], lo[rows])
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    main.insert(*more.columns())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(main) == 301_000
    assert peak < 1.25 * before


def test_what_somebody_looks_at_does_not_change() -> None:
    """A column that was handed out must not grow or move under its reader."""
    uuids = UuidSet()
    uuids.extend(*some(1000))
    columns = uuids.columns()
    before = [column.copy() for column in columns]
    uuids.extend(*some(1000, seed=2))
    assert [len(column) for column in uuids.columns()] == [2000, 2000]
    assert all(map(np.array_equal, columns, before))
    with pytest.raises(ValueError, match="read-only"):
        columns[0][0] = 0


def test_what_was_handed_in_may_be_used_again() -> None:
    """Nobody knows when a set sorts what it was given."""
    hi, lo = some(1000)
    uuids = UuidSet()
    uuids.extend(hi, lo)
    hi += np.uint64(1)
    assert uuids.contains(*some(1000)).all()
    assert not uuids.contains(hi, lo).any()


def test_nobody_misses_a_member_while_others_add() -> None:
    """A member that is overlooked during a merge would be condemned."""
    hi, lo = some(20_000)
    uuids = UuidSet()
    uuids.extend(hi, lo)
    missed: list[int] = []

    def look() -> None:
        missed.extend(int(np.count_nonzero(~uuids.contains(hi, lo))) for _ in range(30))

    def add() -> None:
        for seed in range(2, 17):
            uuids.extend(*some(5000, seed=seed))
            uuids.columns()

    threads = [threading.Thread(target=work) for work in (look, add, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missed == [0] * 60


@given(st.lists(names | st.sampled_from([NAME, NAME_WITH_ID, "x" + NAME, "_metadata", ""])))
def test_file_names_are_a_set_of_names(given_names: list[str]) -> None:
    """Every spelling is kept apart, and none is lost."""
    found = FileNames(iter(given_names))
    expected = set(given_names)
    assert set(found) == expected
    assert len(list(found)) == len(found) == len(expected)
    asked = [*given_names, NAME, NAME_WITH_ID, f"0{NAME_WITH_ID}", f"7_{NAME}", NAME.upper()]
    assert [name in found for name in asked] == [name in expected for name in asked]
    assert (found == FileNames(sorted(expected))) is True
    assert hash(found) == hash(FileNames(sorted(expected)))
    assert (found == FileNames(expected ^ {"another"})) is False
    hi, lo = found.uuids
    uuids = {uuid_of(name) for name in expected} - {None}
    assert data_of(hi, lo) == uuids
    by_head = {
        head + name
        for head, some_hi, some_lo in found.heads()
        for name in FileNames(texts(some_hi, some_lo))
    }
    assert by_head | found.others == expected


def data_of(hi: np.ndarray, lo: np.ndarray) -> set[bytes]:
    data = bytes_of(hi, lo)
    return {data[at : at + 16] for at in range(0, len(data), 16)}


def texts(hi: np.ndarray, lo: np.ndarray) -> list[str]:
    hexes = [each.hex() for each in data_of(hi, lo)]
    return [f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}" for h in hexes]


def test_a_million_names_are_kept_in_numbers() -> None:
    """A large job's root refers to millions of files; a set of texts takes 130 bytes each."""
    hi, lo = some(100_000)
    many = texts(hi, lo)
    FileNames(many[:1])  # Arrow imports what it needs at its first array
    tracemalloc.start()
    bare, numbered = FileNames(iter(many)), FileNames(f"7_{name}" for name in many)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert (bare.checkpoint_ids, len(numbered)) == (None, 100_000)
    assert size < 100_000 * (16 + 24 + 1)
    assert list(bare) == sorted(many)


def test_uuids_that_share_a_half_are_told_apart() -> None:
    """A look-up goes by the first half, and must end with it."""
    hi, lo = np.array([1, 3, 3], np.uint64), np.array([7, 7, 9], np.uint64)
    for head in ("", "41_"):
        found = FileNames(head + text for text in texts(hi, lo))
        pairs = list(product(range(5), (6, 7, 8, 9)))
        asked = [texts(*np.array([[one], [other]], np.uint64))[0] for one, other in pairs]
        assert [pair for pair, text in zip(pairs, asked, strict=True) if head + text in found] == [
            (1, 7),
            (3, 7),
            (3, 9),
        ]


def test_names_with_other_checkpoint_ids_are_other_names() -> None:
    """In a set, in its hash, and in whether two are equal."""
    sets = [FileNames([name]) for name in (NAME, f"41_{NAME}", f"42_{NAME}", "x", "y")]
    assert [[one == other for other in sets] for one in sets] == np.eye(5, dtype=bool).tolist()
    assert hash(sets[0]) != hash(sets[3]) != hash(sets[4])
    assert 7 not in sets[0]
    assert None not in sets[3]


@pytest.mark.parametrize("other", [(1, 9), (2, 7)])
def test_a_name_that_comes_twice_is_one(other: tuple[int, int]) -> None:
    """Also where it is not the first, and shares a half with that."""
    one, two = texts_of(*np.array([(1, 7), other], np.uint64).T)
    for first, second in ((one, two), (one, f"41_{one}"), (f"7_{one}", f"8_{one}")):
        assert list(FileNames([second, first, second])) == [first, second]


def test_half_a_character_makes_a_name_that_is_no_artifact() -> None:
    """Java's texts may hold one; the names beside it are read as ever."""
    half = f"\ud800{NAME}"
    found = FileNames([half, NAME, "é", f"41_{NAME}"])
    assert found.others == {half, "é"}
    assert list(found) == [NAME, f"41_{NAME}", "é", half]
    assert half in found
    assert f"\ud801{NAME}" not in found
    assert len(found.hi) == 2


def test_each_head_has_its_uuids_in_order() -> None:
    """Of many, in no order, with ids in turn."""
    hi, lo = some(200)
    heads = ("", "7_", "41_")
    given_names = [heads[row % 3] + text for row, text in enumerate(texts_of(hi, lo))]
    shown = {head: texts_of(hi, lo) for head, hi, lo in FileNames(given_names).heads()}
    assert list(shown) == list(heads)
    assert shown == {head: sorted(_after(head, given_names)) for head in heads}


def _after(head: str, given_names: list[str]) -> list[str]:
    long = len(head) + 36
    return [name[len(head) :] for name in given_names if len(name) == long]


@given(*[st.sets(st.sampled_from(EVERY), max_size=8)] * 2)
def test_the_live_set_is_the_union_of_two_oracles(parsed: set[bytes], raw: set[bytes]) -> None:
    """R5, R7: and the digest is that of the union, whichever oracle names a member."""
    live = LiveSet(parsed=UuidSet(parsed), raw=UuidSet(raw))
    assert [uuid in live for uuid in EVERY] == [uuid in parsed | raw for uuid in EVERY]
    found = live.contains(*words_of(b"".join(EVERY)))
    assert found.tolist() == [uuid in parsed | raw for uuid in EVERY]
    union = b"".join(sorted(parsed | raw))
    assert live.digest() == hashlib.sha256(union).hexdigest()
    compact = LiveSet(parsed=UuidSet(parsed))
    compact.extend_raw(*words_of(b"".join(raw)))
    assert set(compact.raw) == raw - parsed
    assert compact.digest() == live.digest()


def test_a_large_live_set_has_the_digest_of_its_sorted_members() -> None:
    """The digest is computed in parts; the identity of a plan must not depend on how."""
    live = LiveSet()
    live.parsed.extend(*some(100_000))
    live.raw.extend(*some(1000, seed=2))
    live.raw.extend(*(column[:1000] for column in some(100_000)))
    live.raw.update(EVERY)
    union = b"".join(sorted({*live.parsed, *live.raw}))
    assert live.digest() == hashlib.sha256(union).hexdigest()


def test_an_empty_live_set_has_a_digest_and_no_member() -> None:
    """A storage without a checkpoint: the plan still names its evidence."""
    live = LiveSet()
    assert UUID not in live
    assert not live.contains(*words_of(UUID + OTHER_UUID)).any()
    assert live.digest() == hashlib.sha256(b"").hexdigest()
