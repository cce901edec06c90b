"""When runs start: cron as cron says it, and durations."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from orphangc.app.config.schedule import check_schedule, check_timezone, longest_gap, trigger_of

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)


def fires(schedule: str, count: int, timezone: str = "UTC") -> list[datetime]:
    trigger, found, last = trigger_of(schedule, timezone), [], None
    for _ in range(count):
        last = trigger.get_next_fire_time(last, MONDAY if last is None else last)
        found.append(last)
    return found


@pytest.mark.parametrize(
    ("weekday", "days"),
    [
        ("0", ["Sun"]),
        ("7", ["Sun"]),
        ("1-5", ["Mon", "Tue", "Wed", "Thu", "Fri"]),
        ("fri-mon", ["Mon", "Fri", "Sat", "Sun"]),
        ("5-7", ["Fri", "Sat", "Sun"]),
        ("*/3", ["Wed", "Sat", "Sun"]),
        ("2,4", ["Tue", "Thu"]),
        ("MON", ["Mon"]),
    ],
)
def test_days_of_the_week_are_those_of_cron(weekday, days) -> None:
    """Sunday is 0 and 7; the library below counts from Monday."""
    found = fires(f"0 3 * * {weekday}", len(days))
    assert [f"{each:%a}" for each in found] == days


def test_a_day_of_month_or_of_week_will_do() -> None:
    """Cron's rule where both are restricted."""
    found = fires("0 0 10 * 5", 3)
    assert [each.day for each in found] == [6, 10, 13]


@pytest.mark.parametrize(
    ("schedule", "gap"),
    [
        ("6h", timedelta(hours=6)),
        ("1d12h", timedelta(hours=36)),
        ("0 3 * * *", timedelta(days=1)),
        ("0 3 * * 1-5", timedelta(days=3)),
        ("*/5 8-17 * * 1-5", timedelta(days=2, hours=14, minutes=5)),
        ("0 3 1 * *", timedelta(days=31)),
    ],
)
def test_the_longest_gap_is_what_an_alert_may_wait_for(schedule, gap) -> None:
    """Weekends and long months count."""
    assert longest_gap(schedule) == gap


NO_SCHEDULES = (
    *("", "0s", "0", "soon", "5", "* * * *", "* * * * * *", "a b c d e", "61 * * * *"),
    *("0 0 31 2 *", "0 0 * * 8", "0 0 * * mon-", "0 0 * * 1/0", "0 0 * * 1-x"),
)


@pytest.mark.parametrize("schedule", NO_SCHEDULES)
def test_what_is_no_schedule_is_refused(schedule) -> None:
    """One that never comes is none either."""
    with pytest.raises(ValueError, match=r"\w"):
        check_schedule(schedule)


def test_cron_keeps_to_its_time_zone_across_the_clock_change() -> None:
    """Once a day at three, local time, in October too."""
    found = fires("0 3 * * *", 200, "Europe/Berlin")
    assert {each.hour for each in found} == {3}
    assert all(after - before < timedelta(hours=26) for before, after in pairwise(found))


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "Europe"])
def test_what_is_no_time_zone_is_refused(name) -> None:
    with pytest.raises(ValueError, match="time zone"):
        check_timezone(name)
