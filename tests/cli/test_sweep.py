"""``sweep``: what a saved plan permits, and what stops it."""

import errno
import json
import os
import shutil
import signal
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from cli.helpers import (
    AT_ONCE,
    DAY,
    ENDED,
    UUID_1,
    Bed,
    Planned,
    Ran,
    contents,
    flink,
    metadata,
    now,
    outcomes,
    run,
    write,
)
from cli.stories import Story, make_story
from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.open import open_state_files
from orphangc.adapters.rows import outcome_files
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.sweep import Sweep
from orphangc.collect.world import recalling
from orphangc.collect.world.memory_files import MemoryRead
from orphangc.core.documents.plan import Plan
from safety.incidents.hooks import after_the_cycle
from support import speed
from support.rest_server import RestServer


def keys(story: Story) -> set[str]:
    return {str(path.relative_to(story.bed.root)) for path in story.orphans}


def state_files(bed: Bed, pattern: str) -> list[Path]:
    return sorted(bed.state.glob(f"*/{pattern}"))


def remembered(bed: Bed) -> dict[str, Any]:
    return {name: each for name, each in contents(bed.state).items() if "/lock" not in name}


def holders(bed: Bed) -> list[str]:
    return [str(file) for file in state_files(bed, "lock/*.json") if b"token" in file.read_bytes()]


def resign(plan: Planned, **changes: Any) -> None:
    path = plan.path / "plan.json"
    document = json.loads(path.read_text()) | changes
    altered = Plan.model_validate(document).signed()
    path.write_text(altered.model_dump_json())


# --- two runs to delete


def test_orphans_go_in_the_second_run_and_nothing_else_does(story) -> None:
    """Tombstone, then deletion; every other byte, time and folder stays."""
    before = contents(story.bed.root)
    first, swept = story.bed.cycle()
    assert (swept.code, contents(story.bed.root)) == (0, before)
    assert outcomes(first) == dict.fromkeys(keys(story), "done")
    second, swept = story.bed.cycle()
    assert swept.code == 0
    assert outcomes(second) == dict.fromkeys(keys(story), "done")
    after = {name: each for name, each in before.items() if name not in keys(story)}
    assert contents(story.bed.root) == after


def test_the_tombstone_of_what_was_deleted_goes_with_it(story) -> None:
    """What is written under that name later begins a quarantine of its own."""
    bed = story.bed
    state = RootState(open_state_files(canonical(str(bed.state))), canonical(str(bed.root)))
    bed.cycle()
    assert None not in [state.tombstones().get(key) for key in keys(story)]
    bed.cycle()
    assert [state.tombstones().get(key) for key in keys(story)] == [None, None]


def test_nothing_is_deleted_without_delete(story) -> None:
    """However due it is: the outcome says that it was only planned."""
    before = contents(story.bed.root)
    for _ in range(3):
        plan, swept = story.bed.cycle(delete=False)
        assert swept.code == 0
    assert contents(story.bed.root) == before
    assert outcomes(plan) == dict.fromkeys(keys(story), "planned")


def test_the_outcome_is_written_beside_the_plan_and_printed(story) -> None:
    """Counts by action and outcome; the same in file and on stdout."""
    story.bed.cycle()
    plan, swept = story.bed.cycle()
    size = sum(len(f"state {path.name}") for path in story.orphans)
    written = json.loads((plan.path / "outcome.json").read_text())
    assert written["counts"] == {"delete/done": {"objects": 2, "bytes": size}}
    assert (written["refused"], written["stopped"], written["exit_code"]) == ({}, None, 0)
    printed = swept.json
    assert {name: written[name] for name in printed} == printed
    assert written["plan_id"] == plan.document["plan_id"]


def test_an_orphan_stays_in_quarantine_for_its_period(story) -> None:
    """Tombstone, quarantine, deletion: each in a run of its own."""
    bed = Bed(story.bed.folder, ENDED)
    bed.cycle()
    plan, swept = bed.cycle("--quarantine-period", "1h", "--allow-short-margins")
    assert {plan.verdict(path) for path in story.orphans} == {("keep", "in_quarantine")}
    assert (swept.code, all(path.exists() for path in story.orphans)) == (0, True)
    bed.cycle(*AT_ONCE)
    assert not any(path.exists() for path in story.orphans)


