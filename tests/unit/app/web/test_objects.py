"""One object's verdict in words, out of the plan on this machine and of nothing else."""

import shlex

import pyarrow as pa
import pytest

from orphangc.adapters.rows import verdict_lookup
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.verdict_lookup import TooLargeError, VerdictLookup
from orphangc.app.render.reason_groups import REASONS
from orphangc.app.web.pages import routes as pages
from orphangc.app.web.pages.run_pages import explanation
from orphangc.core.model.types import Reason
from orphangc.errors import PlanMismatchError
from unit.app.render.html_pages import parse
from unit.app.render.plan_builder import ORDERS, PAYMENTS, a_job, verdicts
from unit.app.web.client import Client
from unit.app.web.plans import a_kept_plan
from unit.app.web.statuses import a_record, a_root, a_status, without_plan


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """Return the record of a kept plan, once for all who only read."""
    return a_kept_plan(tmp_path_factory.mktemp("kept") / "plan")


def rows(batch=None):
    """Return the verdicts of that plan that have keys as stores have them."""
    every = (verdicts() if batch is None else batch).to_pylist()
    return [row for row in every if row["job_id"]]


def test_every_object_of_a_plan_is_found_and_shown_as_it_is(record):
    """Whatever row group it is in."""
    for row in rows()[::97]:
        told = explanation(record, row["key"])
        assert told.problem is None
        assert dict(told.row) == row
        assert told.meaning == REASONS[Reason(row["reason"])].meaning


def test_a_key_may_be_given_as_a_uri(record):
    """People copy what the bucket shows."""
    key = rows()[0]["key"]
    assert explanation(record, f"{record.root}/{key}").row["key"] == key
    assert explanation(record, f"s3a{record.root[2:]}/{key}").row["key"] == key
    assert explanation(record, f"  /{key} ").row["key"] == key


def test_the_page_says_verdict_meaning_and_command(record):
    """As a new user reads it."""
    due = (each for each in rows() if each["reason"] == "quarantine_over")
    row = next(each for each in due if each["job_id"] != PAYMENTS)
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    path = f"/ui/runs/{record.run_id}/objects"
    page = parse(client.get(path, params={"key": row["key"]}).text)
    assert "It is to be deleted: orphan, quarantine over." in page.text
    (command,) = page.all("pre")
    assert shlex.split(command.text) == [
        "orphangc", "explain", row["key"], "--plan", record.plan_folder,
    ]  # fmt: skip
    some = parse(client.get(path).text)
    (examples,) = some.all("ul", **{"class": "examples"})
    assert len(examples.all("h3")) == len({each["reason"] for each in verdicts().to_pylist()})
    for link in examples.all("a")[:3]:
        assert client.get(link.attributes["href"]).status_code == 200


def test_the_page_names_the_job_of_the_object(tmp_path):
    """By the resource that runs it."""
    record = a_kept_plan(tmp_path / "plan", jobs=(a_job(resources=("shop/orders",)),))
    key = next(each["key"] for each in rows() if each["job_id"] == ORDERS)
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    path = f"/ui/runs/{record.run_id}/objects"
    assert f"{ORDERS} (shop/orders)" in parse(client.get(path, params={"key": key}).text).text


@pytest.mark.parametrize(
    "key",
    [
        "nobody/shared/x",
        "../plan.json",
        "../../../../etc/passwd",
        "/etc/passwd",
        "file:///etc/passwd",
        "s3://other/x",
        "%2e%2e/x",
        "\x00",
        "x" * 4096,
        "-rf",
        "'; rm -rf /",
    ],
)
def test_a_key_is_compared_and_never_opened(record, key, monkeypatch):
    """A key is a value in a column: it reaches no file name."""
    opened = []
    real = verdict_lookup.pq.ParquetFile
    monkeypatch.setattr(
        verdict_lookup.pq, "ParquetFile", lambda path: opened.append(str(path)) or real(path)
    )
    told = explanation(record, key)
    assert told.row == {}
    assert "no object of this name" in told.problem
    assert all(path.startswith(f"{record.plan_folder}/verdicts/part-") for path in opened)


def of_keys(folder, *keys):
    """Return the record of a kept plan whose first objects have these keys."""
    batch = verdicts()
    column = batch.schema.get_field_index("key")
    names = pa.array([*keys, *batch.column("key").to_pylist()[len(keys) :]])
    renamed = batch.set_column(column, batch.schema.field("key"), names)
    return a_kept_plan(folder / "plan", batch=renamed)


def test_a_command_quotes_what_a_shell_would_obey(tmp_path):
    """It is meant to be pasted."""
    kept = of_keys(tmp_path, "$(reboot)'\"; x", "--delete")
    told = explanation(kept, "$(reboot)'\"; x")
    assert shlex.split(told.command)[2] == "$(reboot)'\"; x"
    assert shlex.split(explanation(kept, "--delete").command)[-2:] == ["--", "--delete"]


