"""The cutoff is the earliest of named bounds, and what is unknown removes nothing."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orphangc.core.model.bounds import NEVER, Bound, BoundName, SafetyMargins, cutoff, job_bounds
from support.builders import T0, ago, ahead, some_bounds, span

MARGINS = SafetyMargins()


def a_bound(age: str | None) -> Bound:
    return Bound(BoundName.GRACE_PERIOD, None if age is None else ago(age))


def running(**changes: object) -> dict[BoundName, object]:
    facts = {"is_ended": False, "own_checkpoint_times": [ago("10d"), ago("1m")], **changes}
    return {each.name: each.at for each in job_bounds(T0, MARGINS, **facts)}


@pytest.mark.parametrize("ages", [["3d"], ["3d", "1h"], ["1h", "3d"], ["2d", "3d", "0s"]])
def test_the_earliest_bound_wins(ages: list[str]) -> None:
    """Adding a bound can only keep more."""
    expected = ago("2d") if ages == ["2d"] else ago("3d")
    assert cutoff([a_bound(age) for age in ages]) == expected


@pytest.mark.parametrize("ages", [[], [None], ["3d", None], [None, "3d"], [None, None]])
def test_an_unknown_bound_removes_nothing(ages: list[str | None]) -> None:
    """Unknown bound = delete nothing; so has no bound at all."""
    assert cutoff([a_bound(age) for age in ages]) == NEVER


def test_never_lies_before_everything_that_a_store_can_tell() -> None:
    """SlateDB's rule: the unknown value is the one that deletes nothing."""
    assert NEVER.timestamp() == 0


def test_a_jobs_cutoff_is_frozen_with_its_bounds() -> None:
    """Losses 1.3 (JuiceFS#5068): computed once, before anything is compared."""
    bounds = some_bounds(bounds=(a_bound("3d"), a_bound("5d")))
    assert bounds.cutoff == ago("5d")
    assert replace(bounds, bounds=(a_bound("3d"), a_bound(None))).cutoff == NEVER
    assert replace(bounds, bounds=()).cutoff == NEVER


def test_the_margins_are_those_of_the_contract() -> None:
    """Design, section 3: the defaults of the options."""
    expected = SafetyMargins(
        grace_period=span("72h"),
        quarantine_period=span("24h"),
        checkpoint_id_margin=1,
        clock_skew=span("15m"),
        quiet_period=span("7d"),
    )
    assert expected == MARGINS


def test_the_grace_period_is_counted_from_the_stores_now() -> None:
    """R9, R10: state files are uploaded before the metadata that names them."""
    assert running()[BoundName.GRACE_PERIOD] == ago("72h")


@pytest.mark.parametrize(
    "times", [["10d"], ["10d", "1m"], ["1m", "10d"], ["10d", "10d"], ["10d", "9d", "8d"]]
)
def test_the_oldest_own_root_less_the_slack_bounds_a_running_job(times: list[str]) -> None:
    """R9, T1: what a pending checkpoint uploads is younger than every retained one."""
    found = running(own_checkpoint_times=[ago(each) for each in times])
    assert found[BoundName.OLDEST_OWN_ROOT] == ago("10d") - span("15m")


@pytest.mark.parametrize("times", [[], [None], [ago("10d"), None], [None, ago("10d")]])
def test_a_running_job_without_roots_or_with_one_of_unknown_time_keeps_all(times: list) -> None:
    """R9: its first checkpoint may be pending."""
    assert running(own_checkpoint_times=times)[BoundName.OLDEST_OWN_ROOT] is None
    assert cutoff(job_bounds(T0, MARGINS, is_ended=False, own_checkpoint_times=times)) == NEVER


@pytest.mark.parametrize("times", [[], [None], [ago("10d")], [ahead("1h")]])
def test_an_ended_job_is_bounded_by_grace_and_quiet_period_alone(times: list) -> None:
    """R9, R13: nothing is pending, so its own roots bound nothing, and what it leaked goes too."""
    found = job_bounds(T0, MARGINS, is_ended=True, own_checkpoint_times=times)
    assert found == (
        Bound(BoundName.GRACE_PERIOD, ago("72h")),
        Bound(BoundName.QUIET_PERIOD, ago("7d")),
    )
    assert cutoff(found) == ago("7d")


def test_a_grace_period_longer_than_the_quiet_period_still_holds_for_an_ended_job() -> None:
    """The earliest wins, whichever it is."""
    margins = replace(MARGINS, grace_period=span("30d"))
    assert cutoff(job_bounds(T0, margins, is_ended=True, own_checkpoint_times=[])) == ago("30d")


@pytest.mark.parametrize("name", [BoundName.FIRST_SNAPSHOT, BoundName.OLDEST_ISSUED])
def test_registry_times_get_twice_the_slack(name: BoundName) -> None:
    """R16: a JobManager's time is compared with the store's, hence 2 sigma."""
    assert running(registry_times=[Bound(name, ago("20d"))])[name] == ago("20d") - span("30m")


def test_an_unknown_registry_time_removes_nothing() -> None:
    """R16: unknown stays unknown, whatever slack is taken off."""
    times = [Bound(BoundName.FIRST_SNAPSHOT, None)]
    found = job_bounds(
        T0, MARGINS, is_ended=False, own_checkpoint_times=[ago("10d")], registry_times=times
    )
    assert cutoff(found) == NEVER


def test_the_slack_widens_every_bound_that_compares_two_clocks() -> None:
    """R9, R16: a larger sigma can only keep more."""
    wide = replace(MARGINS, clock_skew=timedelta(hours=2))
    registry = [Bound(BoundName.FIRST_SNAPSHOT, ago("20d"))]
    found = job_bounds(
        T0, wide, is_ended=False, own_checkpoint_times=[ago("10d")], registry_times=registry
    )
    assert [each.at for each in found] == [
        ago("72h"),
        ago("10d") - span("2h"),
        ago("20d") - span("4h"),
    ]


@pytest.mark.parametrize("is_ended", [False, True])
def test_an_inventory_bounds_what_may_be_an_orphan(is_ended: bool) -> None:  # noqa: FBT001
    """An object stored since its start may be in it or not, for any job."""
    found = running(is_ended=is_ended, listed_at=ago("80h"))
    assert found[BoundName.INVENTORY] == ago("80h") - span("15m")
    assert BoundName.INVENTORY not in running(is_ended=is_ended)
    assert set(found) - {BoundName.INVENTORY} == set(running(is_ended=is_ended))


@pytest.mark.parametrize("is_ended", [False, True])
@pytest.mark.parametrize("age", ["1h", "80h", "30d"])
def test_an_inventory_can_only_keep_more(age: str, is_ended: bool) -> None:  # noqa: FBT001
    """Like every bound."""
    facts = {"is_ended": is_ended, "own_checkpoint_times": [ago("10d"), ago("1m")]}
    without = cutoff(job_bounds(T0, MARGINS, **facts))
    assert cutoff(job_bounds(T0, MARGINS, **facts, listed_at=ago(age))) <= without
