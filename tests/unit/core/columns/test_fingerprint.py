"""Equal collections have equal fingerprints; one UUID more, less, or twice shows."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.columns.fingerprint import NOTHING, Fingerprint

WORDS = st.integers(0, 2**64 - 1)
LOTS = st.lists(st.tuples(WORDS, WORDS), max_size=8)
MOST = 2**64 - 1


def fingerprint(lot: list[tuple[int, int]]) -> Fingerprint:
    hi, lo = np.array(lot, np.uint64).reshape(-1, 2).T
    return Fingerprint.of(hi, lo)


def mixed(hi: int, lo: int) -> int:
    """Return the word of one UUID, in numbers that have no end."""
    word = (hi * 0x9E3779B97F4A7C15 + lo * 0xC2B2AE3D27D4EB4F) & MOST
    word = (word ^ word >> 32) * 0xFF51AFD7ED558CCD & MOST
    return word ^ word >> 32


@given(LOTS)
def test_a_fingerprint_is_the_number_and_the_sum_of_the_mixed_words(lot) -> None:
    """Modulo two to the 64th, and as plain numbers, which can be sent elsewhere."""
    found = fingerprint(lot)
    assert found == (len(lot), sum(mixed(*each) for each in lot) & MOST)
    assert [type(each) for each in found] == [int, int]


@given(LOTS, LOTS)
def test_parts_add_up_to_the_whole_in_any_order(one, other) -> None:
    """What is expected and what is listed arrive in different lots."""
    whole = fingerprint([*other, *one])
    assert fingerprint(one) + fingerprint(other) == whole
    assert NOTHING + whole == whole


@given(LOTS, LOTS)
def test_other_uuids_have_another_fingerprint(one, other) -> None:
    """One doubled and one absent included."""
    assert (fingerprint(one) == fingerprint(other)) is (Counter(one) == Counter(other))


def test_a_fingerprint_is_not_added_to_anything_else() -> None:
    """A tuple would become a longer one."""
    assert NOTHING.__add__((1, 2)) is NotImplemented
