"""Where a key space is cut: by what is known before it is listed, or by the names seen in it."""

import random
import uuid
from bisect import bisect_right

import pytest

from orphangc.core.ranges.key_ranges import (
    EVERYTHING,
    KeyRange,
    Landmarks,
    gaps,
    landmarks,
    split_at,
)
from orphangc.core.ranges.split_points import Scale, midpoint

JOB = "4ae4a2986a0e1a49b0f165b58085d4b3"
OTHER = "c91d5b07f3a24e0d8f6b1122aa33cc44"
SHARED = f"{JOB}/shared"
DRAWN = random.Random(3)


def some_uuids(count: int) -> list[str]:
    return [str(uuid.UUID(int=DRAWN.getrandbits(128))) for _ in range(count)]


def counts(keys: list[str], parts: list[KeyRange]) -> list[int]:
    ends = [len(keys) if p.until is None else bisect_right(keys, p.until) for p in parts]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def test_everything_holds_the_empty_key_and_the_last_one() -> None:
    """A marker of the storage root itself is a key."""
    assert "" in EVERYTHING
    assert "\U0010ffff" in EVERYTHING
    assert "" not in KeyRange("", None)
    assert "" in KeyRange(None, "")


@pytest.mark.parametrize(
    ("within", "is_empty"),
    [
        (KeyRange("a", "a"), True),
        (KeyRange("b", "a"), True),
        (KeyRange(None, ""), False),
        (KeyRange("", None), False),
        (KeyRange("a", "a\0"), False),
    ],
)
def test_a_range_is_empty_if_nothing_can_be_in_it(within, is_empty) -> None:
    """Open below, closed above."""
    assert within.is_empty is is_empty


@pytest.mark.parametrize("wanted", [2, 16, 64, 256])
def test_uuid_names_are_cut_by_hex_prefix(wanted) -> None:
    """No sample is needed for that: they are spread evenly."""
    known = landmarks([JOB], {SHARED: some_uuids(100)}, {SHARED: 1_000_000})
    keys = sorted(f"{SHARED}/{name}" for name in some_uuids(20_000))
    found = counts(keys, split_at(EVERYTHING, known.boundaries(wanted)))
    assert len(found) == wanted
    assert max(found) < 1.1 * 20_000 / wanted + 60


def test_names_with_ids_are_cut_by_the_ids_that_roots_refer_to() -> None:
    """In the order of texts, where 10_ comes before 100_ and both before 9_."""
    names = [f"{DRAWN.randint(1, 12_000)}_{each}" for each in some_uuids(20_000)]
    known = landmarks([JOB], {SHARED: names[:4000]})
    found = counts(
        sorted(f"{SHARED}/{name}" for name in names), split_at(EVERYTHING, known.boundaries(64))
    )
    assert len(found) == 64
    assert max(found) < 2 * 20_000 / 64


def test_a_job_gets_ranges_by_how_much_it_holds() -> None:
    """One large job among a hundred small ones."""
    small = [f"{number:032x}" for number in range(100)]
    sample = {f"{each}/shared": some_uuids(10) for each in small}
    known = landmarks([*small, JOB], {**sample, SHARED: some_uuids(50)}, {SHARED: 100_000})
    boundaries = known.boundaries(64)
    assert sum(each.startswith(SHARED) for each in boundaries) >= 60


def test_more_jobs_than_points_are_cut_between_jobs() -> None:
    """What is cut is bounded, however many jobs there are."""
    jobs = [f"{number:032x}" for number in range(10_000)]
    known = landmarks(jobs, {})
    assert len(known.keys) == 10_000
    assert {key.rpartition("/")[2] for key in known.boundaries(64)} == {""}
    assert len(known.boundaries(64)) == 63


def test_a_root_that_is_a_job_directory_has_its_shared_folder_at_the_top() -> None:
    """Its key is empty."""
    assert all(key.startswith("shared/") for key in landmarks([""], {}).keys)


def test_nothing_known_is_not_cut() -> None:
    """One range to begin with."""
    assert split_at(EVERYTHING, landmarks([], {}).boundaries(64)) == [EVERYTHING]
    assert landmarks([], {}).median(EVERYTHING) is None


def test_the_middle_of_what_remains_is_found_on_the_scale_of_the_names() -> None:
    """Half of the UUIDs that are still to come; a quarter has been seen."""
    seen = f"{SHARED}/40000000-0000-4000-8000-000000000000"
    assert midpoint(seen, EVERYTHING) == f"{SHARED}/a"
    assert midpoint(seen, KeyRange(None, f"{SHARED}/5")) == f"{SHARED}/48"
    assert midpoint(f"{SHARED}/5_x", EVERYTHING, Scale(f"{SHARED}/", "0123456789")) == f"{SHARED}/8"


# --- exactly


R = KeyRange


@pytest.mark.parametrize(
    ("finished", "within", "left"),
    [
        ([R("c", "e"), R(None, "a")], EVERYTHING, [R("a", "c"), R("e", None)]),
        ([R("a", None), R(None, "a")], EVERYTHING, []),
        ([R(None, "")], EVERYTHING, [R("", None)]),
        ([R("b", "b"), R("c", "d")], R("a", "z"), [R("a", "c"), R("d", "z")]),
        ([R(None, "a"), R("b", None)], R("a", "z"), [R("a", "b")]),
    ],
)
def test_gaps_are_between_what_is_finished_in_any_order(finished, within, left) -> None:
    """An empty range finishes nothing, and what lies outside is of no interest."""
    assert gaps(finished, within) == left


