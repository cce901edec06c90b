"""Losses by taking one job for another, or a job that goes on for one that has ended (issue 13)."""

import json
from datetime import timedelta

import pytest

from cli.helpers import AT_ONCE, DAY, flink, metadata, now, write
from safety.incidents.essential import must_be_there
from support.rest_server import RestServer, as_json, configured

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("status", ["CANCELED", "RUNNING"])
@pytest.mark.answered_by("placement")
def test_l6_prod_is_not_judged_by_what_staging_says_of_the_same_job_id(undeclared, status) -> None:
    """Two application clusters with one fixed id: staging is over, or runs by other settings."""
    prod = undeclared.job
    staging = undeclared.bed.job(below=undeclared.bed.folder / "staging")
    staging.checkpoint(8)
    asked = ("--closed-world", "--flink-rest")
    with RestServer(flink(staging, completed=8, status=status)) as server:
        undeclared.bed.cycle(*asked, server.url)
        plan, _ = undeclared.bed.cycle(*asked, server.url)
    assert "job_state_unknown" in plan.blocks(prod)
    assert all(path.exists() for path in undeclared.orphans)


@pytest.mark.answered_by("placement")
def test_l6_a_declared_end_is_none_while_a_cluster_runs_the_id_elsewhere(story) -> None:
    """The id alone does not tell which of them has ended; the directory may be its former one."""
    moved = story.bed.job(below=story.bed.folder / "elsewhere")
    with RestServer(flink(moved, completed=9)) as server:
        plan = story.bed.plan("--flink-rest", server.url)
    assert "job_state_unknown" in plan.blocks(story.job)
    assert plan.refusal(story.job) is None


@pytest.mark.answered_by("condition:job_state_unknown")
def test_l6_an_end_is_none_while_a_cluster_runs_the_id_by_another_configuration(undeclared) -> None:
    """Its code may store here, whatever is configured; it has completed nothing yet."""
    prod, other = undeclared.job, undeclared.bed.folder / "other"
    undeclared.bed.job(2, below=other).checkpoint(3)
    again = flink(prod, completed=None) | configured({"state.checkpoints.dir": f"file:{other}"})
    over = flink(prod, completed=8, status="CANCELED")
    with RestServer(over) as first, RestServer(again) as second:
        clusters = ("--flink-rest", first.url, "--flink-rest", second.url)
        asked = ("--closed-world", "--extra-root", other, *clusters)
        undeclared.bed.cycle(*asked)
        plan, _ = undeclared.bed.cycle(*asked)
    must_be_there(undeclared.orphans[0])
    assert "job_state_unknown" in plan.blocks(prod)


@pytest.mark.parametrize("savepoint", [None, 9], ids=["no such id", "a savepoint's id"])
@pytest.mark.answered_by("guard:two_owners")
def test_l6_a_checkpoint_that_the_answering_jobmanager_does_not_know_refuses(
    undeclared, savepoint
) -> None:
    """A split brain: the other JobManager completes checkpoints, and has some pending.

    Both count alike, so that the one that answers may have given that number to a savepoint.
    """
    job = undeclared.job
    started_ms = round((now() - 2 * HOUR).timestamp() * 1000)
    asked = ("--closed-world", "--flink-rest")
    routes = flink(job, completed=8, started_ms=started_ms)
    if savepoint is not None:
        place = undeclared.bed.folder / "savepoint-000000-0123456789ab"
        write(place / "_metadata", metadata(savepoint, ()), HOUR)
        statistics = f"/jobs/{job.id}/checkpoints"
        shown = json.loads(routes[statistics][1])
        (newest,) = shown["history"]
        own = {"id": savepoint, "is_savepoint": True, "external_path": f"file:{place}"}
        shown["history"].insert(0, newest | own)
        routes[statistics] = as_json(shown)
    with RestServer(routes) as server:
        assert undeclared.bed.plan(*asked, server.url).refusal(job) is None
        job.checkpoint(9, *undeclared.live, age=HOUR)
        plan = undeclared.bed.plan(*asked, server.url)
    assert plan.refusal(job) == "two_owners"


@pytest.mark.parametrize("completed", [1, 7], ids=["the history is whole", "older ones left it"])
@pytest.mark.answered_by("guard:two_owners")
def test_l6_another_writer_that_counts_from_one_again_refuses(undeclared, completed) -> None:
    """The same fixed id, started without state: its ids are lower than those that REST shows."""
    job = undeclared.job
    started_ms = round((now() - 3 * HOUR).timestamp() * 1000)
    asked = ("--closed-world", "--flink-rest")
    job.checkpoint(9, *undeclared.live, age=2 * HOUR)
    restored = (8, job.folder / "chk-8")
    routes = flink(job, completed=9, started_ms=started_ms, restored=restored)
    statistics, counts = f"/jobs/{job.id}/checkpoints", {"in_progress": 0, "completed": completed}
    counted = json.loads(routes[statistics][1]) | {"counts": counts}
    with RestServer(routes | {statistics: as_json(counted)}) as server:
        assert undeclared.bed.plan(*asked, server.url).refusal(job) is None
        job.checkpoint(1, *undeclared.live, age=HOUR)
        plan = undeclared.bed.plan(*asked, server.url)
    assert plan.refusal(job) == "two_owners"