def test_a_tombstone_is_never_laid_twice(story) -> None:
    """The quarantine counts from the first time."""
    bed = Bed(story.bed.folder, ENDED)
    bed.cycle()
    first = bed.plan().ran
    explained = run("explain", story.orphans[0], "--root", bed.root, "--state", bed.state).json
    bed.cycle()
    again = run("explain", story.orphans[0], "--root", bed.root, "--state", bed.state).json
    assert (first.code, again["tombstone"]) == (0, explained["tombstone"])


def test_a_plan_that_is_swept_twice_does_no_harm(story) -> None:
    """The second time everything is gone already."""
    story.bed.cycle()
    plan, _ = story.bed.cycle()
    before = contents(story.bed.root)
    assert story.bed.sweep(plan, "--delete").code == 0
    assert (contents(story.bed.root), set(outcomes(plan).values())) == (before, {"gone"})


def due(story: Story) -> Planned:
    story.bed.cycle()
    return story.bed.plan()


def kept(story: Story, plan: Planned, *options: str) -> Ran:
    """Sweep a plan of which nothing may go."""
    swept = story.bed.sweep(plan, "--delete", *options)
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)
    return swept


def refusal(story: Story, plan: Planned, *options: str) -> str:
    """Return why nothing of a plan goes: what refuses the job."""
    return str(kept(story, plan, *options).json["refused"][story.job.id])


def stopping(story: Story, plan: Planned) -> str:
    """Return why nothing of a plan goes: what stops the sweep."""
    return str(kept(story, plan).json["stopped"])


# --- which plan


def refused(plan: Planned, bed: Bed) -> str:
    """Sweep a plan that must be refused; return the one complaint."""
    before = contents(bed.root), remembered(bed), contents(plan.path)
    ran = bed.sweep(plan, "--delete")
    assert (ran.code, len(ran.complaints)) == (4, 1)
    assert (contents(bed.root), remembered(bed), contents(plan.path)) == before
    return ran.complaints[0]


def altered(plan: Planned) -> None:
    path = plan.path / "plan.json"
    path.write_text(path.read_text().replace('"closed_world": true', '"closed_world": false'))


def with_other_verdicts(plan: Planned) -> None:
    (file,) = (plan.path / "verdicts").iterdir()
    file.write_bytes(file.read_bytes() + b"\0")


def without_verdicts(plan: Planned) -> None:
    shutil.rmtree(plan.path / "verdicts")


def of_another_version(plan: Planned) -> None:
    resign(plan, tool_version="0.0.1")


def of_another_schema(plan: Planned) -> None:
    path = plan.path / "plan.json"
    path.write_text(json.dumps(plan.document | {"schema_version": 2}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (altered, "altered"),
        (with_other_verdicts, "not the file that was planned"),
        (without_verdicts, ""),
        (of_another_version, "0.0.1"),
        (of_another_schema, ""),
    ],
)
def test_a_plan_that_is_not_as_it_was_made_is_refused(story, change, said) -> None:
    """One character is enough; a partial copy, or what another version wrote, is no plan."""
    plan = due(story)
    change(plan)
    complaint = refused(plan, story.bed)
    assert said in complaint
    assert complaint.endswith("; plan again")


def test_verdicts_of_another_plan_are_refused(story) -> None:
    """A mix of two plans is none."""
    first, second = story.bed.plan(), story.bed.plan("--grace-period", "90d")
    shutil.rmtree(first.path / "verdicts")
    shutil.copytree(second.path / "verdicts", first.path / "verdicts")
    refused(first, story.bed)


