"""The rule for one object, row by row, in the order of ``Reason``.

Each verdict is asked of the rule in plain steps and of the kernel, which must say the same.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from orphangc.core.columns.listing_columns import NO_TIME
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.kernel import BoundsTable, action_words, kernel, reason_words
from orphangc.core.model.bounds import NEVER, Bound, BoundName
from orphangc.core.model.naming import Artifact, artifact_name
from orphangc.core.model.types import Action, DirectoryLayout, Reason
from orphangc.core.times.instants import microseconds_of
from support.builders import (
    JOB,
    OTHER_UUID,
    T0,
    UUID,
    a_tombstone,
    ago,
    ahead,
    an_artifact,
    an_object,
    columns_of,
    live,
    some_bounds,
)
from support.oracle import Verdict, decide

MICROSECOND = timedelta(microseconds=1)
DELETE = Verdict(Action.DELETE, Reason.QUARANTINE_OVER)
ORPHAN = Verdict(Action.TOMBSTONE, Reason.ORPHAN)
IN_QUARANTINE = Verdict(Action.KEEP, Reason.IN_QUARANTINE)
TOO_YOUNG = Verdict(Action.KEEP, Reason.TOO_YOUNG)
NOT_OLDER = Verdict(Action.KEEP, Reason.NOT_OLDER_THAN_OLDEST_RETAINED)
REFERENCED = Verdict(Action.KEEP, Reason.REFERENCED)
REVIVED = Verdict(Action.REVIVE, Reason.REFERENCED)
REFUSED = Verdict(Action.KEEP, Reason.JOB_REFUSED)
REPORT_ONLY = Verdict(Action.KEEP, Reason.REPORT_ONLY)
UNRECOGNISED = Verdict(Action.KEEP, Reason.UNRECOGNISED)

STRANGE = Artifact(DirectoryLayout.UNRECOGNISED)
EXCLUSIVE = Artifact(DirectoryLayout.EXCLUSIVE)


def verdict(stored=None, artifact=None, **facts) -> Verdict:
    """Return the verdict on an old unreferenced artifact whose quarantine is over, changed."""
    stored, artifact = stored or an_object(), artifact or an_artifact()
    named = facts.get("live", live())
    bounds = facts.get("bounds", some_bounds())
    tombstone = facts.get("tombstone", a_tombstone(stored))
    said = decide(stored, artifact, live=named, bounds=bounds, tombstone=tombstone)
    is_same = tombstone is not None and tombstone.object.is_same_as(stored)
    actions, reasons = kernel(
        columns_of(replace(stored, key=f"{JOB}/shared/{name_of(artifact)}")),
        is_live=np.array([artifact.uuid in named]),
        since_us=np.array([microseconds_of(tombstone.since) if is_same else NO_TIME]),
        has_tombstone=np.array([tombstone is not None]),
        owner=np.zeros(1, np.int32),
        bounds=BoundsTable.of([bounds]),
    )
    assert action_words(actions).to_pylist() == [said.action]
    assert reason_words(reasons).to_pylist() == [said.reason]
    return said


def name_of(artifact: Artifact) -> str:
    if artifact.uuid is not None:
        return artifact_name(artifact.checkpoint_id, artifact.uuid)
    return "x" if artifact.layout is DirectoryLayout.UNRECOGNISED else "_metadata"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"bounds": some_bounds(is_refused=True), "artifact": STRANGE}, REFUSED),
        ({"bounds": some_bounds(is_refused=True), "artifact": EXCLUSIVE}, REFUSED),
        ({"bounds": some_bounds(is_refused=True), "live": live(UUID)}, REFUSED),
        ({"bounds": some_bounds(is_refused=True)}, REFUSED),
        ({"artifact": EXCLUSIVE, "live": live(UUID)}, REPORT_ONLY),
        ({"artifact": EXCLUSIVE}, REPORT_ONLY),
        ({"artifact": STRANGE}, UNRECOGNISED),
        ({"live": live(UUID), "artifact": an_artifact(99)}, REVIVED),
        ({"live": live(UUID), "artifact": an_artifact(99), "tombstone": None}, REFERENCED),
        ({"live": live(UUID), "stored": an_object(age="1h"), "tombstone": None}, REFERENCED),
        ({"artifact": an_artifact(99), "stored": an_object(age="1h")}, NOT_OLDER),
        ({"stored": an_object(age="1h"), "tombstone": None}, TOO_YOUNG),
        ({"stored": an_object(age="1h")}, TOO_YOUNG),
        ({"tombstone": None}, ORPHAN),
        ({"tombstone": a_tombstone(laid=ago("1h"))}, IN_QUARANTINE),
        ({}, DELETE),
    ],
)
def test_the_first_row_that_fits_decides(facts: dict, expected: Verdict) -> None:
    """Each reason, against those behind it."""
    assert verdict(**facts) == expected


def test_what_either_oracle_names_is_kept() -> None:
    """R5, R7: parsed references, or raw bytes alone."""
    assert verdict(live=LiveSet(parsed=UuidSet({UUID})), tombstone=None) == REFERENCED
    assert verdict(live=LiveSet(raw=UuidSet({UUID})), tombstone=None) == REFERENCED
    assert verdict(live=LiveSet(parsed=UuidSet({OTHER_UUID}), raw=UuidSet({OTHER_UUID}))) == DELETE


def test_a_reference_covers_the_name_with_and_without_an_id() -> None:
    """R5: the UUID part is enough."""
    assert verdict(artifact=an_artifact(7), live=live(UUID), tombstone=None) == REFERENCED


def test_a_reference_revives_whatever_else_is_true() -> None:
    """R17: a file that becomes referenced between cycles survives; reviving it is the alarm."""
    changed = replace(an_object(), etag="e2")
    assert verdict(changed, live=live(UUID), tombstone=a_tombstone()) == REVIVED
    assert verdict(live=live(UUID)) == REVIVED


@pytest.mark.parametrize(
    ("checkpoint_id", "margin", "expected"),
    [
        (0, 1, DELETE),
        (40, 1, DELETE),
        (41, 1, NOT_OLDER),
        (42, 1, NOT_OLDER),
        (43, 1, NOT_OLDER),
        (2**63 - 1, 1, NOT_OLDER),
        (41, 0, DELETE),
        (42, 0, NOT_OLDER),
        (37, 5, NOT_OLDER),
        (36, 5, DELETE),
        (0, 42, NOT_OLDER),
        (0, 100, NOT_OLDER),
    ],
)
def test_an_id_not_below_the_oldest_retained_less_the_margin_is_young(
    checkpoint_id: int, margin: int, expected: Verdict
) -> None:
    """R9 (id): strictly below 42 less the margin; a tie keeps."""
    bounds = some_bounds(checkpoint_id_margin=margin)
    assert verdict(artifact=an_artifact(checkpoint_id), bounds=bounds) == expected


def test_without_an_oldest_retained_id_every_id_is_young() -> None:
    """R9: an unknown bound keeps everything."""
    bounds = some_bounds(oldest_retained_checkpoint_id=None)
    assert verdict(artifact=an_artifact(0), bounds=bounds) == NOT_OLDER
    assert verdict(artifact=an_artifact(None), bounds=bounds) == DELETE


@pytest.mark.parametrize(
    ("checkpoint_id", "age", "expected"),
    [(7, "1h", TOO_YOUNG), (99, "30d", NOT_OLDER), (99, "1h", NOT_OLDER), (7, "30d", DELETE)],
)
def test_an_old_id_does_not_make_up_for_a_young_time_nor_the_reverse(
    checkpoint_id: int, age: str, expected: Verdict
) -> None:
    """R9 **T:** old id + new mtime is kept; and vice versa."""
    assert verdict(an_object(age=age), an_artifact(checkpoint_id)) == expected


@pytest.mark.parametrize("oldest", [42, None])
def test_an_ended_job_asks_no_id(oldest: int | None) -> None:
    """R9, R13: what it leaked after its oldest retained checkpoint goes too."""
    bounds = some_bounds(
        is_ended=True, oldest_retained_checkpoint_id=oldest, newest_completed_at=None
    )
    assert verdict(artifact=an_artifact(99), bounds=bounds) == DELETE


@pytest.mark.parametrize(
    ("modified_at", "expected"),
    [
        (ago("72h") - MICROSECOND, DELETE),
        (ago("72h"), TOO_YOUNG),
        (ago("72h") + MICROSECOND, TOO_YOUNG),
        (T0, TOO_YOUNG),
        (ahead("1h"), TOO_YOUNG),
        (ahead("36500d"), TOO_YOUNG),
        (None, TOO_YOUNG),
        (NEVER, TOO_YOUNG),
        (datetime(1969, 12, 31, 23, 59, tzinfo=UTC), TOO_YOUNG),
        (datetime(1, 1, 1, tzinfo=UTC), TOO_YOUNG),
        (datetime(9999, 12, 31, tzinfo=UTC), TOO_YOUNG),
        (NEVER + MICROSECOND, DELETE),
    ],
)
def test_only_a_known_time_strictly_before_the_cutoff_is_old(modified_at, expected) -> None:
    """R9 (time), Amoro#2924: missing, zero, negative, future, and ties keep."""
    assert verdict(replace(an_object(), modified_at=modified_at)) == expected