@pytest.mark.answered_by("guard:unstable_root")
@pytest.mark.parametrize("origin", [5, 4], ids=["the origin", "a savepoint"])
def test_l6_a_leftover_of_the_same_id_is_not_what_another_jobs_checkpoint_is(story, origin) -> None:
    """It claimed a checkpoint of the other job, which is gone; in its directory is an old chk-5.

    It has completed nothing but maybe a savepoint 5, so its first checkpoint may name any file of
    the other job.
    """
    claimer = story.bed.job(2)
    claimer.checkpoint(5, claimer.shared(), age=20 * DAY)
    started_ms = round((now() - 15 * DAY).timestamp() * 1000)
    restored = (origin, story.job.folder / f"chk-{origin}")
    routes = flink(claimer, completed=5, started_ms=started_ms, restored=restored)
    statistics = f"/jobs/{claimer.id}/checkpoints"
    shown = json.loads(routes[statistics][1])
    (savepoint,) = shown["history"]
    place = story.bed.folder / "savepoint-000000-0123456789ab"
    write(place / "_metadata", metadata(5, ()), 10 * DAY)
    savepoint |= {"is_savepoint": True, "external_path": f"file:{place}"}
    own = [savepoint] if origin == 4 else []
    shown |= {"counts": {"in_progress": 1, "completed": len(own)}, "history": own}
    shown["latest"]["completed"] = None
    story.bed.options = ("--closed-world", "--ended-job", story.job.id, *AT_ONCE)
    with RestServer(routes | {statistics: as_json(shown)}) as server:
        for _ in range(2):
            plan = story.bed.plan("--flink-rest", server.url)
            story.bed.sweep(plan, "--delete")
    must_be_there(*story.orphans)
    assert plan.refusal(claimer) == "unstable_root"
    assert "--extra-root" in plan.job(claimer)["refused"]["message"]


@pytest.mark.answered_by("dependents")
def test_l6_what_lies_at_the_place_of_an_origin_may_be_a_later_checkpoint(story) -> None:
    """The claimed chk-5 is gone, and a run that counts from one again has stored another chk-5.

    The old one named files of the first job, of which the new one says nothing.
    """
    claimed, claimer = story.bed.job(2), story.bed.job(3)
    claimed.checkpoint(5, claimed.shared(), age=10 * DAY)
    restored_ms = round((now() - 15 * DAY).timestamp() * 1000)
    origin = (5, claimed.folder / "chk-5")
    routes = flink(claimer, completed=5, restored=origin, restored_ms=restored_ms)
    statistics = f"/jobs/{claimer.id}/checkpoints"
    shown = json.loads(routes[statistics][1])
    shown |= {"counts": {"in_progress": 1, "completed": 0}, "history": []}
    shown["latest"]["completed"] = None
    ended = [each for job in (story.job, claimed) for each in ("--ended-job", job.id)]
    story.bed.options = ("--closed-world", *ended, *AT_ONCE)
    with RestServer(routes | {statistics: as_json(shown)}) as server:
        for _ in range(2):
            plan = story.bed.plan("--flink-rest", server.url)
            story.bed.sweep(plan, "--delete")
    must_be_there(*story.orphans)
    assert plan.refusal(story.job) == "dependent_job"


@pytest.mark.answered_by("dependents")
def test_l7_a_job_that_is_declared_ended_and_still_writes_keeps_what_it_claimed(story) -> None:
    """It blocked itself alone: the files of the job that it claimed from went."""
    claimer = story.bed.job(2)
    own = claimer.shared(age=DAY)
    story.bed.cycle()
    claimer.checkpoint(9, story.live[0], own, age=DAY)
    plan, _ = story.bed.cycle()
    assert plan.blocks(claimer) == ["not_quiet"]
    assert plan.blocks(story.job) == ["dependent_job"]
    assert all(path.exists() for path in story.orphans)


@pytest.mark.answered_by("dependents")
def test_l7_a_declared_end_without_a_checkpoint_is_no_end_while_files_are_written(story) -> None:
    """It may have claimed from any job, and complete a checkpoint that names any file."""
    story.bed.cycle()
    writing = story.bed.job(2)
    writing.shared(age=DAY)
    plan, _ = story.bed.cycle()
    assert plan.blocks(story.job) == ["dependent_job"]
    assert all(path.exists() for path in story.orphans)