@pytest.mark.parametrize(
    ("age", "said"),
    [(timedelta(hours=73), "longer than"), (timedelta(hours=-3), "in the future")],
    ids=["old", "early"],
)
def test_a_plan_older_than_the_grace_period_or_from_the_future_is_refused(story, age, said) -> None:
    """What it knows may not be true any more."""
    plan = story.bed.plan()
    resign(plan, created_at=(now() - age).isoformat())
    assert said in refused(plan, story.bed)


def test_a_plan_for_another_root_is_refused(story) -> None:
    """A plan whose root and settings disagree was made by hand."""
    plan = story.bed.plan()
    resign(plan, root=str(story.bed.folder / "elsewhere"))
    assert "elsewhere" in refused(plan, story.bed)


def test_a_state_folder_of_another_root_is_refused(story) -> None:
    """It was copied."""
    story.bed.cycle()
    (file,) = state_files(story.bed, "root.json")
    file.write_text(json.dumps({"root": "/elsewhere"}))
    refused(story.bed.plan(), story.bed)


# --- what changed in between


def test_a_changed_object_is_kept(story) -> None:
    """Same name, other bytes: it is another object, and a new orphan."""
    plan = due(story)
    path = story.orphans[0]
    write(path, b"renewed", 30 * DAY)
    assert story.bed.sweep(plan, "--delete").code == 0
    assert outcomes(plan)[str(path.relative_to(story.bed.root))] == "changed"
    assert (path.exists(), story.orphans[1].exists()) == (True, False)
    assert story.bed.plan().verdict(path) == ("tombstone", "orphan")


@pytest.mark.parametrize(("options", "found"), [((), "done"), (("--relist",), "changed")])
def test_a_tombstone_is_of_the_object_that_was_planned(story, options, found) -> None:
    """The plan judged another one than is stored now; the next plan sees that one as new."""
    plan = story.bed.plan()
    write(story.orphans[0], b"renewed", 30 * DAY)
    assert story.bed.sweep(plan, *options).code == 0
    assert sorted(outcomes(plan).values()) == sorted([found, "done"])
    plan = story.bed.plan()
    assert plan.verdict(story.orphans[0]) == ("tombstone", "orphan")
    assert plan.verdict(story.orphans[1]) == ("delete", "quarantine_over")


def test_what_the_plans_listing_shows_too_young_is_said_with_the_next_step(bed) -> None:
    """Margins below the clock skew: the old listing is taken for older by that."""
    job = bed.job(1)
    job.checkpoint(3, job.shared(), age=DAY / 24)
    orphan = write(job.folder / "shared" / str(uuid.uuid4()), b"orphan", DAY / 24)
    short = ("--grace-period", "0", "--quiet-period", "0", "--allow-short-margins")
    plan = bed.plan(*short, "--clock-skew", "2h")
    assert plan.verdict(orphan) == ("tombstone", "orphan")
    swept = bed.sweep(plan, "--output", "table")
    assert outcomes(plan) == {str(orphan.relative_to(bed.root)): "changed"}  # the contract's word
    assert "too young" in pq.read_table(plan.path / "outcomes.parquet")["error"][0].as_py()
    command = f"  orphangc sweep {plan.path} --relist"
    assert command in swept.out.splitlines() + swept.err.splitlines()
    bed.sweep(plan, "--relist")
    assert set(outcomes(plan).values()) == {"done"}


