"""Every key is listed exactly once, however the key space is split among cursors."""

from itertools import pairwise

import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from orphangc.collect.listing.list_storage import RangeLister
from orphangc.collect.listing.work_stealing import RangeScheduler
from orphangc.core.ranges.key_ranges import (
    EVERYTHING,
    KeyRange,
    Landmarks,
    gaps,
    landmarks,
    split_at,
)
from orphangc.core.ranges.split_points import midpoint, scale_of
from unit.collect.listing.ordered_storage import MemorySpool, OrderedStorage

JOBS = ("4ae4a2986a0e1a49b0f165b58085d4b3", "c91d5b07f3a24e0d8f6b1122aa33cc44", "a", "")
ODD = (
    "\0\x01\x1f !-./09_af~\x7f\x80\x9f\xa0\xff\u07ff\u0800\ud7ff\ue000\ufdd0\ufffd\ufffe\uffff"
    "\U00010000\U0001ffff\U0010fffd\U0010ffff"
)
"""Where the UTF-8 length grows, around the surrogates, and what servers choke on."""

odd_texts = st.text(st.sampled_from(ODD), max_size=6)
uuids = st.uuids().map(str)
names = st.one_of(
    uuids,
    st.builds("{}_{}".format, st.integers(0, 20_000), uuids),
    st.sampled_from(["_metadata", "0", "f", "~", "00000000-0000-4000-8000-000000000001"]),
    odd_texts,
)
folders = st.one_of(
    st.builds(lambda job, area: f"{job}/{area}".strip("/"), st.sampled_from(JOBS), odd_texts),
    st.builds(
        lambda job, area: f"{job}/{area}".strip("/"),
        st.sampled_from(JOBS),
        st.sampled_from(["shared", "taskowned", "chk-7", "chk-70"]),
    ),
)
keys = st.one_of(
    odd_texts,
    st.sampled_from(["", "/", "//", *(f"{job}/shared/" for job in JOBS)]),  # directory markers
    st.builds("{}/{}".format, folders, names),
)
key_sets = st.sets(keys, max_size=40).map(sorted)
edges = st.none() | keys
ranges = st.builds(KeyRange, edges, edges)


def holders(parts: list[KeyRange], key: str) -> int:
    return sum(key in part for part in parts)


@given(keys, keys)
def test_python_compares_keys_as_stores_order_them(one, other) -> None:
    """By code point, which is the order of their UTF-8 bytes; UTF-16 has another."""
    assert (one < other) == (one.encode() < other.encode())


@given(key_sets, ranges, st.lists(keys, max_size=8))
def test_a_cut_loses_no_key_and_doubles_none(found, within, boundaries) -> None:
    """Wherever it is cut, also exactly at keys and outside the range."""
    parts = split_at(within, [*boundaries, *found[::3]])
    for key in found:
        assert holders(parts, key) == (key in within)
    assert (parts[0].after, parts[-1].until) == (within.after, within.until)
    assert parts == [within] or not any(part.is_empty for part in parts)
    assert all(one.until == other.after for one, other in pairwise(parts))


@given(key_sets, ranges, st.lists(keys, max_size=8), st.randoms())
def test_gaps_are_what_is_not_finished(found, within, boundaries, random) -> None:
    """Together with the finished ranges they are the whole, and no more."""
    parts = split_at(EVERYTHING, boundaries)
    finished = [part for part in parts if random.random() < 0.5]
    random.shuffle(finished)
    left = gaps(finished, within)
    for key in found:
        is_open = key in within and not holders(finished, key)
        assert holders(left, key) == is_open
    inside = [*cut_to(finished, within), *left]
    assert gaps(inside, within) == []
    assert not any(each.is_empty for each in left)


def cut_to(parts: list[KeyRange], within: KeyRange) -> list[KeyRange]:
    """Return the ranges without what is outside another one."""
    return [
        each
        for part in parts
        for each in split_at(
            part, [edge for edge in (within.after, within.until) if edge is not None]
        )
        if not gaps([within], each)
    ]


@given(ranges, ranges)
def test_finished_ranges_that_overlap_are_an_error(one, other) -> None:
    """A key in both would be listed twice."""
    assume(not one.is_empty and not other.is_empty)
    is_apart = gaps([one], other) == [other]
    event("apart" if is_apart else "overlapping")
    if is_apart:
        gaps([one, other])
    else:
        with pytest.raises(ValueError, match="overlaps"):
            gaps([one, other])


