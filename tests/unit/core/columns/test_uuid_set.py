"""A set of UUIDs misses no member, however its parts were merged, and says so if it might."""

import re
from itertools import product

import numpy as np
import pytest

from orphangc.core.columns import sorted_uuids, uuid_set
from orphangc.core.columns.sorted_uuids import SortedUuids
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import bytes_of, words_of

EDGES = (0, 1, 2**63 - 1, 2**63, 2**64 - 1)
EVERY = [(hi << 64 | lo).to_bytes(16) for hi, lo in product(EDGES, EDGES)]
COLUMNS = "UUIDs are two columns of uint64, one as long as the other"
SIXTEEN = "a UUID has 16 bytes"
UUIDS = [bytes([number]) * 16 for number in (7, 3, 9, 1, 5)]


def test_a_set_whose_merge_was_broken_off_answers_no_more(monkeypatch) -> None:
    """What is left may lack members, and a live set that lacks one condemns it."""
    found = UuidSet(UUIDS[:2])
    assert len(list(found)) == 2, "these are the large part now"
    found.update([UUIDS[2]])
    assert len(found) == 3, "and this waits to be merged"

    def broken(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(SortedUuids, "insert", broken)
        with pytest.raises(MemoryError):
            found.columns()
    for ask in (
        lambda: UUIDS[0] in found,
        lambda: found.contains(*words_of(UUIDS[0])),
        lambda: list(found),
        found.columns,
        found.__len__,
    ):
        with pytest.raises(
            RuntimeError, match=r"^a set of UUIDs was broken off while it was merged$"
        ):
            ask()


SMALL = (
    (uuid_set, "_STAGED", 3),
    (uuid_set, "_RECENT", 4),
    (uuid_set, "_SHARE", 4),
    (uuid_set, "_BLOCK", 3),
    (sorted_uuids, "_PAGE", 3),
    (sorted_uuids, "_BLOCK", 2),
    (sorted_uuids, "_ENTRIES_PER_START", 2),
)


@pytest.mark.parametrize("sizes", [SMALL, ()], ids=["small", "usual"])
def test_adopted_columns_are_used_and_never_changed(sizes: tuple, monkeypatch) -> None:
    """They are a checkpoint's names too."""
    for module, name, value in sizes:
        monkeypatch.setattr(module, name, value)
    some = sorted(EVERY)[3:20]
    hi, lo = words_of(b"".join(some))
    found = UuidSet()
    found.adopt(hi, lo)
    assert all(np.shares_memory(*each) for each in zip(found.columns(), (hi, lo), strict=True))
    for each in EVERY:
        found.update([each])
        assert each in found
    assert list(found) == sorted(EVERY)
    assert bytes_of(hi, lo) == b"".join(some)


@pytest.mark.parametrize("lot", [EVERY[::-1], [EVERY[0]] * 2, [*EVERY, EVERY[7]]])
@pytest.mark.parametrize("block", [1, 3, 1 << 16])
def test_what_is_in_no_order_is_found_all_the_same(lot: list, block: int, monkeypatch) -> None:
    """A look-up in columns that are out of order would miss a member."""
    monkeypatch.setattr(uuid_set, "_BLOCK", block)
    found = UuidSet()
    found.adopt(*words_of(b"".join(lot)))
    assert list(found) == sorted(set(lot))
    assert all(each in found for each in lot)


@pytest.mark.parametrize(
    ("hi", "lo"),
    [
        (np.zeros(2, np.uint64), np.zeros(1, np.uint64)),
        (np.zeros(1, np.uint64), np.zeros(2, np.uint64)),
        (np.zeros(2), np.zeros(2)),
        (np.zeros(2, ">u8"), np.zeros(2, ">u8")),
        (np.zeros(2, np.int64), np.zeros(2, np.int64)),
        (np.zeros(2, np.uint64), np.zeros(2, np.int64)),
        (np.zeros(2, np.int64), np.zeros(2, np.uint64)),
        (np.zeros((2, 2), np.uint64), np.zeros((2, 2), np.uint64)),
        (np.zeros((2, 1), np.uint64), np.zeros(2, np.uint64)),
        (np.zeros(2, np.uint64), np.zeros((2, 1), np.uint64)),
    ],
)
def test_what_is_no_pair_of_columns_is_refused(hi: np.ndarray, lo: np.ndarray) -> None:
    """Numbers of another kind would be looked for in vain, and count as orphans."""
    for method in (UuidSet().extend, UuidSet().adopt, UuidSet(UUIDS).contains):
        with pytest.raises(ValueError, match=f"^{re.escape(COLUMNS)}$"):
            method(hi, lo)


@pytest.mark.parametrize("wrong", [b"", UUIDS[0][:15], UUIDS[0] + b"\0", UUIDS[0] * 2])
def test_what_has_not_sixteen_bytes_is_refused_and_is_no_member(wrong: bytes) -> None:
    """Two wrong lengths may add up to right ones."""
    for given in (lambda: UuidSet([UUIDS[0], wrong]), lambda: UuidSet().update([wrong])):
        with pytest.raises(ValueError, match=f"^{SIXTEEN}$"):
            given()
    assert wrong not in UuidSet(UUIDS)
    assert "7" * 16 not in UuidSet([b"7" * 16])
    assert UUIDS[0] not in UuidSet()
