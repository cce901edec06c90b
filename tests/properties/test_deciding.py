"""What holds of every verdict, whatever the facts are."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import Phase, assume, event, find, given, settings
from hypothesis import strategies as st

from flinkstate.places.checkpoint_names import METADATA_NAME
from orphangc.core.areas.recognise import recognise
from orphangc.core.areas.table import area_at
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.bounds import NEVER, Bound, SafetyMargins, cutoff, job_bounds
from orphangc.core.model.naming import artifact_name, parse_artifact_name, place_of_folder
from orphangc.core.model.types import Action, DirectoryLayout, Reason
from support.builders import T0, a_tombstone, an_artifact
from support.oracle import Verdict, decide
from support.strategies import (
    any_case,
    flat_artifacts,
    folders,
    instants,
    names,
    nearly_deleted,
    some_bound,
    stored_objects,
)

KEEPING = {Action.KEEP, Action.REVIVE}
HARM = {Action.KEEP: 0, Action.REVIVE: 0, Action.TOMBSTONE: 1, Action.DELETE: 2}
ACTION_OF = {
    Reason.JOB_REFUSED: {Action.KEEP},
    Reason.REPORT_ONLY: {Action.KEEP},
    Reason.UNRECOGNISED: {Action.KEEP},
    Reason.REFERENCED: {Action.KEEP, Action.REVIVE},
    Reason.NOT_OLDER_THAN_OLDEST_RETAINED: {Action.KEEP},
    Reason.TOO_YOUNG: {Action.KEEP},
    Reason.ORPHAN: {Action.TOMBSTONE},
    Reason.IN_QUARANTINE: {Action.KEEP},
    Reason.QUARANTINE_OVER: {Action.DELETE},
}
longer = st.timedeltas(timedelta(0), timedelta(days=9))


def verdict(case: dict, **changes: object) -> Verdict:
    asked = {**case, **changes}
    return decide(
        asked["stored"],
        asked["artifact"],
        live=asked["live"],
        bounds=asked["bounds"],
        tombstone=asked["tombstone"],
    )


def harm(case: dict, **changes: object) -> int:
    """Return 0 for what stays, 1 for what gets a tombstone, 2 for what goes.

    An object in quarantine has its tombstone already: to be kept because of it is no less harm
    than to be given one.
    """
    found = verdict(case, **changes)
    return 1 if found.reason is Reason.IN_QUARANTINE else HARM[found.action]


def with_bounds(case: dict, **changes: object) -> dict:
    return {**case, "bounds": replace(case["bounds"], **changes)}


@given(any_case)
def test_every_object_gets_one_verdict_with_one_reason(case: dict) -> None:
    """House style 3: no input without an answer, and a reason always means the same action."""
    found = verdict(case)
    event(f"{found.action} {found.reason}")
    assert found.action in ACTION_OF[found.reason]
    assert verdict(case) == found


@given(any_case, flat_artifacts, st.booleans())
def test_a_referenced_artifact_is_never_harmed(case: dict, artifact, in_raw) -> None:
    """R5, R7: by either oracle, whatever else is said of it."""
    extra = {artifact.uuid}
    before = case["live"]
    named = (
        LiveSet(parsed=before.parsed, raw=UuidSet([*before.raw, *extra]))
        if in_raw
        else LiveSet(parsed=UuidSet([*before.parsed, *extra]), raw=before.raw)
    )
    assert verdict(case, artifact=artifact, live=named).action in KEEPING


@given(any_case)
def test_a_void_job_never_loses_anything(case: dict) -> None:
    """Row 1: not even a tombstone is laid, and none is taken away."""
    expected = Verdict(Action.KEEP, Reason.JOB_REFUSED)
    assert verdict(with_bounds(case, is_refused=True)) == expected


@given(any_case, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_nothing_at_or_after_the_cutoff_is_ever_removed(case: dict, later: timedelta) -> None:
    """R9 (time): a tie keeps; so does a tombstone that was laid by mistake."""
    bounds = case["bounds"]
    young = replace(case["stored"], modified_at=bounds.cutoff + later)
    for tombstone in (case["tombstone"], replace(a_tombstone(), object=young)):
        assert verdict(case, stored=young, tombstone=tombstone).action in KEEPING


@given(any_case, st.none() | st.datetimes(datetime(1, 1, 1), datetime(1970, 1, 1)))
def test_what_has_no_credible_time_is_never_removed(case: dict, when) -> None:
    """Losses 1.3 (Amoro#2924): missing, zero, negative."""
    stored = replace(case["stored"], modified_at=when and when.replace(tzinfo=UTC))
    for tombstone in (case["tombstone"], replace(a_tombstone(), object=stored)):
        assert verdict(case, stored=stored, tombstone=tombstone).action in KEEPING


@given(any_case, st.integers(0, 2**63 - 1))
def test_an_id_not_below_the_oldest_retained_is_never_removed_while_the_job_may_run(
    case: dict, above: int
) -> None:
    """R9 (id): less the margin, and an unknown oldest one forbids all."""
    bounds = replace(case["bounds"], is_ended=False)
    oldest = bounds.oldest_retained_checkpoint_id
    least = 0 if oldest is None else max(oldest - bounds.checkpoint_id_margin, 0)
    artifact = an_artifact(min(least + above, 2**63 - 1))
    assert verdict(case, artifact=artifact, bounds=bounds).action in KEEPING


@given(folders, names, any_case, st.text(max_size=8))
def test_only_files_of_an_area_are_ever_removed(
    folder: str, name: str, case: dict, root_name: str
) -> None:
    """R1, R35: strange names and folders: never, and never a ``_metadata``."""
    place = place_of_folder(folder, root_name)
    found = recognise(name, place)
    if verdict(case, artifact=found).action in KEEPING:
        return
    assert area_at(place) is not None
    assert found.uuid is not None
    assert name != METADATA_NAME
    if found.layout is DirectoryLayout.METADATA_IN_PROGRESS:
        assert name == f"._metadata.inprogress.{artifact_name(None, found.uuid)}"
    else:
        assert parse_artifact_name(name) == (found.checkpoint_id, found.uuid)


@given(any_case, longer)
def test_an_older_cutoff_never_removes_more(case: dict, extra: timedelta) -> None:
    """Design, section 2: of all bounds at once, as a longer grace period does it."""
    older = tuple(
        Bound(each.name, None if each.at is None else each.at - extra)
        for each in case["bounds"].bounds
    )
    assert harm(with_bounds(case, bounds=older)) <= harm(case)


@given(any_case, some_bound)
def test_a_further_bound_never_removes_more(case: dict, extra: Bound) -> None:
    """Design, section 2: adding a bound can only keep more; none at all keeps everything."""
    assume(case["bounds"].bounds)
    more = (*case["bounds"].bounds, extra)
    assert harm(with_bounds(case, bounds=more)) <= harm(case)


@given(st.lists(some_bound, max_size=4), st.permutations(range(4)), st.none() | instants)
def test_the_cutoff_is_a_minimum_in_any_order(bounds, order, extra) -> None:
    """Design, section 2: an unknown bound wins over all."""
    shuffled = [bounds[each] for each in order if each < len(bounds)]
    assert cutoff(shuffled) == cutoff(bounds)
    unknown = not bounds or any(each.at is None for each in bounds)
    assert (cutoff(bounds) == NEVER) or not unknown
    assert unknown or cutoff(bounds) == min(each.at for each in bounds)
    if bounds:
        assert cutoff([*bounds, Bound(bounds[0].name, extra)]) <= max(cutoff(bounds), NEVER)


@given(any_case, longer)
def test_a_longer_quarantine_never_removes_more(case: dict, extra: timedelta) -> None:
    """R17: the period alone."""
    start = case["bounds"].quarantine_start - extra
    assert harm(with_bounds(case, quarantine_start=start)) <= harm(case)


@given(any_case, longer)
def test_a_longer_standstill_never_removes_more(case: dict, extra: timedelta) -> None:
    """R17: an older newest checkpoint proves less."""
    newest = case["bounds"].newest_completed_at
    assume(newest is not None)
    assert harm(with_bounds(case, newest_completed_at=newest - extra)) <= harm(case)


@given(any_case, st.integers(0, 100))
def test_a_larger_id_margin_never_removes_more(case: dict, extra: int) -> None:
    """R9 (id)."""
    margin = case["bounds"].checkpoint_id_margin + extra
    assert harm(with_bounds(case, checkpoint_id_margin=margin)) <= harm(case)


@given(any_case, st.integers(0, 100))
def test_an_older_or_unknown_oldest_retained_never_removes_more(case: dict, less: int) -> None:
    """R14: the id only excludes, so it may be old."""
    oldest = case["bounds"].oldest_retained_checkpoint_id
    older = None if oldest is None else oldest - less
    for each in (older, None):
        assert harm(with_bounds(case, oldest_retained_checkpoint_id=each)) <= harm(case)


@given(any_case, st.binary(min_size=16, max_size=16), st.booleans())
def test_a_further_reference_never_removes_more(case: dict, uuid: bytes, is_own) -> None:
    """R4, R5: roots only protect."""
    new = case["artifact"].uuid if is_own and case["artifact"].uuid else uuid
    more = LiveSet(parsed=UuidSet([*case["live"].parsed, new]), raw=case["live"].raw)
    assert harm(case, live=more) <= harm(case)


@given(
    times=st.lists(instants, min_size=1, max_size=3),
    another=instants,
    extra=longer,
    margin=st.sampled_from(["grace_period", "clock_skew", "quiet_period"]),
    is_ended=st.booleans(),
)
def test_wider_margins_and_older_roots_never_move_the_cutoff_forward(
    *, times, another, extra, margin, is_ended
) -> None:
    """R9, R10, R13, R29: every margin can only keep more, and so can a further root."""
    usual = SafetyMargins()
    wide = replace(usual, **{margin: getattr(usual, margin) + extra})

    def limit(margins: SafetyMargins, roots: list) -> datetime:
        return cutoff(job_bounds(T0, margins, is_ended=is_ended, own_checkpoint_times=roots))

    assert limit(wide, times) <= limit(usual, times)
    assert limit(usual, [*times, another]) <= limit(usual, times)
    assert limit(usual, times) < T0


@settings(max_examples=4 * settings.default.max_examples)  # one case in five is deleted
@given(nearly_deleted())
def test_a_deletion_needs_an_older_tombstone_of_the_identical_object(case: dict) -> None:
    """R17, R18: size, ETag and time agree, it is older than the quarantine, and so is R17's."""
    if verdict(case).action is not Action.DELETE:
        return
    tombstone, stored, bounds = case["tombstone"], case["stored"], case["bounds"]
    assert tombstone is not None
    assert tombstone.object.size == stored.size
    assert tombstone.object.etag == stored.etag
    assert tombstone.object.modified_at == stored.modified_at
    assert tombstone.since < bounds.quarantine_start
    assert bounds.newest_completed_at is None or bounds.newest_completed_at > tombstone.since


@given(any_case, stored_objects)
def test_without_its_own_tombstone_nothing_is_deleted(case: dict, other) -> None:
    """R17: the first complete cycle only remembers."""
    assert verdict(case, tombstone=None).action is not Action.DELETE
    changed = replace(a_tombstone(), object=other)
    assume(not other.is_same_as(case["stored"]))
    assert verdict(case, tombstone=changed).action is not Action.DELETE


@given(any_case)
def test_a_tombstone_never_makes_an_object_younger_or_older(case: dict) -> None:
    """What is removed with a tombstone would have got one without it."""
    without = verdict(case, tombstone=None)
    if verdict(case).action in {Action.DELETE, Action.TOMBSTONE}:
        assert without == Verdict(Action.TOMBSTONE, Reason.ORPHAN)
    if without.action is Action.KEEP and without.reason is not Reason.REFERENCED:
        assert verdict(case) == without


@pytest.mark.parametrize("reason", Reason)
def test_the_cases_reach_every_reason(reason: Reason) -> None:
    """Otherwise every property above would hold of a collector that does nothing."""
    found = find(
        any_case,
        lambda case: verdict(case).reason is reason,
        settings=settings(max_examples=2000, database=None, phases=[Phase.generate]),
    )
    assert verdict(found).action in ACTION_OF[reason]