def test_without_a_cutoff_nothing_is_old() -> None:
    """Unknown bound = delete nothing."""
    unknown = (Bound(BoundName.OLDEST_OWN_ROOT, None), Bound(BoundName.GRACE_PERIOD, ago("72h")))
    assert verdict(bounds=some_bounds(bounds=unknown)) == TOO_YOUNG
    assert verdict(bounds=some_bounds(bounds=())) == TOO_YOUNG


@pytest.mark.parametrize(
    "change",
    [
        {"size": 1235},
        {"etag": "e2"},
        {"etag": None},
        {"modified_at": ago("30d") - MICROSECOND},
        {"modified_at": ago("29d")},
    ],
)
def test_the_tombstone_of_another_object_counts_for_nothing(change: dict) -> None:
    """R17, R18: written again under the same name, it is an orphan seen anew."""
    assert verdict(replace(an_object(), **change), tombstone=a_tombstone(an_object())) == ORPHAN


def test_an_object_without_etag_is_known_by_size_and_time() -> None:
    """R18: ETag where offered; local files have none."""
    assert verdict(an_object(etag=None)) == DELETE


@pytest.mark.parametrize(
    ("laid", "expected"),
    [
        (ago("24h") - MICROSECOND, DELETE),
        (ago("24h"), IN_QUARANTINE),
        (ago("24h") + MICROSECOND, IN_QUARANTINE),
        (T0, IN_QUARANTINE),
        (ahead("1h"), IN_QUARANTINE),
    ],
)
def test_a_tombstone_must_stand_longer_than_the_quarantine_period(laid, expected) -> None:
    """R17: a tie with the bound keeps; a tombstone of the future is none that has stood."""
    assert verdict(tombstone=a_tombstone(laid=laid)) == expected


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        (ago("2d") + MICROSECOND, DELETE),
        (ago("2d"), IN_QUARANTINE),
        (ago("2d") - MICROSECOND, IN_QUARANTINE),
        (NEVER, IN_QUARANTINE),
    ],
)
def test_a_newer_checkpoint_must_have_completed_since_the_tombstone(newest, expected) -> None:
    """R17: a job that stands still proves nothing about its own next checkpoint."""
    bounds = some_bounds(newest_completed_at=newest)
    assert verdict(tombstone=a_tombstone(laid=ago("2d")), bounds=bounds) == expected


def test_an_ended_job_needs_no_newer_checkpoint() -> None:
    """R13, R17: there will be none; the quarantine period alone must be over."""
    bounds = some_bounds(is_ended=True, newest_completed_at=None)
    assert verdict(bounds=bounds) == DELETE
    assert verdict(bounds=bounds, tombstone=a_tombstone(laid=ago("1h"))) == IN_QUARANTINE
