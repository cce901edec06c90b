"""Which checkpoints are of the run that a cluster shows, and which are another writer's."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orphangc.core.cluster.job_facts import RestoredFacts
from orphangc.core.cluster.known_checkpoints import is_anothers, out_of_order, retained_by
from support.builders import a_checkpoint, ago, some_facts

SLACK = timedelta(minutes=15)
START = ago("2h")
RESTORED = RestoredFacts(id=40, external_path="s3://b/chk-40", is_savepoint=False)


def facts(*ids: int, **changes: object):
    """Return the answer of a JobManager that was started two hours ago and shows these."""
    shown = tuple(a_checkpoint(each) for each in ids)
    said = {"latest_completed_id": max(ids, default=None), "started_at": START}
    return some_facts(**(said | {"checkpoints": shown} | changes))


@pytest.mark.parametrize(
    ("checkpoint_id", "age", "expected"),
    [
        pytest.param(43, "1m", False, id="it is known"),
        pytest.param(44, "1m", True, id="newer than all that are known"),
        pytest.param(44, "1h45m", False, id="stored at the end of the slack"),
        pytest.param(44, "1h44m59s", True, id="stored after the slack"),
        pytest.param(4711, "100d", False, id="an earlier run stored it"),
        pytest.param(42, "1m", True, id="missing in the middle of the history"),
        pytest.param(40, "1m", False, id="older than the history reaches"),
    ],
)
def test_what_was_stored_since_the_start_and_is_not_known_is_anothers(
    checkpoint_id: int, age: str, *, expected: bool
) -> None:
    """A history is bounded, so that only what it would have to show may be missed."""
    assert is_anothers(checkpoint_id, ago(age), facts(43, 41), SLACK) is expected


def test_without_a_store_time_nothing_is_proven() -> None:
    """Such a checkpoint keeps everything anyway: the bound of its job is unknown."""
    assert not is_anothers(44, None, facts(43), SLACK)


def test_a_pending_checkpoint_and_a_failed_one_are_known() -> None:
    """Flink writes the ``_metadata`` before it says that a checkpoint is complete."""
    shown = (a_checkpoint(44, status="IN_PROGRESS"), a_checkpoint(43, status="FAILED"))
    answer = facts(checkpoints=shown, latest_completed_id=None, restored=RESTORED)
    assert [is_anothers(each, ago("1m"), answer, SLACK) for each in (40, 43, 44, 45)] == [
        False,
        False,
        False,
        True,
    ]


def test_a_savepoint_that_outlived_the_history_is_no_witness_of_what_it_holds() -> None:
    """Flink shows the newest savepoint for ever, so that older ids may have left since."""
    shown = (a_checkpoint(43), a_checkpoint(3, is_savepoint=True))
    assert not is_anothers(5, ago("1m"), facts(checkpoints=shown, latest_completed_id=43), SLACK)


def test_a_jobmanager_that_leads_again_counts_from_then_on() -> None:
    """The graph is built anew, and what was completed before is not in its history."""
    answer = facts(restored=RESTORED, graph_built_at=ago("30m"))
    assert not is_anothers(41, ago("1h"), answer, SLACK)
    assert is_anothers(41, ago("10m"), answer, SLACK)


@pytest.mark.parametrize(("age", "expected"), [("2h14m", True), ("2h15m", False)])
def test_a_run_that_was_only_restored_from_here_may_write_elsewhere(
    age: str, *, expected: bool
) -> None:
    """Staging that was restored from production's checkpoint reports no other path."""
    assert is_anothers(41, ago(age), facts(restored=RESTORED), SLACK) is expected


def test_a_run_that_has_shown_nothing_yet_knows_nothing() -> None:
    """Its first checkpoint is pending, so what others complete meanwhile is theirs."""
    assert is_anothers(1, ago("1m"), facts(), SLACK)
    assert not is_anothers(4711, ago("3h"), facts(), SLACK)


def test_a_run_retains_what_it_completed_and_what_it_was_restored_from() -> None:
    """A checkpoint that failed, or is pending, is none of them."""
    shown = (a_checkpoint(44, status="FAILED"), a_checkpoint(43))
    answer = facts(checkpoints=shown, latest_completed_id=42, restored=RESTORED)
    assert retained_by([answer, facts(7)]) == {7, 40, 42, 43}
    assert retained_by([facts()]) == frozenset()


@pytest.mark.parametrize(
    ("checkpoint_id", "age", "expected"),
    [
        pytest.param(5, "1m", True, id="another counter is behind"),
        pytest.param(5, "1h45m", False, id="stored at the end of the slack"),
        pytest.param(42, "1m", False, id="it is known"),
    ],
)
def test_a_lower_id_is_anothers_where_the_answer_shows_all_that_it_completed(
    checkpoint_id: int, age: str, *, expected: bool
) -> None:
    """As many are shown as are counted, so the history has lost none."""
    answer = facts(43, 42, 41, completed_count=3, restored=RESTORED)
    assert is_anothers(checkpoint_id, ago(age), answer, SLACK) is expected
    assert not is_anothers(checkpoint_id, ago(age), replace(answer, completed_count=4), SLACK)


def test_what_was_stored_just_before_a_failover_is_its_own() -> None:
    """Three are retained, and the new JobManager knows the one that it was restored from."""
    answer = facts(completed_count=0, restored=RESTORED)
    assert not is_anothers(39, ago("1h50m"), answer, SLACK)


def test_a_lower_id_that_was_stored_later_is_out_of_order() -> None:
    """One counter only rises, whatever the history has lost."""
    answer = facts(43, 42)
    stored = {43: ago("30m"), 42: ago("31m"), 5: ago("14m")}
    assert out_of_order(stored, answer, SLACK) == 5
    assert out_of_order(stored | {5: ago("16m")}, answer, SLACK) is None
    assert out_of_order({43: ago("1h40m"), 41: ago("3h"), 5: None}, answer, SLACK) is None


def test_what_an_earlier_run_stored_is_in_no_order() -> None:
    """A fixed id that was started without state counts from 1 again."""
    assert out_of_order({4711: ago("3h"), 1: ago("1h")}, facts(1), SLACK) is None
