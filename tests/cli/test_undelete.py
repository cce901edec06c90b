"""``undelete``: back from a versioned bucket, and a clear refusal from anywhere else."""

import shutil
import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest
from botocore.exceptions import ReadTimeoutError

from cli.helpers import contents, outcomes, run
from cli.stories_on_s3 import S3Story
from orphangc.adapters.object_store.object_state_files import ObjectStateFiles
from orphangc.adapters.s3.bucket_requests import DeleteRequests
from orphangc.adapters.s3.requests.s3_client import Answer
from orphangc.app.runner import sweep_plan
from orphangc.collect.runs.journal import Journal
from orphangc.errors import StorageUnreachableError
from support.processes import finished


def test_a_local_storage_keeps_no_versions(story) -> None:
    """Exit 4: what was deleted there cannot be restored."""
    story.bed.cycle()
    plan, _ = story.bed.cycle()
    before = contents(story.bed.folder)
    ran = run("undelete", plan.path)
    assert (ran.code, len(ran.complaints), ran.out) == (4, 1, "")
    assert "for good" in ran.complaints[0]
    assert contents(story.bed.folder) == before


def test_a_plan_that_was_not_swept_has_nothing_to_bring_back(story) -> None:
    """Exit 2, one line; so have an absent folder and one without a plan."""
    plan = story.bed.plan()
    for place in (plan.path, story.bed.root, story.bed.folder / "absent"):
        ran = run("undelete", place)
        assert (ran.code, len(ran.complaints)) == (2, 1)
        assert "Errno" not in ran.complaints[0]


def test_deleted_objects_come_back_from_a_versioned_bucket(on_s3: S3Story) -> None:
    """Exactly those that the run deleted, with the same bytes; no verdict is needed for that."""
    before = on_s3.contents()
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()
    swept = on_s3.sweep(plan, "--delete", "--output", "table")
    assert (swept.code, "Undo: bring all of it back" in swept.out) == (0, True)
    assert set(before) - set(on_s3.contents()) == on_s3.orphans
    shutil.rmtree(plan.path / "verdicts")
    ran = run("undelete", plan.path)
    assert (ran.code, ran.json["counts"], ran.json["failed"]) == (0, {"restored": 2}, [])
    assert on_s3.contents() == before


@pytest.mark.ci
def test_an_object_that_was_written_anew_stays_as_it_is(on_s3: S3Story) -> None:
    """Only the sweep's own delete markers are removed, however often."""
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()
    on_s3.sweep(plan, "--delete")
    renewed, other = sorted(on_s3.orphans)
    on_s3.put(renewed, b"renewed")
    for _ in range(2):
        assert run("undelete", plan.path, "--output", "table").code in {0, 3}
        assert on_s3.contents()[renewed] == b"renewed"
        assert other in on_s3.contents()


CRASH = """
import os
from orphangc.adapters.rows import outcome_files
from orphangc.collect.runs.journal import Journal
from orphangc.collect.sweep.sweep import Sweep
from orphangc.app.cli import main
{} = lambda *_: os._exit(9)
main()
"""


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("Journal.write_outcomes", id="amid a batch"),
        pytest.param("Sweep._forget_deleted", id="among its steps"),
        pytest.param("outcome_files.OutcomeFiles.publish", id="before its outcome"),
        pytest.param("outcome_files.write_atomically", id="amid its outcome"),
    ],
)
@pytest.mark.ci
@pytest.mark.usefixtures("kills")
def test_what_a_run_deleted_before_it_died_is_gone_and_comes_back_too(
    on_s3: S3Story, place: str
) -> None:
    """Its journal alone knows what went; nothing is reported as done twice."""
    before = on_s3.contents()
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()
    command = [sys.executable, "-c", CRASH.format(place), "sweep", str(plan.path), "--delete"]
    assert finished(command).returncode == 9
    assert set(before) - set(on_s3.contents()) == on_s3.orphans
    swept = on_s3.sweep(plan, "--delete")
    assert (swept.code, outcomes(plan)) == (0, dict.fromkeys(on_s3.orphans, "gone"))
    ran = run("undelete", plan.path)
    assert (ran.code, ran.json["counts"], ran.json["failed"]) == (0, {"restored": 2}, [])
    assert on_s3.contents() == before


