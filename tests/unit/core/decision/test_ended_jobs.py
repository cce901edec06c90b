"""Has a job ended: one rule for evidence and guards."""

from dataclasses import replace
from datetime import datetime

import pytest

from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.decision.evidence import JobEvidence, has_ended, is_of_last_run
from orphangc.core.model.types import JobId, JobState
from support.builders import a_cycle, a_hold, a_job, a_survey, ago, some_facts, span

LIVING, OVER = (some_facts(),), (some_facts(status="CANCELED"),)
PROVEN = {"before": OVER, "after": OVER}
DECLARED, HELD = {"is_declared_ended": True}, {"held_after": (a_hold(),)}
UNPLACED = {"unplaced": ("http://flink",)}
FIXED = {"job_id": JobId(f"{'0' * 31}1"), "key": f"{'0' * 31}1"}


def job(changed_at: datetime | None = None, **changes: object) -> JobEvidence:
    """Return a job of which nothing else is known."""
    nothing = {"before": (), "after": (), "own_checkpoints": (), "directories": ()}
    return a_job(**{**nothing, **changes}, survey=a_survey(newest_modified_at=changed_at))


def recorded(at: datetime) -> dict[str, object]:
    """Return the exporter's record of the end of the newest run."""
    end = EndRecord(
        job_id=FIXED["job_id"], uri="e", status="CANCELED", at=at, is_of_newest_run=True
    )
    return {**FIXED, "ends": (end,)}


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({}, JobState.UNKNOWN),
        (PROVEN, JobState.ENDED),
        ({"before": OVER}, JobState.UNKNOWN),
        ({"after": OVER}, JobState.UNKNOWN),
        ({"before": LIVING, "after": OVER}, JobState.RUNNING),
        (DECLARED, JobState.ENDED),
        ({**DECLARED, "after": LIVING}, JobState.RUNNING),
        ({**DECLARED, **HELD}, JobState.SUSPENDED),
        ({**PROVEN, **HELD}, JobState.SUSPENDED),
        ({**DECLARED, **UNPLACED}, JobState.UNKNOWN),
        ({**PROVEN, **UNPLACED}, JobState.UNKNOWN),
        ({**HELD, **UNPLACED}, JobState.SUSPENDED),
    ],
)
def test_the_least_over_that_anything_says_counts(said: dict, state: JobState) -> None:
    """R13: absence proves nothing, and what is held is suspended."""
    assert job(**said).state is state


@pytest.mark.parametrize(
    ("said", "age", "expected"),
    [
        (PROVEN, "1m", True),
        (DECLARED, "1m", False),
        (DECLARED, "7d", False),
        (DECLARED, "7d1s", True),
        ({**DECLARED, **HELD}, "30d", False),
        ({**PROVEN, **HELD}, "30d", False),
        ({}, "30d", False),
        ({**PROVEN, **FIXED}, "30d", False),
        ({**PROVEN, **FIXED, **DECLARED}, "1m", True),
        (recorded(ago("30d")), "30d", True),
    ],
)
def test_a_statement_is_not_believed_while_the_directory_changes(
    said: dict, age: str, *, expected: bool
) -> None:
    """L7: a tie is not quiet; what Flink itself says needs none, but for an id that comes back."""
    assert has_ended(job(ago(age), **said), a_cycle()) is expected


def test_a_job_that_left_nothing_is_quiet() -> None:
    """There is nothing that could have changed."""
    assert has_ended(job(**DECLARED), a_cycle())


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
    known = job(changed_at, before=shown, after=shown, slack=span("30m"))
    assert known.is_proven_ended is is_last
    assert has_ended(known, a_cycle()) is is_last
