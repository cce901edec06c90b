"""Names are read as numbers: where one stands, which name stands in the middle of two."""

import pytest

from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.core.ranges.split_points import Scale, midpoint, scale_of

HEX, DECIMAL = "0123456789abcdef", "0123456789"
ANY = "".join(map(chr, range(0x21, 0x7F)))
ON_HEX = Scale("j/", HEX)


# --- a scale


@pytest.mark.parametrize(
    ("key", "at"),
    [
        (None, 1),
        ("a", 0),
        ("k", 1),
        ("j/", 0),
        ("j/8", 1 / 2),
        ("j/80", 1 / 2),
        ("j/48", 9 / 32),
        ("j/4848", 9 / 32 + 9 / 32 / 256),
        ("j/f", 15 / 16),
        ("j/:", 10 / 16),
        ("j/:8", 10 / 16),
        ("j/4-8", 4 / 16),
        ("j/z", 1),
        ("j/zz", 1),
        (f"j/{'f' * 20}", 1 - 16**-12),
    ],
)
def test_a_key_stands_where_its_digits_say(key: str | None, at: float) -> None:
    """What is no digit stands between those that it sorts between, and ends the number."""
    assert ON_HEX.at(key) == at


@pytest.mark.parametrize("alphabet", [HEX, DECIMAL, ANY])
def test_no_key_stands_behind_the_end_whatever_is_rounded(alphabet: str) -> None:
    """The last digit, again and again, and then what sorts behind all of them."""
    for digits in range(14):
        assert Scale("", alphabet).at(alphabet[-1] * digits + "é") <= 1


@pytest.mark.parametrize(
    ("at", "digits", "key"),
    [
        (0, 3, "j/000"),
        (1 / 2, 1, "j/8"),
        (9 / 32, 1, "j/4"),
        (9 / 32, 2, "j/48"),
        (9 / 32, 3, "j/480"),
        (0.999, 1, "j/f"),
        (0.999, 2, "j/ff"),
        (1, 2, "j/ff"),
        (0.1, 0, "j/"),
    ],
)
def test_a_place_has_a_key_of_so_many_digits(at: float, digits: int, key: str) -> None:
    """Cut off, so that it stands just before; at the very end it is the last one."""
    assert ON_HEX.key(at, digits) == key


@pytest.mark.parametrize(
    ("first", "last", "scale"),
    [
        ("j/12345678-", "j/12345678-", ON_HEX),
        ("j/12345678", "j/12345678", Scale("j/", DECIMAL)),
        ("j/1234567-", "j/1234567-", Scale("j/", DECIMAL)),
        ("j/1234567a", "j/1234567a", ON_HEX),
        ("j/123456a", "j/123456a", Scale("j/", DECIMAL)),
        ("j/123456789-", "j/123456789-", Scale("j/", DECIMAL)),
        ("j/aaaaaaaa", "j/aaaaaaab", ON_HEX),
        ("q12345678-", "q12345679-", Scale("q", HEX)),
        ("j/12-", "j/13-", Scale("j/", DECIMAL)),
        ("j/10_x", "j/10_x", Scale("j/", DECIMAL)),
        ("j/b10", "j/b12", Scale("j/b", DECIMAL)),
        ("j/abe", "j/abf", Scale("j/ab", ANY)),
        ("j/1b", "j/1c", Scale("j/", DECIMAL)),
        ("j/zy", "j/zz", Scale("j/z", ANY)),
        ("1/2", "1/3", Scale("1/", DECIMAL)),
        ("12", "13", Scale("", DECIMAL)),
        ("12345678-", "12345679-", Scale("", HEX)),
        ("a/x", "b/x", Scale("", ANY)),
        ("a/1/x", "a/2/x", Scale("a/", DECIMAL)),
        ("a/1/x", "a/1/x", Scale("a/1/", ANY)),
        ("x", "x", Scale("", ANY)),
        ("", "", Scale("", ANY)),
    ],
)
def test_a_scale_begins_where_two_names_differ_or_with_the_name(first, last, scale) -> None:
    """Eight hex digits and a dash are a UUID; fewer, or without a letter, are a decimal number."""
    assert scale_of(first, last) == scale


# --- the middle