@pytest.mark.parametrize(
    ("one", "other", "end"), [(R("a", "c"), R("b", "d"), "c"), (R("a", None), R("b", None), "")]
)
def test_an_overlap_is_told_by_its_place(one, other, end) -> None:
    """It would be a mistake of ours, which must be found."""
    with pytest.raises(ValueError, match="overlaps") as caught:
        gaps([other, one])
    assert str(caught.value) == f"{other} overlaps what ends at {end!r}"


def test_a_boundary_at_an_edge_cuts_nothing_off() -> None:
    """An empty part would be a request for nothing."""
    assert split_at(R("b", "d"), ["d", "c", "b", "c", "a", "e"]) == [R("b", "c"), R("c", "d")]


def test_a_range_weighs_what_the_points_in_it_do() -> None:
    """After its beginning, up to and with its end."""
    known = Landmarks(("b", "d"), (2.0, 5.0))
    for within, weight in (
        (EVERYTHING, 5),
        (R(None, "a"), 0),
        (R(None, "b"), 2),
        (R("a", "c"), 2),
        (R("b", None), 3),
        (R("c", "d"), 3),
        (R("d", None), 0),
    ):
        assert known.weight_of(within) == weight
    assert Landmarks().weight_of(EVERYTHING) == 0


def test_the_median_halves_what_a_range_weighs_or_there_is_none() -> None:
    """A point at the end of a range cuts nothing off, and one outside is not in it."""
    known = Landmarks(("b", "d", "f"), (2.0, 5.0, 6.0))
    for within, point in (
        (EVERYTHING, "d"),
        (R("b", None), "d"),
        (R("b", "f"), "d"),
        (R("d", None), "f"),
        (R(None, "b"), None),
        (R(None, "d"), None),
        (R("b", "d"), None),
        (R("f", None), None),
        (R("g", None), None),
        (R(None, "a"), None),
    ):
        assert known.median(within) == point
    assert Landmarks().median(EVERYTHING) is None
    assert Landmarks(("b", "d"), (3.0, 6.0)).median(EVERYTHING) == "b"
    assert Landmarks(("a", "b", "c", "d"), (1.0, 2.0, 3.0, 10.0)).median(R(None, "c")) == "b"
    assert Landmarks(("a", "b"), (1.0, 10.0)).boundaries(2) == ["b"]


def test_landmarks_stand_where_names_stand_and_weigh_as_many() -> None:
    """A folder of which nothing is known weighs one; a name that stands twice, two."""
    assert landmarks(["j"], {}).weight == pytest.approx(1)
    assert landmarks([], {"f": []}).weight == pytest.approx(1)
    assert landmarks([], {"f": ["b", "a", "c"]}) == Landmarks(("f/a", "f/b", "f/c"), (1, 2, 3))
    assert landmarks([], {"": ["a", "a"]}) == Landmarks(("a",), (2,))
    assert landmarks([], {"f": ["a"]}, {"f": 7}) == Landmarks(("f/a",), (7,))


NUMBERED = [f"{number}_00000000-0000-4000-8000-000000000000" for number in range(1, 9)]
BARE = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("others", "digits"), [(0, 3), (1, 3), (2, 2), (31, 2), (32, 1), (511, 1), (512, 0)]
)
def test_a_folder_has_as_many_hex_prefixes_as_there_is_room_for(others, digits) -> None:
    """By its share of all names: all of 4096, 256 or 16, for a part of them would lean."""
    known = landmarks([], {"f": [BARE], "g": NUMBERED[:1]}, {"f": 1, "g": others})
    if not others:
        known = landmarks([], {"f": [BARE]})
    prefixes = [key.removeprefix("f/") for key in known.keys if key.startswith("f/")]
    assert prefixes == [f"{n:0{digits}x}" if digits else "" for n in range(16**digits)]


def test_names_of_both_kinds_weigh_by_how_many_of_each_the_sample_holds() -> None:
    """Three of four carry an id, and stand where they stand; the fourth may be anywhere."""
    sample = [NUMBERED[0], BARE, NUMBERED[1], NUMBERED[2]]
    known = landmarks([], {"f": sample, "g": NUMBERED[:1]}, {"f": 1024, "g": 40_000})
    at_prefixes = [f"f/{n:x}" for n in range(16)]
    at_names = [f"f/{name}" for name in NUMBERED[:3]]
    assert known.keys == (*sorted(at_prefixes + at_names), f"g/{NUMBERED[0]}")
    before_names = [16, 32, 32 + 256 + 16, 48 + 2 * 256 + 16]
    assert [known.weight_of(R(None, key)) for key in at_prefixes[:4]] == before_names
    assert known.weight_of(R(None, "f/f")) == 1024
    assert known.weight == 41_024


@pytest.mark.parametrize(
    ("weight", "taken"), [(8188, [0, 2, 4, 6]), (32_760, [0, 4]), (40_000, [0]), (10**6, [0])]
)
def test_where_there_is_little_room_every_nth_name_stands_for_those_after_it(weight, taken) -> None:
    """In the order of the sample, from its first; one at least, for every folder is known."""
    known = landmarks([], {"f": NUMBERED, "g": NUMBERED[:1]}, {"g": weight})
    keys = [f"f/{NUMBERED[at]}" for at in taken]
    assert known.keys == (*keys, f"g/{NUMBERED[0]}")
    ends = [known.weight_of(R(None, key)) for key in keys]
    assert ends == [8 * n / len(keys) for n in range(1, len(keys) + 1)]