def test_what_the_storage_refuses_to_delete_is_said_with_the_next_step(story, monkeypatch) -> None:
    """It was due, and no time has to pass: the same plan goes on where the storage allows it."""
    plan = due(story)

    def refuse(*_: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(LocalStorage, "_unlink", refuse)
    swept = story.bed.sweep(plan, "--delete", "--output", "table")
    assert (swept.code, set(outcomes(plan).values())) == (3, {"failed"})
    assert f"  orphangc sweep {plan.path} --delete" in swept.out.splitlines()
    assert "is due" not in swept.out
    assert "Next: from" not in swept.out
    quiet = run("-q", "sweep", plan.path, "--delete")
    (said,) = map(json.loads, quiet.err.splitlines())
    assert (said["level"], said["event"], said["objects"]) == ("error", "objects.failed", 2)
    assert said["error"] == os.strerror(errno.EACCES)


def test_a_root_that_appears_before_the_first_tombstone_protects(story) -> None:
    """No tombstone is laid for what is referenced by now."""
    plan = story.bed.plan()
    story.job.checkpoint(9, *story.live, story.orphans[0], age=18 * DAY)
    assert story.bed.sweep(plan).code == 0
    assert sorted(outcomes(plan).values()) == ["changed", "done"]
    assert story.bed.plan().verdict(story.orphans[0]) == ("keep", "referenced")


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_a_job_directory_that_the_plan_did_not_know_blocks(story, options) -> None:
    """What it needs is unknown while its first checkpoint is pending; it may have claimed one."""
    plan = due(story)
    story.bed.job(2).shared(age=timedelta(0))
    assert "no checkpoint of it was seen" in refusal(story, plan, *options)


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_an_empty_job_directory_that_the_plan_knew_blocks_nothing(story, options) -> None:
    """File systems keep the folders of a job that was cancelled."""
    (story.bed.job(2).folder / "shared").mkdir(parents=True)
    (story.bed.job(2).folder / "taskowned").mkdir()
    plan = due(story)
    assert story.bed.sweep(plan, "--delete", *options).code == 0
    assert not any(path.exists() for path in story.orphans)


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_an_ended_job_that_writes_since_the_plan_is_not_quiet(story, options) -> None:
    """The scans for checkpoints show what its pending checkpoint has written."""
    plan = due(story)
    write(story.job.folder / "chk-9" / "state", b"pending", timedelta(0))
    assert "not quiet" in refusal(story, plan, *options)


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_a_checkpoint_that_lost_a_file_since_the_plan_refuses_if_it_is_new(
    running, options
) -> None:
    """R8: what the plan's listing lacks is asked for by name."""
    story, server = running
    plan = completed(running)
    absent = story.job.folder / "shared" / str(uuid.uuid4())
    story.job.checkpoint(10, *story.live, absent, age=timedelta(0))
    server.routes.update(flink(story.job, completed=10))
    assert "damaged" in refusal(story, plan, *options)


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_a_listed_file_that_the_latest_checkpoint_lost_since_the_plan_refuses(
    running, options
) -> None:
    """R8: what is damaged now is not what the job has, though the plan's listing was whole."""
    story, _ = running
    plan = completed(running)
    story.live[1].unlink()
    assert "damaged" in refusal(story, plan, *options)


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_a_checkpoint_that_was_put_into_shared_since_the_plan_refuses(story, options) -> None:
    """R2: no scan enters ``shared/``, but a folder in it is seen."""
    plan = due(story)
    copy = story.job.folder / "shared" / "backup" / "_metadata"
    write(copy, metadata(5, story.orphans), timedelta(0))
    assert "sub-directories" in refusal(story, plan, *options)


@pytest.mark.parametrize("options", [(), ("--relist",)])
def test_a_job_that_claims_a_checkpoint_since_the_plan_protects_it(running, options) -> None:
    """Flink reports where its checkpoint is, outside every searched place (R4)."""
    story, server = running
    plan = completed(running)
    other = story.bed.job(2, below=story.bed.folder / "elsewhere")
    claimed = other.checkpoint(3, story.orphans[0]).parent
    both = flink(other, completed=4, restored=(3, claimed))
    jobs = [{"id": each.id, "status": "RUNNING"} for each in (story.job, other)]
    server.routes.update(both | {"/jobs": (200, json.dumps({"jobs": jobs}).encode())})
    story.bed.sweep(plan, "--delete", *options)
    assert story.orphans[0].exists()


# --- revival and halt


@pytest.fixture
def revived(story) -> Story:
    """A story in which an object with a tombstone is referred to again."""
    story.bed.cycle()
    story.job.checkpoint(9, *story.live, story.orphans[0], age=18 * DAY)
    return story


def test_a_referenced_object_with_a_tombstone_is_revived_and_halts_all(revived) -> None:
    """It cannot happen, so a rule is broken: nothing goes until a person has looked (R17)."""
    bed = revived.bed
    plan, swept = bed.cycle()
    assert plan.verdict(revived.orphans[0]) == ("revive", "referenced")
    assert "revived" in plan.blocks(revived.job)
    assert swept.code == 4
    assert all(path.exists() for path in revived.orphans)
    plan, swept = bed.cycle()
    assert plan.verdict(revived.orphans[0]) == ("keep", "referenced")
    assert plan.blocks(revived.job) == ["halted"]
    assert (swept.code, all(path.exists() for path in revived.orphans)) == (4, True)


def test_a_halt_is_lifted_by_a_person_alone(revived) -> None:
    """Afterwards what is still an orphan goes, and nothing else."""
    bed = revived.bed
    bed.cycle()
    plan = bed.plan()
    swept = bed.sweep(plan, "--delete", "--unsafe-clear-halt")
    assert (swept.code, [path.exists() for path in revived.orphans]) == (0, [True, False])
    assert bed.plan().blocks(revived.job) == []


def test_every_run_renews_a_halt(revived) -> None:
    """A rule of a bucket that removes what is old would lift it."""
    bed = revived.bed
    bed.cycle()
    (file,) = bed.state.glob("*/halted.json")
    before = file.read_bytes()
    write(file, before, 30 * DAY)
    bed.cycle(delete=False)
    assert file.read_bytes() == before
    assert now().timestamp() - file.stat().st_mtime < DAY.total_seconds()


# --- running jobs


@pytest.fixture
def running(tmp_path):
    story = make_story(Bed(tmp_path, ("--closed-world", *AT_ONCE)))
    with RestServer(flink(story.job, completed=8)) as server:
        story.bed.options += ("--flink-rest", server.url)
        yield story, server


def test_an_orphan_of_a_running_job_waits_for_a_newer_checkpoint(running) -> None:
    """However long its quarantine is over: only progress shows that no job needed it (R17)."""
    story, server = running
    plan, swept = story.bed.cycle()
    assert (plan.job(story.job)["state"], plan.blocks(story.job), swept.code) == ("running", [], 0)
    plan, _ = story.bed.cycle()
    assert {plan.verdict(path) for path in story.orphans} == {("keep", "in_quarantine")}
    story.job.checkpoint(9, *story.live, age=timedelta(0))
    server.routes.update(flink(story.job, completed=9))
    plan, swept = story.bed.cycle()
    assert swept.code == 0
    assert not any(path.exists() for path in story.orphans)
    assert all(path.exists() for path in story.live)


def completed(running) -> Planned:
    """Bring a running job's orphans to the brink; return the plan that deletes them."""
    story, server = running
    story.bed.cycle()
    story.job.checkpoint(9, *story.live, age=timedelta(0))
    server.routes.update(flink(story.job, completed=9))
    plan = story.bed.plan()
    assert {plan.verdict(path) for path in story.orphans} == {("delete", "quarantine_over")}
    return plan


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({"started_ms": 9_000}, "started again", id="the JobManager was replaced"),
        pytest.param({"max_concurrent": 2}, "2 checkpoints", id="its settings were changed"),
    ],
)
def test_a_job_that_changed_between_cycle_and_batch_stops_the_sweep(
    running, monkeypatch, change, why
) -> None:
    """The gate is asked again before each batch (R18)."""
    story, server = running
    plan = completed(running)
    routes = flink(story.job, completed=9, **change)
    after_the_cycle(monkeypatch, lambda: server.routes.update(routes))
    assert why in stopping(story, plan)