@pytest.mark.parametrize(
    ("position", "until", "middle"),
    [
        ("", None, "P"),
        ("", "a", "A"),
        ("a", None, "p"),
        ("a", "b", "aP"),
        ("a", "c", "b"),
        ("ab", "ac", "abO"),
        ("a~", "b", "a~O"),
        ("a~~", "b", "a~~O"),
        ("aa", "ab!", "aaP"),
        ("m", "mm", "mF"),
        ("a!", 'a"', "a!O"),
        ("a/", "a/b", "a/A"),
        ("chk-1", "chk-1003", "chk-1("),
        ("chk-9", "chk-99", "chk-9,"),
        ("a\xa0", "a\xa2", "a\xa1"),
        ("a", "a\xa1", "aP"),
        ("a\ud7ff", "a\ue000", "a\ud7ffO"),
        ("é", None, "\u6c75"),
        ("\U0001fffd", None, "\U0001fffdO"),
        ("", "", None),
        ("a", "a!", None),
        ("zz", "zz!", None),
        ("a", "a", None),
        ("b", "a", None),
    ],
)
def test_the_middle_is_short_and_can_be_typed(position, until, middle) -> None:
    """In ASCII where any of it lies between, and one character longer where none does."""
    assert midpoint(position, KeyRange(None, until)) == middle


def test_what_lies_before_a_range_is_not_cut() -> None:
    """Whoever has seen nothing of it stands at its beginning."""
    scale = Scale("j/", HEX)
    assert midpoint("a", KeyRange("j/8", None), scale) == "j/c"
    assert midpoint("j/c", KeyRange("j/8", None), scale) == "j/e"
    assert midpoint("z", KeyRange(None, "m")) is None


def test_a_key_is_as_long_as_tells_the_middle_well() -> None:
    """An eighth of what remains is near enough; a longer key would say no more."""
    assert midpoint("j/80", KeyRange(None, "j/90"), ON_HEX) == "j/88"
    assert midpoint("j/800", KeyRange(None, "j/808"), ON_HEX) == "j/804"
    assert midpoint("j/8", KeyRange(None, "j/a"), ON_HEX) == "j/9"


@pytest.mark.parametrize(("length", "is_found"), [(511, True), (512, False)])
def test_a_key_that_is_made_up_has_512_bytes_at_most(length: int, is_found) -> None:
    """A store takes 1024, with the prefix of the storage root."""
    middle = midpoint("a" * length, KeyRange(None, "a" * length + "c"), Scale("", DECIMAL))
    assert (middle is not None) is is_found
    if middle is not None:
        assert len(middle) == 512


def test_between_names_that_are_longer_a_key_may_be_as_long_as_they_are() -> None:
    """They were taken by the store."""
    start = "a" * 1000
    assert midpoint(start, KeyRange(None, "a" * 999 + "c"), Scale("", DECIMAL)) == "a" * 999 + "b"
    assert midpoint("é" * 300, KeyRange(None, "é" * 300 + "c"), Scale("", DECIMAL)) is None
    assert midpoint("j/5", EVERYTHING, Scale("j/", DECIMAL)) == "j/7"


@pytest.mark.parametrize(
    ("position", "until", "middle"),
    [
        ("j/8", "j/b", "j/98"),
        ("j/08", "j/48", "j/2"),
        (f"j/{'8' * 11}", f"j/{'8' * 10}9", f"j/{'8' * 12}"),
        (f"j/{'8' * 12}", f"j/{'8' * 12}9", f"j/{'8' * 12}-"),
        ("a", "j/0", "f"),
    ],
)
def test_a_digit_more_is_taken_only_where_one_less_is_too_far_off(position, until, middle) -> None:
    """An eighth of what remains is near enough; twelve digits are as many as can be told apart."""
    assert midpoint(position, KeyRange(None, until), ON_HEX) == middle


@pytest.mark.parametrize(
    ("position", "until", "middle"), [("aX", "b", "al"), ("a", "a!x", "a!"), ("a", "a!", None)]
)
def test_where_the_scale_tells_nothing_a_cut_is_found_all_the_same(position, until, middle) -> None:
    """Names of another folder were seen: what is between is told letter by letter."""
    assert midpoint(position, KeyRange(None, until), Scale("z", DECIMAL)) == middle