@pytest.mark.parametrize("is_swept_again", [False, True])
@pytest.mark.usefixtures("kills")
def test_what_a_run_deleted_before_it_died_comes_back_though_another_plan_was_swept_since(
    on_s3: S3Story, is_swept_again
) -> None:
    """As by the next scheduled run, whose listing does not show what went."""
    before = on_s3.contents()
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()
    crash = CRASH.format("Journal.write_outcomes")
    assert (
        finished([sys.executable, "-c", crash, "sweep", str(plan.path), "--delete"]).returncode == 9
    )
    for each in (on_s3.plan(), *[plan] * is_swept_again):
        assert on_s3.sweep(each, "--delete").code == 0
    ran = run("undelete", plan.path)
    assert (ran.code, ran.json["counts"], ran.json["failed"]) == (0, {"restored": 2}, [])
    assert on_s3.contents() == before


def test_what_the_outcome_has_comes_back_without_the_state_location(
    on_s3: S3Story, monkeypatch
) -> None:
    """That has only the journals of runs that died."""
    before = on_s3.contents()
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()
    assert on_s3.sweep(plan, "--delete").code == 0

    def unreachable(*_):
        raise StorageUnreachableError("the state location does not answer")

    monkeypatch.setattr(ObjectStateFiles, "names", unreachable)
    ran = run("undelete", plan.path)
    assert (ran.code, on_s3.contents()) == (3, before)
    assert "that died is not known" in ran.json["failed"][0]["error"]


@pytest.mark.parametrize("is_repeated", [False, True])
def test_what_went_by_a_request_whose_answer_was_lost_comes_back_too(
    on_s3: S3Story, monkeypatch, is_repeated
) -> None:
    """No answer named its delete markers, or one that of a second request alone."""
    before, send = on_s3.contents(), DeleteRequests.send
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()

    def lost(requests: DeleteRequests, wanted: Sequence[tuple[str, str | None]]) -> Answer:
        send(requests, wanted)
        if is_repeated:  # a store that knows no conditions
            return send(requests, [(key, None) for key, _ in wanted])
        raise ReadTimeoutError(endpoint_url="loopback")

    monkeypatch.setattr(DeleteRequests, "send", lost)
    assert on_s3.sweep(plan, "--delete").code == 0
    assert outcomes(plan) == dict.fromkeys(on_s3.orphans, "done")
    ran = run("undelete", plan.path)
    assert (ran.code, ran.json["counts"], ran.json["failed"]) == (0, {"restored": 2}, [])
    assert on_s3.contents() == before


def test_what_two_sweeps_of_one_plan_deleted_comes_back_though_one_overtook_the_other(
    on_s3: S3Story, monkeypatch
) -> None:
    """A process slept until its lock was free; it wakes once the other sweep is over."""
    before, write_batch = on_s3.contents(), Journal.write_batch
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()

    def overtaken(journal: Journal, number: int, rows: pa.RecordBatch) -> None:
        monkeypatch.setattr(Journal, "write_batch", write_batch)
        write_batch(journal, number, rows)
        assert on_s3.sweep(plan, "--delete").code == 0

    monkeypatch.setattr(Journal, "write_batch", overtaken)
    monkeypatch.setattr(sweep_plan, "is_dead", lambda _: True)
    assert on_s3.sweep(plan, "--delete").code == 11
    ran = run("undelete", plan.path)
    assert (ran.code, ran.json["counts"], ran.json["failed"]) == (0, {"restored": 2}, [])
    assert on_s3.contents() == before


def test_a_sweep_that_deleted_nothing_has_nothing_to_bring_back(on_s3: S3Story) -> None:
    plan = on_s3.plan()
    on_s3.sweep(plan)
    ran = run("undelete", plan.path)
    assert (ran.code, len(ran.complaints)) == (4, 1)


def test_a_second_undelete_finds_all_of_it_there(on_s3: S3Story, monkeypatch) -> None:
    """Exit 0 both times; a dry run restores nothing, and says once that no store answers."""
    before = on_s3.contents()
    on_s3.sweep(on_s3.plan(), "--delete")
    plan = on_s3.plan()
    on_s3.sweep(plan, "--delete")
    dry = run("undelete", plan.path, "--dry-run")
    assert (dry.code, dry.json["counts"]) == (0, {"restorable": 2})
    assert set(before) - set(on_s3.contents()) == on_s3.orphans
    shown = run("undelete", plan.path, "--dry-run", "--output", "table")
    assert shown.out == "2 would be brought back\n"
    for word in ("restored", "already_there"):
        ran = run("undelete", plan.path)
        assert (ran.code, ran.json["counts"], ran.json["failed"]) == (0, {word: 2}, [])
    swept = run("sweep", plan.path, "--delete", "--output", "table")
    assert "nothing deleted: what was due is due no longer" in swept.out
    assert on_s3.contents() == before
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    ran = run("undelete", plan.path, "--dry-run")
    assert (ran.code, len(ran.complaints), ran.out) == (10, 1, "")
    assert "127.0.0.1:9" in ran.complaints[0]
