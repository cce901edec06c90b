"""The picture of growth is its numbers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.app.web.page_templates import relative_time, span_text
from orphangc.app.web.pages.page_view import HEIGHT, WIDTH, growth
from orphangc.core.model.types import Reason
from unit.app.web.statuses import NOW, amounts, tally

REASONS = (Reason.REFERENCED, Reason.ORPHAN, Reason.IN_QUARANTINE, Reason.UNRECOGNISED)


def points(path):
    """Return the corners of an outline."""
    assert path.startswith("M")
    assert path.endswith("Z")
    return [tuple(float(n) for n in each.split(",")) for each in path[1:-1].split("L")]


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.lists(st.integers(0, 10**15), min_size=4, max_size=4)),
        max_size=90,
    )
)
def test_areas_are_stacked_without_gaps_inside_the_picture(story):
    """What is drawn adds up, whatever was stored."""
    found = [
        (
            NOW + timedelta(minutes=minute),
            str(n),
            [tally(*pair) for pair in zip(REASONS, sizes, strict=True)],
        )
        for n, (minute, sizes) in enumerate(story)
    ]
    picture = growth(found)
    if picture is None:
        assert len({minute for minute, _ in story}) < 2
        return
    assert len(picture.samples) <= 60
    assert picture.samples[0].at == min(at for at, _, _ in found)
    assert picture.samples[-1].at == max(at for at, _, _ in found)
    floor = None
    for path in picture.areas.values():
        corners = points(path)
        half = len(corners) // 2
        top, bottom = corners[:half], corners[half:][::-1]
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in corners)
        assert bottom == (floor or [(x, float(HEIGHT)) for x, _ in top])
        pairs = list(pairwise(top))
        assert all(one[0] == two[0] or one[1] == two[1] for one, two in pairs)
        floor = top
    if picture.areas:
        assert min(y for _, y in floor) == 0


def test_an_amount_holds_until_the_next_run():
    """A slope would show states that no run has seen."""
    ats = (NOW - timedelta(days=2), NOW - timedelta(days=1), NOW)
    found = [(at, str(at), amounts(live=n)) for at, n in zip(ats, (4, 1, 2), strict=True)]
    (path,) = growth(found).areas.values()
    assert points(path)[:5] == [(0, 0), (300, 0), (300, 112.5), (600, 112.5), (600, 75)]


@pytest.mark.parametrize(
    ("span", "middle"),
    [
        (timedelta(minutes=10), "11:55:00"),
        (timedelta(hours=6), "Nov 21 09:00"),
        (timedelta(days=20), "Nov 11"),
        (timedelta(days=730), "Nov 2025"),
    ],
)
def test_times_at_the_axis_fit_its_span(span, middle):
    """Three of them, the first and the last at the ends."""
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    found = [(at - span, "a", amounts(live=1)), (at, "b", amounts(live=2))]
    times = growth(found).times
    assert (len(times), times[1]) == (3, middle)


def test_the_picture_is_also_said_in_words():
    """For readers who do not see it, and for those who do."""
    picture = growth(
        [
            (NOW - timedelta(days=3), "a", amounts(live=10, orphan=5)),
            (NOW, "b", amounts(live=11, orphan=3)),
        ]
    )
    assert (
        picture.sentence == "In 3 days: stored \N{MINUS SIGN}1.0 GB, orphaned \N{MINUS SIGN}2.0 GB."
    )
    assert "2 runs" in picture.alternative


def test_one_run_or_none_is_no_picture():
    """A line has two ends."""
    assert growth([]) is None
    assert growth([(NOW, "a", amounts(live=1))]) is None
    assert growth([(NOW, "a", amounts(live=1)), (NOW, "b", amounts(live=1))]) is None


def test_nothing_stored_at_all_is_drawn_as_nothing():
    """Zero divided by zero."""
    empty = growth([(NOW, "a", ()), (NOW + timedelta(hours=1), "b", ())])
    assert empty.areas == {}
    assert "unchanged" in empty.sentence


def test_times_are_spelled_as_people_write_them():
    """One unit is enough."""
    said = {
        timedelta(seconds=1): "1 second",
        timedelta(seconds=59): "59 seconds",
        timedelta(minutes=1): "1 minute",
        timedelta(minutes=119): "119 minutes",
        timedelta(hours=47): "47 hours",
        timedelta(hours=48): "2 days",
        timedelta(days=400): "400 days",
    }
    for span, text in said.items():
        assert span_text(span) == text
    assert relative_time(NOW, NOW) == "just now"
    assert relative_time(NOW - timedelta(minutes=12), NOW) == "12 minutes ago"
    assert relative_time(NOW + timedelta(hours=5), NOW) == "in 5 hours"