def test_a_job_that_vanished_between_plan_and_sweep_loses_nothing(running) -> None:
    """Absence from REST proves nothing."""
    story, server = running
    plan = completed(running)
    server.routes["/jobs"] = (200, b'{"jobs":[]}')
    kept(story, plan)


def test_a_subsumed_checkpoint_stops_the_sweep(running, monkeypatch) -> None:
    """The root that the evidence rests on is gone: the next cycle decides again."""
    story, _ = running
    plan = completed(running)
    after_the_cycle(monkeypatch, (story.job.folder / "chk-9" / "_metadata").unlink)
    assert "subsumed" in stopping(story, plan)


def test_the_plan_keeps_no_password_and_sweep_takes_one_again(running) -> None:
    """A saved plan is passed around."""
    story, server = running
    secret = f"http://user:secret@{server.address}"
    story.bed.options = ("--closed-world", *AT_ONCE, "--flink-rest", secret)
    plan = story.bed.plan()
    assert plan.blocks(story.job) == []
    texts = [path.read_bytes() for path in plan.path.rglob("*") if path.is_file()]
    assert not any(b"secret" in text for text in [*texts, plan.ran.out.encode()])
    assert "secret" not in plan.ran.err
    assert story.bed.sweep(plan, "--flink-rest", secret).code == 0
    assert server.headers["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("others", [["http://127.0.0.1:9"], ["{own}", "http://127.0.0.1:9"]])
def test_a_sweep_asks_the_endpoints_of_its_plan_and_no_others(running, others) -> None:
    """Other endpoints would be other evidence: they may only gain credentials."""
    story, server = running
    plan = story.bed.plan()
    asked = [each.format(own=server.url) for each in others]
    swept = story.bed.sweep(plan, *(word for each in asked for word in ("--flink-rest", each)))
    assert swept.code == 2
    assert "must name exactly the endpoints of the plan" in swept.err


# --- some jobs and others


def test_a_blocked_job_loses_nothing_while_others_do(story) -> None:
    """Blocked: it is not stated that the job has ended."""
    other = make_story(story.bed, 2)
    options = ("--closed-world", *AT_ONCE, "--ended-job", story.job.id)
    bed = Bed(story.bed.folder, options)
    bed.cycle()
    plan, swept = bed.cycle()
    assert plan.blocks(other.job) == ["job_state_unknown"]
    assert swept.code == 0
    assert list(swept.json["refused"]) == [other.job.id]
    assert not any(path.exists() for path in story.orphans)
    assert all(path.exists() for path in (*other.orphans, *other.live, *story.live))


def test_a_refused_job_loses_nothing_while_others_do(story) -> None:
    """Refused between plan and sweep: its layout changed."""
    other = make_story(story.bed, 2)
    plan = due(story)
    (other.job.folder / "shared" / "strange").mkdir()
    swept = story.bed.sweep(plan, "--delete")
    assert swept.code == 0
    assert not any(path.exists() for path in story.orphans)
    assert all(path.exists() for path in other.orphans)
    assert {outcomes(plan)[key] for key in keys(other)} == {"planned"}


def test_a_sweep_in_which_every_job_is_stopped_is_no_success(undeclared) -> None:
    """Exit 4, and the reason on stderr and in the outcome."""
    bed = undeclared.bed
    bed.options = ("--ended-job", "all", *AT_ONCE)
    bed.cycle(delete=False)
    plan, swept = bed.cycle()
    assert (swept.code, all(path.exists() for path in undeclared.orphans)) == (4, True)
    assert "closed_world" in swept.json["refused"][undeclared.job.id]
    assert "closed-world" in swept.err
    assert plan.blocks(undeclared.job) == ["closed_world"]


def test_a_limit_of_deletions_is_kept(story) -> None:
    """--max-deletes refuses; it never picks some."""
    story.bed.cycle()
    plan, swept = story.bed.cycle("--max-deletes", "1")
    assert plan.blocks(story.job) == ["max_deletes"]
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)
    _, swept = story.bed.cycle("--max-deletes", "2")
    assert (swept.code, any(path.exists() for path in story.orphans)) == (0, False)


