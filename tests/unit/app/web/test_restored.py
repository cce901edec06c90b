"""REST and pages say whether the snapshot may go that a job was restored from, since when, why."""

from datetime import timedelta

import pytest

from orphangc.core.documents.self_sustained_record import RememberedUsageCheck, answer_of
from orphangc.core.model.types import ForeignKind
from unit.app.web.client import Client
from unit.app.web.statuses import NOW, ORDERS, OTHER_ROOT, a_job, a_record, a_root, a_status
from unit.app.web.test_pages import seen, words

SNAPSHOT = "s3://bucket/savepoints/savepoint-1"
SINCE = NOW - timedelta(days=2)
SAFE = "safe to delete the restored snapshot"


def a_check(*, value, place="", is_confirmed=True, **changes) -> RememberedUsageCheck:
    """Return what is remembered of a place, the snapshot or everything."""
    return RememberedUsageCheck(
        kind=ForeignKind.SNAPSHOT if place else None,
        place=place,
        value=value,
        why="two clusters run it" if value is None else f"it names {'no' if value else 'a'} file",
        restored_from=bool(place),
        at=NOW,
        since=SINCE,
        since_checkpoint_id=4180,
        confirmed_at=NOW if value and is_confirmed else None,
        **changes,
    )


def restored(*more, value, **changes):
    looks = (a_check(value=value, **changes), a_check(value=value, place=SNAPSHOT, **changes))
    job = a_job(looks=looks, state_self_sustained=answer_of(looks))
    return a_status(a_root(a_record(jobs=[job])), *more)


@pytest.mark.parametrize(
    ("value", "is_confirmed", "answer", "said"),
    [
        (True, True, True, "names no file"),
        (True, False, None, "second look, after checkpoint 4180"),
        (False, False, False, "names a file"),
        (None, False, None, "two clusters"),
    ],
    ids=["confirmed", "once", "no", "unknown"],
)
def test_only_a_confirmed_yes_is_one(value, is_confirmed, answer, said):
    """The reader of a yes deletes the snapshot."""
    client = Client(restored(value=value, is_confirmed=is_confirmed))
    code = client.get(f"/jobs/{ORDERS}/state-self-sustained").status_code
    assert code == (503 if answer is None else 200)
    job = client.get(f"/jobs/{ORDERS}").json()
    (place,) = job["restored_from"]
    assert (job["state_self_sustained"], place["safe_to_delete"]) == (answer, answer)
    assert (place["place"], place["kind"]) == (SNAPSHOT, "snapshot")
    assert said in place["reason"]
    assert place["since"] == SINCE.isoformat().replace("+00:00", "Z")
    assert (job["state_self_sustained_since"] is None) is (answer is None)


def test_a_storage_root_without_a_plan_leaves_no_yes_about_a_snapshot_either():
    """The job may have checkpoints there."""
    blind = a_root(settings={"root": OTHER_ROOT})
    for value, expected in ((True, None), (False, False)):
        job = Client(restored(blind, value=value)).get(f"/jobs/{ORDERS}").json()
        assert job["restored_from"][0]["safe_to_delete"] is expected


def test_what_others_need_may_not_go():
    """The job itself is self-sustained."""
    client = Client(restored(value=True, also_named_by=("f" * 32,)))
    assert client.get(f"/jobs/{ORDERS}/state-self-sustained").text == "true"
    (place,) = client.get(f"/jobs/{ORDERS}").json()["restored_from"]
    assert (place["safe_to_delete"], place["also_named_by"]) == (False, ["f" * 32])


def test_of_several_storage_roots_the_graver_answer_counts():
    """One needs it still."""
    roots = []
    for number, value in enumerate((True, False)):
        looks = (a_check(value=value), a_check(value=value, place=SNAPSHOT))
        job = a_job(looks=looks, state_self_sustained=value)
        uri = f"s3://bucket-{number}/checkpoints"
        roots.append(a_root(a_record(jobs=[job], root=uri, run_id=uri), settings={"root": uri}))
    job = Client(a_status(*roots)).get(f"/jobs/{ORDERS}").json()
    assert [each["safe_to_delete"] for each in job["restored_from"]] == [False]
    assert "bucket-1" in job["state_self_sustained_reason"]


@pytest.mark.parametrize(
    ("value", "word"), [(True, "yes"), (False, "no"), (None, "cannot be known")]
)
@pytest.mark.parametrize("path", ["/", f"/ui/jobs/{ORDERS}"])
def test_pages_say_it_in_a_line(path, value, word):
    """Yes, no, or unknown, and since when."""
    shown = words(seen(restored(value=value), path))
    assert f"{SAFE}: {word}, since {SINCE:%Y-%m-%d %H:%M} UTC" in shown


def test_of_a_job_that_was_restored_from_nothing_no_page_speaks_of_a_snapshot():
    """As far as anybody knows."""
    job = a_job(looks=(a_check(value=True),))
    status = a_status(a_root(a_record(jobs=[job])))
    assert SAFE not in words(seen(status))
    assert Client(status).get(f"/jobs/{ORDERS}").json()["restored_from"] == []
