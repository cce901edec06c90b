"""When runs start: five cron fields, or a duration between two of them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from orphangc.core.model.settings import parse_duration

DEFAULT_SCHEDULE = "6h"
"""When runs start unless the configuration says it, and what a plan by hand is measured against."""

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Names of weekdays by cron's numbers; APScheduler, which counts from Monday, gets names."""

_DAY_PART = re.compile(r"(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:/(\d+))?")
_THURSDAY = datetime(2026, 1, 1, tzinfo=UTC)
_INSTANTS = 3000
_HORIZON = timedelta(days=400)


def check_timezone(name: str) -> str:
    """Return the name of a time zone, or raise ``ValueError``."""
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError) as err:
        raise ValueError(f"{name!r} is no time zone; write UTC or Europe/Berlin") from err
    return name


def check_schedule(text: str) -> str:
    """Return a schedule; ``ValueError`` if the text is none, or no instant matches it."""
    trigger = trigger_of(text, "UTC")
    if trigger.get_next_fire_time(None, _THURSDAY) is None:
        raise ValueError(f"the schedule {text!r} never comes")
    return text


def trigger_of(text: str, timezone: str) -> BaseTrigger:
    """Return the trigger of five cron fields or a duration, or raise ``ValueError``."""
    fields = text.split()
    zone = ZoneInfo(timezone)
    if len(fields) == 1:
        every = parse_duration(text)
        if not isinstance(every, timedelta) or every < timedelta(seconds=1):
            raise ValueError("a run needs some time: the shortest interval is 1s")
        return IntervalTrigger(seconds=int(every.total_seconds()), timezone=zone)
    if len(fields) != 5:  # noqa: PLR2004 - cron's
        raise ValueError(f"{text!r} is neither five cron fields nor a duration such as 6h")
    minute, hour, day, month, weekday = fields
    common = {"minute": minute, "hour": hour, "month": month, "timezone": zone}
    try:
        days = _weekdays(weekday.lower())
        if "*" in (day[:1], weekday[:1]):
            return CronTrigger(day=day, day_of_week=days, **common)
        # cron: if both fields are restricted, a day that matches either is enough
        return OrTrigger([CronTrigger(day=day, **common), CronTrigger(day_of_week=days, **common)])
    except ValueError as err:
        raise ValueError(f"{text!r} is no cron schedule: {err}") from err


def _weekdays(field: str) -> str:
    """Return cron's days of the week, 0 or 7 for Sunday, by their names."""
    if field in {"*", "?"}:
        return "*"
    names: dict[str, None] = {}
    for part in field.split(","):
        match = _DAY_PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no day of the week")
        first, last, step = match.groups()
        if first == "*":
            start, end = 0, 6
        else:
            start = _day_number(first)
            end = _day_number(last) if last else (6 if step else start)
        if last and end < start:
            end += 7
        every = int(step or 1)
        if every < 1:
            raise ValueError(f"{part!r} has no step")
        names |= dict.fromkeys(_WEEKDAYS[number % 7] for number in range(start, end + 1, every))
    return ",".join(names)


def _day_number(text: str) -> int:
    if text.isdecimal() and int(text) < len(_WEEKDAYS):
        return int(text)
    if text in _WEEKDAYS:
        return _WEEKDAYS.index(text)
    raise ValueError(f"{text!r} is no day of the week")


def longest_gap(text: str, timezone: str = "UTC") -> timedelta:
    """Return the longest time between two runs that a schedule asks for."""
    return max(_gaps(text, timezone), default=timedelta(0))


def shortest_gap(text: str, timezone: str = "UTC") -> timedelta:
    """Return the shortest time between two runs that a schedule asks for."""
    return min(_gaps(text, timezone), default=_HORIZON)


def _gaps(text: str, timezone: str) -> Iterator[timedelta]:
    """Yield the times between two runs.

    Cron has no such number, so the instants of a year are compared, or the first few thousand.
    """
    trigger = trigger_of(text, timezone)
    if isinstance(trigger, IntervalTrigger):
        yield trigger.interval
        return
    last = trigger.get_next_fire_time(None, _THURSDAY)
    for _ in range(_INSTANTS):
        following = trigger.get_next_fire_time(last, last)
        if following is None:
            return
        yield following - last
        last = following
        if last - _THURSDAY > _HORIZON:
            return
