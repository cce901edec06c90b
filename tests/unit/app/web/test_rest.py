"""REST says what the records say; what cannot be known is never a yes."""

from datetime import timedelta

import pytest

from orphangc.core.documents.plan import RefusedPart
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.model.codes import Guard
from unit.app.web.client import Client
from unit.app.web.statuses import (
    NOW,
    ORDERS,
    OTHER_ROOT,
    PAYMENTS,
    a_job,
    a_record,
    a_root,
    a_status,
    fresh,
    troubled,
    without_plan,
)

SUSTAINED = f"/jobs/{ORDERS}/state-self-sustained"


YES, NO = (True,), (False,)


def known_in(values, **changes):
    """Return a status of one storage root for each value of the job."""
    roots = []
    for number, value in enumerate(values):
        uri = f"s3://bucket-{number}/checkpoints"
        record = a_record(jobs=[a_job(state_self_sustained=value)], root=uri, run_id=f"r{number}")
        roots.append(a_root(record, settings={"root": uri}))
    return a_status(*roots, **changes)


@pytest.mark.parametrize(("value", "body"), [(True, "true"), (False, "false")])
def test_the_body_is_the_json_boolean_and_nothing_else(value, body):
    """As the FLIP says: a script compares the body."""
    answer = Client(known_in((value,))).get(SUSTAINED)
    assert (answer.status_code, answer.text) == (200, body)
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((True, True), "true"),
        ((True, False), "false"),
        ((None, False), "false"),
        ((True, None), None),
        ((None,), None),
    ],
)
def test_over_several_storage_roots_one_no_is_a_no_and_a_yes_needs_all(values, expected):
    """The reader of a yes deletes the snapshot that the job was restored from."""
    answer = Client(known_in(values)).get(SUSTAINED)
    if expected is None:
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
    else:
        assert answer.text == expected


def test_a_storage_root_without_a_plan_makes_a_yes_unknown():
    """The job may have checkpoints there."""
    status = known_in(YES)
    blind = a_root(settings={"root": OTHER_ROOT})
    answer = Client(a_status(*status.roots, blind)).get(SUSTAINED)
    assert answer.status_code == 503
    assert OTHER_ROOT in answer.json()["detail"]
    assert Client(a_status(*known_in(NO).roots, blind)).get(SUSTAINED).text == "false"


def test_a_yes_that_is_older_than_the_grace_period_is_unknown():
    """The job may have been restored from something else since."""
    young = a_status(*known_in(YES).roots, now=NOW + timedelta(hours=71))
    assert Client(young).get(SUSTAINED).text == "true"
    old = a_status(*known_in(YES).roots, now=NOW + timedelta(hours=73))
    answer = Client(old).get(SUSTAINED)
    assert answer.status_code == 503
    assert "older" in answer.json()["detail"] or "old" in answer.json()["detail"]


def test_a_refused_job_says_which_guard_refused():
    """The reason is the next step."""
    refused = RefusedPart(guard=Guard.GATE, message="two concurrent checkpoints")
    record = a_record(jobs=[a_job(refused=refused, state_self_sustained=None)])
    answer = Client(a_status(a_root(record))).get(SUSTAINED)
    assert answer.status_code == 503
    assert "two concurrent checkpoints" in answer.json()["detail"]


@pytest.mark.parametrize("job_id", ["f" * 32, ORDERS.upper(), "x", "%2e%2e%2f", "a" * 5000])
def test_an_unknown_job_is_not_found_however_it_is_spelled(job_id):
    """404 as the contract says; nothing is looked up by what a person typed."""
    for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/state-self-sustained", f"/ui/jobs/{job_id}"):
        assert Client().get(path).status_code == 404


def test_a_job_is_not_unknown_before_the_records_of_earlier_runs_were_read():
    """After a restart the daemon has yet to read what it knows; no answer says no."""
    client = Client(a_status(a_root(unread="its records have not been read yet")))
    for path in (f"/jobs/{ORDERS}", SUSTAINED):
        answer = client.get(path)
        assert answer.status_code == 503
        assert "have not been read yet" in answer.json()["detail"]
    assert client.get("/jobs/x").status_code == 404


