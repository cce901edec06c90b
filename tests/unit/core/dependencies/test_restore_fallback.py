"""A job that is not over goes back to its newest checkpoint, and to none that is older."""

from dataclasses import replace

import pytest

from orphangc.core.columns.file_names import FileNames
from orphangc.core.dependencies.restore_fallback import is_restore_fallback, recovers_from_its_own
from support.builders import BASE, OTHER_JOB, a_checkpoint, a_hold, a_root, some_facts

PLACE = BASE.child(f"{OTHER_JOB}/chk-5")
INSIDE = {PLACE: FileNames(["a"])}


@pytest.mark.parametrize(
    ("checkpoint_id", "others", "answer"),
    [
        (5, [], True),
        (5, [a_root(4)], True),
        (5, [a_root(5)], True),
        (5, [a_root(6)], False),
        (None, [a_root(6)], True),
        (5, [a_root(6, is_savepoint=True)], True),
        (5, [a_root(6, files=INSIDE)], True),
        (5, [a_root(6, files=INSIDE), a_root(7)], True),
        (5, [a_root(9, folder=PLACE)], True),
    ],
)
def test_a_newer_one_that_names_nothing_of_it_replaces_it(checkpoint_id, others, answer) -> None:
    """A savepoint does not, for Flink never goes back to it; nor what lies at the same place."""
    assert is_restore_fallback(PLACE, checkpoint_id, others) is answer


@pytest.mark.parametrize(
    ("own", "others", "answer"),
    [
        ({"age": "5d"}, [a_root(6, age="10d")], True),
        ({"age": "10d"}, [a_root(6, age="5d")], False),
        ({"age": "10d"}, [a_root(4, age="5d")], True),
        ({"age": "10d"}, [a_root(6, age="20d"), a_root(7, age="5d")], False),
        ({}, [a_root(6)], True),
        ({"modified_at": None}, [a_root(6, age="5d")], True),
        ({}, [a_root(6, modified_at=None)], True),
        ({"is_savepoint": True}, [a_root(6)], False),
    ],
)
def test_a_newer_one_was_stored_later(own, others, answer) -> None:
    """A higher number that was stored before is of another life of the job."""
    assert is_restore_fallback(PLACE, 5, [a_root(5, **own), *others]) is answer


@pytest.mark.parametrize(
    ("shown", "retained", "answer"),
    [
        ((5,), [], True),
        ((4, 6), [], False),
        ((6, 5), [], True),
        ((), [()], False),
        ((), [(4, 5)], True),
        ((), [(5, 6)], False),
        ((), [(6,), (), (5,)], True),
        ((6,), [(5,)], True),
    ],
)
def test_the_newest_that_flink_shows_or_retains_is_needed_below_a_higher_number(
    shown, retained, answer
) -> None:
    """The higher one may be left from another life of the job."""
    facts = [some_facts(latest_completed_id=each) for each in shown]
    holds = [a_hold(*each) for each in retained]
    assert is_restore_fallback(PLACE, 5, [a_root(9)], facts=facts, holds=holds) is answer


@pytest.mark.parametrize(
    ("shown", "retained", "own", "answer"),
    [
        ([], [(43,)], {43}, False),
        ([[a_checkpoint(43)]], [(43,)], {43}, True),
        ([[a_checkpoint(42)], [a_checkpoint(43)]], [(41,), (42, 43)], {43}, True),
        ([[a_checkpoint(43)]], [], {43}, False),
        ([[a_checkpoint(43)]], [(42,)], {42, 43}, False),
        ([[a_checkpoint(43)]], [(43,)], {42}, False),
        ([[a_checkpoint(43, status="IN_PROGRESS")]], [(43,)], {43}, False),
        ([[a_checkpoint(43, is_savepoint=True)]], [(43,)], {43}, False),
    ],
)
def test_a_job_recovers_from_what_its_jobmanager_completed_and_ha_metadata_names(
    shown, retained, own, answer
) -> None:
    """And is there; an earlier run may have left metadata, and checkpoints, of its own."""
    facts = [some_facts(checkpoints=tuple(each)) for each in shown]
    holds = [a_hold(*each) for each in retained]
    assert recovers_from_its_own(facts, holds, own) is answer
    without = [some_facts(has_high_availability=False), *facts]
    assert not recovers_from_its_own(without, holds, own)
    over = [replace(each, status="FAILED", has_high_availability=False) for each in facts]
    assert not recovers_from_its_own(over, holds, own)
    assert recovers_from_its_own([*over, *facts], holds, own) is answer
