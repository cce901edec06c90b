"""Has a job ended: one rule for evidence and guards."""

from dataclasses import replace

import pytest

from orphangc.core.cluster.job_status import JobStatus, is_of_last_run
from orphangc.core.model.types import JobState
from support.builders import T0, ago, some_facts, span

LIVING, OVER = (some_facts(),), (some_facts(status="CANCELED"),)
NOTHING = {"before": (), "after": (), "is_held": False, "is_declared_ended": False}
PROVEN = {"before": OVER, "after": OVER}


def status(**changes: object) -> JobStatus:
    return JobStatus(**(NOTHING | changes))


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({}, JobState.UNKNOWN),
        (PROVEN, JobState.ENDED),
        ({"before": OVER}, JobState.UNKNOWN),
        ({"after": OVER}, JobState.UNKNOWN),
        ({"before": LIVING, "after": OVER}, JobState.RUNNING),
        ({"is_declared_ended": True}, JobState.ENDED),
        ({"is_declared_ended": True, "after": LIVING}, JobState.RUNNING),
        ({"is_declared_ended": True, "is_held": True}, JobState.SUSPENDED),
        ({**PROVEN, "is_held": True}, JobState.SUSPENDED),
        ({"is_declared_ended": True, "may_be_running": True}, JobState.UNKNOWN),
        ({**PROVEN, "may_be_running": True}, JobState.UNKNOWN),
        ({"is_held": True, "may_be_running": True}, JobState.SUSPENDED),
    ],
)
def test_the_least_over_that_anything_says_counts(said: dict, state: JobState) -> None:
    """R13: absence proves nothing, and what is held is suspended."""
    assert status(**said).state is state


@pytest.mark.parametrize(
    ("said", "age", "expected"),
    [
        (PROVEN, "1m", True),
        ({"is_declared_ended": True}, "1m", False),
        ({"is_declared_ended": True}, "7d", False),
        ({"is_declared_ended": True}, "7d1s", True),
        ({"is_declared_ended": True, "is_held": True}, "30d", False),
        ({**PROVEN, "is_held": True}, "30d", False),
        ({}, "30d", False),
        ({**PROVEN, "is_id_fixed": True}, "30d", False),
        ({**PROVEN, "is_id_fixed": True, "is_declared_ended": True}, "1m", True),
        ({"is_id_fixed": True, "is_end_recorded": True}, "30d", True),
    ],
)
def test_a_statement_is_not_believed_while_the_directory_changes(
    said: dict, age: str, *, expected: bool
) -> None:
    """L7: a tie is not quiet; what Flink itself says needs none, but for an id that comes back."""
    quiet = {"now": T0, "quiet_period": span("7d")}
    assert status(**said, changed_at=ago(age)).has_ended(**quiet) is expected


def test_a_job_that_left_nothing_is_quiet() -> None:
    """There is nothing that could have changed."""
    quiet = {"now": T0, "quiet_period": span("7d")}
    assert status(is_declared_ended=True).has_ended(**quiet)


@pytest.mark.parametrize(
    ("changed", "ended", "is_last"),
    [
        ("9d", "9d", True),
        ("8d23h30m", "9d", True),
        ("8d23h29m59s", "9d", False),
        ("9d", None, False),
        (None, "9d", True),
        (None, None, True),
    ],
)
def test_an_end_is_of_the_run_that_wrote_last(changed, ended, *, is_last: bool) -> None:
    """R34: a tie with the slack is; what Flink shows does not end a job that wrote since."""
    at, changed_at = (each and ago(each) for each in (ended, changed))
    assert is_of_last_run(at, changed_at, span("30m")) is is_last
    shown = (replace(OVER[0], ended_at=at), replace(OVER[0], ended_at=None))
    known = status(before=shown, after=shown, changed_at=changed_at, slack=span("30m"))
    assert known.is_proven_ended is is_last
    assert known.has_ended(now=T0, quiet_period=span("7d")) is is_last