def test_a_name_that_no_terminal_shows_gets_no_command(tmp_path):
    """What is shown would not be what is meant."""
    told = explanation(of_keys(tmp_path, "a\u202eb\n"), "a\u202eb\n")
    assert told.row == {} or told.command is None


def test_what_is_due_in_a_blocked_job_is_said_to_stay(record):
    """The verdict is a plan's; a condition of deletion that is unmet holds it back."""
    row = next(r for r in rows() if r["job_id"] == PAYMENTS and r["reason"] == "quarantine_over")
    told = explanation(record, row["key"])
    assert told.headline == "It stays for now: it is due for deletion, but its job is blocked."


def test_without_its_plan_a_run_says_so(tmp_path, record):
    """The plan may lie on another machine, be gone, or be that of another run."""
    gone = a_record(plan_folder=str(tmp_path / "gone"))
    assert "plan.json" in explanation(gone, "x").problem
    assert explanation(gone, "x").command
    assert "made no plan" in explanation(without_plan(), "x").problem
    other = record.model_copy(update={"plan_id": "0" * 64})
    assert "another run" in explanation(other, "x").problem
    far = a_record(plan_folder="s3://bucket/plans/1")
    assert "no plan in" in explanation(far, "x").problem
    client = Client(a_status(a_root(gone)))
    assert client.get(f"/ui/runs/{gone.run_id}/objects?key=x").status_code == 200
    assert client.get("/ui/runs/none/objects?key=x").status_code == 404


def test_a_plan_that_names_files_elsewhere_is_refused(tmp_path):
    """Only its own digest signs a plan: its writer may write anything."""
    record = a_kept_plan(tmp_path / "plan")
    directory = PlanDirectory(tmp_path / "plan")
    plan = directory.read_head()
    outside = {"../../secret.parquet": "0" * 64}
    evil = plan.model_copy(update={"verdict_files": outside}).signed()
    (tmp_path / "plan" / "plan.json").write_text(evil.model_dump_json(), encoding="utf-8")
    told = explanation(record.model_copy(update={"plan_id": evil.plan_id}), "x")
    assert "no name of a verdict file" in told.problem


def test_a_damaged_verdict_file_is_a_problem_and_no_crash(tmp_path):
    """Disks lie."""
    record = a_kept_plan(tmp_path / "plan")
    for file in (tmp_path / "plan" / "verdicts").iterdir():
        file.write_bytes(b"PAR1 this is none")
    assert "cannot read" in explanation(record, "x").problem
    assert "cannot read" in explanation(record, "").problem


def test_row_groups_that_cannot_hold_a_key_are_not_read(tmp_path, monkeypatch):
    """Of a plan of a billion objects one row group is read."""
    batch = verdicts().sort_by("key")
    record = a_kept_plan(tmp_path / "plan", batch=batch)
    monkeypatch.setattr(verdict_lookup, "_MAX_ROWS", 500)
    for row in rows(batch)[::301]:
        assert explanation(record, row["key"]).row["key"] == row["key"]


def test_more_than_some_seconds_of_reading_is_refused(tmp_path, monkeypatch):
    """A page must not become a denial of service."""
    record = a_kept_plan(tmp_path / "plan")
    monkeypatch.setattr(verdict_lookup, "_MAX_ROWS", 499)
    told = explanation(record, rows()[0]["key"])
    assert "too many objects" in told.problem
    assert told.command
    monkeypatch.setattr(verdict_lookup, "MAX_PLAN_BYTES", 10)
    with pytest.raises(TooLargeError):
        VerdictLookup(tmp_path / "plan").plan()


def test_the_plan_itself_is_still_checked_whole_before_a_sweep(tmp_path):
    """The shortcut for pages is none for sweeps."""
    a_kept_plan(tmp_path / "plan")
    for file in (tmp_path / "plan" / "verdicts").iterdir():
        file.write_bytes(b"")
    assert PlanDirectory(tmp_path / "plan").read_head()
    with pytest.raises(PlanMismatchError):
        PlanDirectory(tmp_path / "plan").read()


def test_too_many_readers_are_asked_to_come_again(record, monkeypatch):
    """Reading plans must not take all threads."""
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    path = f"/ui/runs/{record.run_id}/objects"
    statuses = []

    def nested(found, key):
        if len(statuses) < 3:
            statuses.append(None)
            statuses[statuses.index(None)] = client.get(path).status_code
        return explanation(found, key)

    monkeypatch.setattr(pages, "explanation", nested)
    assert client.get(path).status_code == 200
    assert 503 in statuses
    monkeypatch.undo()
    assert client.get(path).status_code == 200