def test_before_the_first_run_there_are_no_jobs_and_no_runs():
    """Empty is an answer."""
    client = Client(fresh())
    assert client.get("/jobs").json() == []
    assert client.get("/runs").json() == []
    assert client.get(SUSTAINED).status_code == 404


def test_a_job_shows_every_storage_root_that_knows_it():
    """The same id under two roots is one job."""
    client = Client(known_in(YES + NO))
    (job,) = client.get("/jobs").json()
    assert job == client.get(f"/jobs/{ORDERS}").json()
    assert [each["root"] for each in job["roots"]] == [
        "s3://bucket-0/checkpoints",
        "s3://bucket-1/checkpoints",
    ]
    assert job["state_self_sustained"] is False


def test_what_belongs_to_no_job_is_in_no_list_of_jobs():
    """A directory without an owner has no id to ask by."""
    record = a_record(jobs=[a_job("", directories=("s3://b/x/stray",)), a_job(PAYMENTS)])
    jobs = Client(a_status(a_root(record))).get("/jobs").json()
    assert [job["job_id"] for job in jobs] == [PAYMENTS]


def test_the_newest_plan_stands_while_newer_runs_have_none():
    """A run that found the lock held has not forgotten the jobs."""
    client = Client(a_status(a_root(without_plan(0), a_record(1))))
    assert len(client.get("/jobs").json()) == 2


def test_runs_come_newest_first_of_all_roots_or_of_one():
    """The first one is what happened last."""
    client = Client(troubled())
    runs = client.get("/runs").json()
    assert [run["started_at"] for run in runs] == sorted(
        (run["started_at"] for run in runs), reverse=True
    )
    assert len(runs) == 5
    of_one = client.get("/runs", params={"root": OTHER_ROOT}).json()
    assert [run["root"] for run in of_one] == [OTHER_ROOT]
    assert len(client.get("/runs", params={"limit": 2}).json()) == 2
    assert client.get("/runs", params={"root": "s3://nobody"}).json() == []


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "many", ""])
def test_a_limit_that_is_none_is_refused_as_a_problem(limit):
    """Not silently replaced."""
    answer = Client().get("/runs", params={"limit": limit})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert "limit" in answer.json()["detail"]


def test_a_run_is_its_record():
    """What history says, word for word."""
    record = a_record()
    answer = Client(a_status(a_root(record))).get(f"/runs/{record.run_id}")
    assert RunRecord.model_validate_json(answer.content) == record
    assert Client().get("/runs/none").status_code == 404


def test_credentials_in_the_settings_are_in_no_answer():
    """Status knows them, HTTP must not."""
    secret = "https://reader:s3cr3t@flink:8081"
    status = a_status(a_root(a_record(), settings={"flink_rest": (secret,)}))
    client = Client(status)
    run = status.roots[0].records[0].run_id
    for path in ("/", "/jobs", "/runs", f"/runs/{run}", f"/ui/runs/{run}", f"/ui/jobs/{ORDERS}"):
        assert "s3cr3t" not in client.get(path).text


def test_the_description_names_every_route_of_the_contract_and_its_errors():
    """Clients are generated from it."""
    document = Client().get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/healthz",
        "/readyz",
        "/metrics",
        "/jobs",
        "/jobs/{job_id}",
        "/jobs/{job_id}/state-self-sustained",
        "/runs",
        "/runs/{run_id}",
    }
    for operations in document["paths"].values():
        assert set(operations) == {"get"}
        operation = operations["get"]
        assert operation["summary"]
        assert operation["description"]
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                assert set(answer["content"]) == {"application/problem+json"}
                assert answer["description"]
    sustained = document["paths"]["/jobs/{job_id}/state-self-sustained"]["get"]["responses"]
    assert sustained["200"]["content"]["application/json"]["schema"]["type"] == "boolean"
    assert {"404", "503"} <= set(sustained)
