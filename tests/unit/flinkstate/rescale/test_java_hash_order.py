"""Java's order of strings in hash maps; every expectation is what OpenJDK 17 printed."""

from itertools import product

import pytest

from flinkstate.rescale.java_hash_order import order_of_computed, order_of_put

WORDS = "zeta alpha ü 😀 a b c offsets buffer-list seen-union rules 0 1 2 3 4"
IN_ORDER = "zeta a b c buffer-list rules seen-union 0 1 2 3 4 offsets alpha 😀 ü"
SAME_HASH = ["".join(parts) for parts in product(("Aa", "BB"), repeat=4)]


def test_strings_come_in_the_order_of_their_hashes() -> None:
    """Of their UTF-16 units; the table has grown once."""
    assert order_of_put(WORDS.split()) == tuple(IN_ORDER.split())


def test_a_map_that_is_asked_once_more_grows_then() -> None:
    """Thirteen keys fill it; it grows when it is next asked, even for one of them."""
    keys = [f"state{number}" for number in range(13)]
    asked_again = order_of_computed([*keys, keys[0]])
    assert asked_again != order_of_computed(keys)
    assert sorted(asked_again) == sorted(keys)


@pytest.mark.parametrize("count", range(1, 10))
def test_of_one_hash_the_last_computed_comes_first(count: int) -> None:
    keys = SAME_HASH[:count]
    assert order_of_put(keys) == tuple(keys)
    assert order_of_computed(keys) == tuple(reversed(keys))


def test_where_java_makes_a_tree_the_order_is_unknown() -> None:
    """From ten computed keys of one hash on, or eleven that were put."""
    assert order_of_computed(SAME_HASH[:10]) is None
    assert order_of_put(SAME_HASH[:10]) == tuple(SAME_HASH[:10])
    assert order_of_put(SAME_HASH[:11]) is None


def test_a_lone_surrogate_is_a_unit_like_any_other() -> None:
    """Java's strings may hold one."""
    assert order_of_put(["\ud800", "a"]) == ("\ud800", "a")
