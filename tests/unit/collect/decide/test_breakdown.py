"""The breakdown is the listing added up: nothing lost, nothing twice, whatever the batches."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.model.tallies import AgeBucket, Amount, summed
from orphangc.core.model.types import Action, Reason, Scope
from orphangc.ports import VERDICT_SCHEMA

NOW = datetime(2026, 11, 21, 14, 44, 12, tzinfo=UTC)
JOBS = ("4ae4a2986a0e1a49b0f165b58085d4b3", "c91d5b07f3a24e0d8f6b1122aa33cc44", "", "<b>|")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TICK = timedelta(microseconds=1)

rows = st.fixed_dictionaries(
    {
        "job_id": st.sampled_from(JOBS),
        "key": st.just("k"),
        "scope": st.sampled_from([scope.value for scope in Scope]),
        "size": st.integers(0, 2**45),
        "modified_at": st.none()
        | st.datetimes(datetime(1965, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
        | st.timedeltas(-3 * HOUR, 100 * DAY).map(lambda age: NOW - age),
        "etag": st.none(),
        "checkpoint_id": st.none(),
        "action": st.sampled_from([action.value for action in Action]),
        "reason": st.sampled_from([reason.value for reason in Reason]),
    }
)


def a_batch(*facts) -> pa.RecordBatch:
    """Return a batch of verdicts; what is not said is one live byte of the first job."""
    usual = {
        "job_id": JOBS[0],
        "key": "k",
        "scope": "shared",
        "size": 1,
        "modified_at": NOW,
        "etag": None,
        "checkpoint_id": None,
        "action": "keep",
        "reason": "referenced",
    }
    return pa.RecordBatch.from_pylist([{**usual, **each} for each in facts], schema=VERDICT_SCHEMA)


def naive_age(modified_at: datetime | None) -> AgeBucket:
    """Return the bucket as one would say it, one question at a time."""
    if modified_at is None or modified_at <= datetime(1970, 1, 1, tzinfo=UTC):
        return AgeBucket.UNKNOWN
    age = NOW - modified_at
    if age < -HOUR:
        return AgeBucket.UNKNOWN
    steps = (
        (HOUR, AgeBucket.UNDER_1_HOUR),
        (DAY, AgeBucket.HOURS_1_TO_24),
        (3 * DAY, AgeBucket.DAYS_1_TO_3),
        (7 * DAY, AgeBucket.DAYS_3_TO_7),
        (30 * DAY, AgeBucket.DAYS_7_TO_30),
        (90 * DAY, AgeBucket.DAYS_30_TO_90),
    )
    return next((bucket for limit, bucket in steps if age < limit), AgeBucket.OLDER)


@given(st.lists(st.lists(rows, max_size=20), max_size=5))
def test_the_sums_are_those_of_a_loop_over_every_row(batches):
    """Grouping in Arrow, batch after batch, gives what counting by hand gives."""
    breakdown = Breakdown(NOW)
    objects, sizes = Counter(), Counter()
    for batch in batches:
        breakdown.write(pa.RecordBatch.from_pylist(batch, schema=VERDICT_SCHEMA))
        for row in batch:
            key = (
                *(row[name] for name in ("job_id", "scope", "action", "reason")),
                naive_age(row["modified_at"]),
            )
            objects[key] += 1
            sizes[key] += row["size"]
    found = {(c.job_id, c.scope, c.action, c.reason, c.age): c.amount for c in breakdown.cells()}
    assert found == {key: Amount(count, sizes[key]) for key, count in objects.items()}


@given(st.lists(rows, max_size=30), st.integers(1, 7))
def test_where_a_batch_ends_makes_no_difference(facts, size):
    """The listing's page size is no fact about the storage."""
    whole, parts = Breakdown(NOW), Breakdown(NOW)
    whole.write(pa.RecordBatch.from_pylist(facts, schema=VERDICT_SCHEMA))
    for start in range(0, len(facts), size):
        parts.write(pa.RecordBatch.from_pylist(facts[start : start + size], schema=VERDICT_SCHEMA))
    assert parts.cells() == whole.cells()


@pytest.mark.parametrize(
    ("age", "bucket"),
    [
        (-HOUR, AgeBucket.UNDER_1_HOUR),
        (-HOUR - TICK, AgeBucket.UNKNOWN),
        (HOUR - TICK, AgeBucket.UNDER_1_HOUR),
        (HOUR, AgeBucket.HOURS_1_TO_24),
        (DAY - TICK, AgeBucket.HOURS_1_TO_24),
        (DAY, AgeBucket.DAYS_1_TO_3),
        (3 * DAY, AgeBucket.DAYS_3_TO_7),
        (7 * DAY, AgeBucket.DAYS_7_TO_30),
        (30 * DAY, AgeBucket.DAYS_30_TO_90),
        (90 * DAY - TICK, AgeBucket.DAYS_30_TO_90),
        (90 * DAY, AgeBucket.OLDER),
    ],
)
def test_an_age_on_an_edge_belongs_to_the_older_bucket(age, bucket):
    """Every edge is in exactly one bucket, to the microsecond."""
    breakdown = Breakdown(NOW)
    breakdown.write(a_batch({"modified_at": NOW - age}))
    assert [cell.age for cell in breakdown.cells()] == [bucket]


@pytest.mark.parametrize(
    "modified_at", [None, datetime(1970, 1, 1, tzinfo=UTC), datetime(1601, 1, 1, tzinfo=UTC)]
)
def test_no_usable_store_time_is_an_unknown_age_and_not_an_old_one(modified_at):
    """A missing, zero or absurd time says nothing, least of all that something is old."""
    breakdown = Breakdown(NOW)
    breakdown.write(a_batch({"modified_at": modified_at}))
    assert [cell.age for cell in breakdown.cells()] == [AgeBucket.UNKNOWN]


def test_nothing_written_is_nothing_found():
    """An empty plan has an empty breakdown, also after an empty batch."""
    breakdown = Breakdown(NOW)
    assert breakdown.cells() == ()
    breakdown.write(a_batch())
    assert breakdown.cells() == ()


def test_memory_grows_with_jobs_and_not_with_objects():
    """A second million of objects of the same kinds adds no row to what is kept."""
    breakdown = Breakdown(NOW)
    batch = a_batch(*({"job_id": job, "size": n} for n in range(500) for job in JOBS))
    for _ in range(20):
        breakdown.write(batch)
    assert breakdown.sums.num_rows == len(JOBS)
    assert sum(cell.amount.objects for cell in breakdown.cells()) == 20 * 500 * len(JOBS)


def test_amounts_add_up_by_whatever_is_asked():
    """One breakdown answers by job, by age or by both."""
    breakdown = Breakdown(NOW)
    breakdown.write(
        a_batch({"size": 3}, {"size": 4, "reason": "orphan"}, {"size": 5, "job_id": JOBS[1]})
    )
    by_job = summed(breakdown.cells(), lambda cell: cell.job_id)
    assert by_job == {JOBS[0]: Amount(2, 7), JOBS[1]: Amount(1, 5)}