@given(
    st.lists(st.sampled_from(JOBS), unique=True),
    st.dictionaries(folders, st.lists(names, max_size=10), max_size=4),
    st.integers(1, 70),
    key_sets,
)
def test_landmarks_of_any_names_cut_well_or_ill_but_never_wrongly(
    directories, sampled, wanted, found
) -> None:
    """They depend on the names in a checkpoint."""
    known = landmarks(directories, sampled)
    assert list(known.keys) == sorted(set(known.keys))
    parts = split_at(EVERYTHING, known.boundaries(wanted))
    assert len(parts) <= wanted
    assert all(holders(parts, key) == 1 for key in found)
    assert sum(map(known.weight_of, parts)) == pytest.approx(known.weight)
    for part in parts:
        middle = known.median(part)
        assert middle is None or (middle in part and middle != part.until)


@given(keys, ranges, st.none() | st.tuples(keys, keys))
@example("a", KeyRange("a", "a\0"), None)
@example("a\ud7ff", KeyRange("a", "a\ue000"), None)
@example("\U0010ffff" * 3, KeyRange(None, None), None)
@example("j/shared/8", KeyRange(None, "j/shared/80"), None)
def test_a_midpoint_lies_strictly_inside_and_can_be_sent(position, within, seen) -> None:
    """Whatever the scale says: a guess may be poor, never wrong."""
    scale = None if seen is None else scale_of(min(seen), max(seen))
    middle = midpoint(position, within, scale)
    event("none" if middle is None else "some")
    if middle is not None:
        assert middle > position
        assert middle in within
        assert middle != within.until
        assert middle.encode().decode() == middle  # no surrogate
        given_texts = (position, within.after, within.until, *(seen or ()))
        made_up = set(middle).difference(*(each or "" for each in given_texts))
        assert not made_up & set("\0\x01\x1f\x7f\x80\x9f\ufffe\uffff\U0001ffff\U0010ffff")


@given(keys, keys)
def test_a_midpoint_is_found_where_a_usable_character_lies_between(one, other) -> None:
    """Only neighbours have none."""
    assume(one < other)
    middle = midpoint(one, KeyRange(None, other))
    if not other.startswith(one) or other[len(one)] > "!":
        assert middle is not None


@given(key_sets, st.integers(1, 4))
def test_cutting_again_and_again_comes_to_an_end(found, page_size) -> None:
    """A half that holds nothing is as good as a full one: its part of the space is done."""
    pending, pages, cuts = [EVERYTHING], 0, 0
    while pending:
        within = pending.pop()
        inside = [key for key in found if key in within]
        pages += 1
        if len(inside) <= page_size:
            continue
        position = inside[page_size - 1]
        middle = midpoint(position, within)
        cuts += middle is not None
        parts = split_at(KeyRange(position, within.until), [] if middle is None else [middle])
        assert all(gaps([part], within) for part in parts)
        pending += parts
    assert pages <= 2 * (len(found) // page_size + 1) + 80 * cuts


orders = st.randoms(use_true_random=False)


@settings(max_examples=500)
@given(
    found=key_sets,
    page_size=st.integers(1, 4),
    streams=st.integers(1, 6),
    worth=st.sampled_from([0, 1, 3]),
    rows_per_part=st.sampled_from([1, 5, 100]),
    random=orders,
    stop_after=st.none() | st.integers(0, 40),
)
def test_streams_that_rob_each_other_list_every_key_once(  # noqa: PLR0917 - drawn
    found, page_size, streams, worth, rows_per_part, random, stop_after
) -> None:
    """In any order of their steps, cut at any place; also when a crash ends them in between."""
    storage = OrderedStorage(found, page_size=page_size, is_ahead=random.random() < 0.5)
    spool = MemorySpool()
    known = landmarks(JOBS[:2], {f"{JOBS[0]}/shared": [key[-6:] for key in found[::5]]})
    for steps in (stop_after, None):
        scheduler = RangeScheduler(
            [part for gap in gaps(spool.finished()) for part in split_at(gap, known.boundaries(3))],
            known if random.random() < 0.5 else Landmarks(),
            known=spool.rows,
            worth_cutting=worth,
        )
        workers = [
            RangeLister(storage, spool, scheduler).work(patience=0, rows_per_part=rows_per_part)
            for _ in range(streams)
        ]
        run(workers, random, steps)
    event(f"ranges: {min(scheduler.ranges, 20)}")
    assert spool.keys == found
    assert gaps(spool.finished()) == []
    assert scheduler.progress()[0] == len(found)


def run(workers: list, random, steps: int | None) -> None:
    """Let workers take turns until all have ended, or for so many steps."""
    while workers and steps != 0:
        worker = random.choice(workers)
        try:
            next(worker)
        except StopIteration:
            workers.remove(worker)
        steps = None if steps is None else steps - 1
