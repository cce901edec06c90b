"""What the state location remembers of expired checkpoints, of several writers and expiries."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint, written_times
from orphangc.core.model.joined_facts import table

WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FIRST = ExpiredCheckpoint(
    uri="s3://bucket/job/chk-1",
    key="job/chk-1/_metadata",
    job_id="job",
    checkpoint_id=1,
    sha256="0" * 64,
    size=1,
    stored_at=WRITTEN,
    expired_at=WRITTEN + 10 * DAY,
    run_id="first",
    reason="superseded",
)
BACK = FIRST.model_copy(update={"restored_at": WRITTEN + 11 * DAY})
AGAIN = FIRST.model_copy(
    update={"stored_at": WRITTEN + 11 * DAY, "expired_at": WRITTEN + 20 * DAY, "run_id": "second"}
)


def test_what_expires_again_is_in_quarantine_and_as_old_as_it_was_written() -> None:
    """Whatever order they come in: the later expiry counts, and the earliest store time."""
    for records in permutations((FIRST, BACK, AGAIN)):
        (found,) = table(records)
        assert (found.run_id, found.is_in_quarantine) == ("second", True)
        assert written_times(records) == {(FIRST.uri, FIRST.sha256): WRITTEN}


def test_a_time_that_no_storage_said_is_none() -> None:
    unknown = FIRST.model_copy(update={"stored_at": None})
    assert written_times([unknown]) == {}
    assert written_times([unknown, AGAIN]) == {(FIRST.uri, FIRST.sha256): WRITTEN + 11 * DAY}