# --- lock and journal


def lock_file(bed: Bed, **holder: Any) -> Path:
    (folder,) = bed.state.iterdir()
    fields = {"token": "t", "host": "elsewhere", "pid": 1, "started": "x"} | holder
    return write(folder / "lock" / "000000000001.json", json.dumps(fields).encode(), timedelta(0))


def test_a_held_lock_excludes_every_other_run(story) -> None:
    """Exit 11; plans need no lock."""
    plan = due(story)
    lock_file(story.bed)
    before = contents(story.bed.folder)
    ran = story.bed.sweep(plan, "--delete")
    assert (ran.code, len(ran.complaints)) == (11, 1)
    assert contents(story.bed.folder) == before
    assert story.bed.plan().ran.code == 0


def test_the_lock_is_released_after_every_sweep(story) -> None:
    """Also after one that is refused."""
    plan = due(story)
    shutil.move(story.bed.root, story.bed.folder / "away")
    assert story.bed.sweep(plan).code == 10
    assert holders(story.bed) == []


def test_everything_is_written_down_before_it_is_deleted(story) -> None:
    """Key, size, time, reason, and the roots that it was judged by (R23)."""
    story.bed.cycle()
    _, swept = story.bed.cycle()
    assert swept.code == 0
    lines = [
        json.loads(line)
        for file in state_files(story.bed, "runs/*/batch-??????.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert {line["key"] for line in lines} == keys(story)
    assert all(line["size"] and line["modified_at"] and line["reason"] for line in lines)
    evidence = json.loads(state_files(story.bed, "runs/*/evidence.jsonl")[-1].read_text())
    assert [root["checkpoint_id"] for root in evidence["roots"]] == [7, 8]
    assert len(state_files(story.bed, "history/*.json")) == 2
    assert state_files(story.bed, "open/*") == []


def test_nothing_is_deleted_if_the_outcome_cannot_be_written(story, monkeypatch) -> None:
    """Only the outcome says what ``undelete`` brings back; of a folder on a full disk, say."""
    plan = due(story)
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(outcome_files, "pq", Mock(ParquetWriter=full))
    ran = story.bed.sweep(plan, "--delete")
    assert (ran.code, len(ran.complaints)) == (1, 1), ran.err
    assert f"cannot be written into {plan.path}" in ran.complaints[0]
    assert all(file.exists() for file in story.orphans)


def test_nothing_of_the_sweep_is_written_below_the_root(story) -> None:
    """State, journal and lock live elsewhere."""
    story.bed.cycle()
    story.bed.cycle()
    expected = {"chk-7", "chk-8", "shared", "taskowned"}
    assert {path.name for path in story.job.folder.iterdir()} == expected
    assert [path.name for path in story.bed.root.iterdir()] == [story.job.id]


def test_lost_tombstones_begin_a_new_quarantine(story) -> None:
    """Losing the state keeps files longer, nothing worse."""
    story.bed.cycle()
    shutil.rmtree(story.bed.state)
    plan, _ = story.bed.cycle()
    assert {plan.verdict(path) for path in story.orphans} == {("tombstone", "orphan")}
    assert all(path.exists() for path in story.orphans)


def test_the_default_state_lies_in_the_users_state_folder(story) -> None:
    """Where no --state is given; one folder a root, whatever link leads to it."""
    plan, link = story.bed.folder / "plan", story.bed.folder / "link"
    link.symlink_to(story.bed.root)
    assert run("plan", link, *ENDED).code == 0
    ran = run("plan", story.bed.root, "--out", plan, *ENDED)
    assert ran.code == 0
    assert run("sweep", plan).code == 0
    below = Path(os.environ["XDG_STATE_HOME"]) / "orphangc"
    assert len(list(below.glob("*/*/tombstones/*.parquet"))) == 1
    assert len(list(below.iterdir())) == 1
    assert not story.bed.state.exists()


def test_its_table_names_the_run(story) -> None:
    """By the name under which the state location keeps its journal, and what it did."""
    plan = story.bed.plan()
    ran = run("sweep", plan.path, "--output", "table")
    (run_id,) = (each.stem for each in story.bed.state.glob("*/history/*.json"))
    assert f"sweep {run_id}, nothing deleted, as --delete was not given" in ran.out


def test_a_plan_and_a_sweep_read_the_memory_once_each(story, monkeypatch) -> None:
    """It may be megabytes in a bucket; what is searched and what is missed rest on one reading."""
    read, reads = recalling.read_memory, []

    def counting(state: RootState) -> MemoryRead:
        reads.append(state)
        return read(state)

    monkeypatch.setattr(recalling, "read_memory", counting)
    plan = story.bed.plan()
    assert len(reads) == 1
    assert story.bed.sweep(plan, "--delete").code == 0
    assert len(reads) == 2


@pytest.mark.parametrize("is_there", [True, False], ids=["a dead folder", "nothing dead"])
def test_a_refusal_is_said_and_is_an_exit_code_unless_a_spared_area_was_collected(
    tmp_path, is_there
) -> None:
    """R56: exit code 4 is for a sweep that deleted nothing; the guard is named in any case."""
    story = make_story(Bed(tmp_path, (*AT_ONCE, "--closed-world", "--max-delete-share", "1")))
    dead = write(story.job.folder / ("chk-6" if is_there else "chk-8") / UUID_1, b"state", 30 * DAY)
    for number in (8, 18):
        if number == 18:
            story.job.checkpoint(18, *story.live, age=0 * DAY)
        with RestServer(flink(story.job, completed=number, max_concurrent=4)) as server:
            plan = story.bed.plan("--flink-rest", server.url)
            assert plan.ran.code == 4
            swept = story.bed.sweep(plan, "--delete")
            assert "4 checkpoints pending at once" in swept.json["refused"][story.job.id]
    assert dead.exists() is not is_there
    assert swept.code == (0 if is_there else 4)


def test_a_signal_waits_for_the_check_after_a_batch(story, monkeypatch) -> None:
    """What a checkpoint names by then halts all collection, as without a signal (R22)."""
    story.bed.cycle()
    plan, delete = story.bed.plan(), LocalStorage.delete

    def signalled(self, objects):
        results = delete(self, objects)
        story.job.checkpoint(9, *story.orphans)
        os.kill(os.getpid(), signal.SIGTERM)
        return results

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", signalled)
        assert story.bed.sweep(plan, "--delete").code == 143
    assert outcomes(plan) == dict.fromkeys(keys(story), "done")
    (halted,) = state_files(story.bed, "halted.json")
    assert "was deleted, and a checkpoint names it now" in halted.read_text()


def signalled_at(patch: pytest.MonkeyPatch, step: str) -> None:
    """Let a signal come just before a step of a sweep, which sees that it is to stop."""
    usual = getattr(Sweep, step)

    def signalled(self, *of):
        os.kill(os.getpid(), signal.SIGTERM)
        assert self.run.stopped.wait(speed.patience())
        return usual(self, *of)

    patch.setattr(Sweep, step, signalled)


def test_a_signal_before_the_tombstones_lets_none_be_written(story, monkeypatch) -> None:
    """However long it would take to lay them all: the next sweep begins again."""
    bed, before = story.bed, contents(story.bed.root)
    plan = bed.plan()
    signalled_at(monkeypatch, "_dead_runs")
    assert bed.sweep(plan, "--delete").code == 143
    assert (contents(bed.root), state_files(bed, "tombstones/*")) == (before, [])


def test_after_a_signal_no_other_kind_of_thing_begins_to_go(story, monkeypatch) -> None:
    """What was deleted is forgotten; empty folders stay for the next sweep."""
    (empty := story.job.folder / "chk-5").mkdir()
    story.bed.cycle(delete=False)
    plan = story.bed.plan()
    signalled_at(monkeypatch, "_forget_deleted")
    asked: list[object] = []
    monkeypatch.setattr(LocalStorage, "empty_folders", lambda *of: asked.append(of) or [])
    assert story.bed.sweep(plan, "--delete").code == 143
    assert outcomes(plan) == dict.fromkeys(keys(story), "done")
    assert (empty.exists(), asked) == (True, [])
    left = state_files(story.bed, "tombstones/*")[-1]
    assert pq.read_table(left).num_rows == 0
