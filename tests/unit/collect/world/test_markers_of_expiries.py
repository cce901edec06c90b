"""Markers of expiries that a state location knows nothing of (R44)."""

from datetime import timedelta

import pytest

from flinkstate.places.locations import Location, canonical
from orphangc.collect.world.recalling import Recalled, with_expiries
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint, ExpiryMarker
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.remembered import WorldMemory
from unit.core.lineage.lineage_builders import NOW

ROOT = canonical("/data/checkpoints")
FOLDER = ROOT.child(f"{'a' * 32}/chk-5")
OWN, OTHER = "1" * 32, "2" * 32
SECOND = timedelta(seconds=1)


def expired(folder: Location = FOLDER, **later: object) -> Recalled:
    """Return what a state location recalls that put a checkpoint into quarantine."""
    record = ExpiredCheckpoint(
        uri=str(folder),
        key="k",
        job_id="a" * 32,
        checkpoint_id=5,
        sha256="0" * 64,
        size=1,
        expired_at=NOW,
        run_id="r",
        reason="superseded",
        **later,
    )
    memory = WorldMemory(root=str(ROOT), states=(OWN,), written_at=NOW, expired=(record,))
    return Recalled(memory=memory, place="/state")


@pytest.mark.parametrize(
    ("later", "state", "is_lost"),
    [
        ({}, OWN, False),
        ({}, OTHER, False),
        ({"released_at": NOW}, OWN, True),
        ({"restored_at": NOW}, OWN, True),
        ({"released_at": NOW}, OTHER, True),
        ({"restored_at": NOW}, OTHER, True),
    ],
)
def test_only_what_is_in_quarantine_here_explains_a_marker(later, state, is_lost) -> None:
    """What came back, or was released, may have been put into quarantine since."""
    found = with_expiries(expired(**later), ROOT, [ExpiryMarker(FOLDER, state, NOW)], NOW)
    assert (found.state_problem is not None) is is_lost


def test_a_marker_of_its_own_that_no_record_explains_shows_that_the_state_was_set_back() -> None:
    markers = [ExpiryMarker(FOLDER, OWN, NOW)]
    found = with_expiries(expired(ROOT.child("another")), ROOT, markers, NOW)
    assert found.state_problem is not None
    assert [each.what for each in found.standing] == [OWN]


@pytest.mark.parametrize(
    ("stored_at", "is_lost"),
    [(NOW - SECOND, False), (NOW, False), (NOW + SECOND, True), (None, True)],
)
def test_an_acknowledgement_covers_the_markers_that_a_cycle_had_seen(stored_at, is_lost) -> None:
    word = Acknowledgement(condition="state_lost", what=OTHER, since=NOW, at=NOW, by="me")
    before, markers = Recalled(given=(word,)), [ExpiryMarker(FOLDER, OTHER, stored_at)]
    assert (with_expiries(before, ROOT, markers, NOW).state_problem is not None) is is_lost
