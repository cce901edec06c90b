"""Losses by an end that was of another run, or that only looked like one (R34).

Each story runs once more as a control without what gives the end away; then the file goes.
"""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, Job, flink, millis_ago, now, write
from safety.incidents.essential import must_be_there
from safety.incidents.test_areas import EVERYTHING, stored
from support.rest_server import Reply, RestServer, configured, listing

MARGINS = (*AT_ONCE, "--grace-period", "0", "--quiet-period", "0", "--clock-skew", "0")
RANDOM, FIXED = "deadbeef" * 4, "0" * 32
COUNTED = "deadbeef" * 2 + "1".zfill(16)
"""As operators up to 1.9 made the id of a session job: of its name, and of how often it started."""
COMPUTED = "ffffffffc3470bbbffffffffff67a8d6"
"""As Flink 2.3 makes it for the job "main job" of cluster "orders", if that is not its first."""
DATABASE = "shared/op_x__1_4__attempt_0/db"


def a_bed(folder: Path, *margins: str) -> Bed:
    """Return an empty storage in a world that is stated to be closed."""
    return Bed(folder, ("--closed-world", *margins))


def a_job(bed: Bed, job_id: str) -> Job:
    """Return a job that once ran."""
    job = Job(job_id, bed.root / job_id)
    (job.folder / "taskowned").mkdir(parents=True)
    return job


def swept_twice(bed: Bed, *options: object) -> None:
    for _ in range(2):
        bed.sweep(bed.plan(*options, *EVERYTHING), "--delete")


def over(job: Job, **changes: object) -> dict[str, Reply]:
    """Return a cluster that shows a run of the job canceled."""
    return flink(job, completed=7, status="CANCELED", **changes)


@pytest.mark.parametrize("was_seen", [True, False], ids=["seen", "control"])
@pytest.mark.parametrize("answers", [True, False], ids=["it lists no job", "it is not asked"])
def test_a_later_run_on_another_cluster_outweighs_an_old_end(tmp_path, was_seen, answers) -> None:
    """That cluster showed it alive, and does not show it now; its checkpoint 8 is pending."""
    bed = a_bed(tmp_path, *MARGINS)
    job = a_job(bed, RANDOM)
    job.checkpoint(7, stored(job.folder / "chk-7"), age=1 * DAY)
    pending = stored(job.folder / "chk-8", age=0)
    heap = {"state_backend": "HashMapStateBackend"}
    started_ms = int((now() - timedelta(hours=2)).timestamp() * 1000)
    later = flink(job, completed=7, started_ms=started_ms, **heap)
    with (
        RestServer(over(job, ended_ms=millis_ago(-DAY), **heap)) as first,
        RestServer(later) as second,
    ):
        one, both = (
            ("--flink-rest", first.url),
            ("--flink-rest", first.url, "--flink-rest", second.url),
        )
        if was_seen:
            assert bed.plan(*both).job(job)["state"] == "running"
        second.routes.update(listing())
        swept_twice(bed, *(both if answers else one))
    assert pending.exists() is was_seen


@pytest.mark.answered_by("changes_since_ends", not_for=["control"])
@pytest.mark.parametrize("ended", [18, 0], ids=["of an earlier run", "control"])
def test_an_end_that_flink_shows_counts_for_the_run_that_wrote_last(tmp_path, ended) -> None:
    """R34, E2: a later run, in a cluster that nothing shows, may still name the file of its log.

    It began from nothing, so that its ids are those of the first run, and stores something every
    two weeks; the cluster of the first run keeps what is over for a month.
    """
    bed = a_bed(tmp_path, *AT_ONCE)
    job = a_job(bed, RANDOM)
    job.checkpoint(7, stored(job.folder / "shared", age=40), age=20 * DAY)
    job.checkpoint(8, stored(job.folder / "shared", age=16), age=8 * DAY)
    waiting = stored(job.folder / "dstl", age=15)
    routes = flink(job, completed=8, status="CANCELED", ended_ms=millis_ago(ended * DAY))
    with RestServer(routes) as server:
        swept_twice(bed, "--flink-rest", server.url)
    if ended:
        must_be_there(waiting)
    assert waiting.exists() is (ended != 0)


@pytest.mark.parametrize("id_", [RANDOM, "5d2f1c0e" * 4, None], ids=["its", "1st", "control"])
def test_the_end_of_a_run_whose_id_is_configured_proves_no_end(tmp_path, id_) -> None:
    """Another run of that id may name the log's file, whatever its age.

    Flink 2.3 computes the ids of an application's further jobs from the one that is configured.
    """
    bed = a_bed(tmp_path, *AT_ONCE)
    job = a_job(bed, RANDOM)
    job.checkpoint(7, stored(job.folder / "shared", age=40), age=20 * DAY)
    waiting = stored(job.folder / "dstl", age=15)
    routes = over(job)
    if id_ is not None:
        routes |= configured({"$internal.pipeline.job-id": id_})
    with RestServer(routes) as server:
        swept_twice(bed, "--flink-rest", server.url)
    assert waiting.exists() is (id_ is not None)


@pytest.mark.parametrize(
    "claimer", [FIXED, COUNTED, COMPUTED, RANDOM], ids=["fixed", "counted", "computed", "control"]
)
def test_a_claimer_that_may_run_on_keeps_the_files_that_its_database_reads(
    tmp_path, claimer
) -> None:
    """Its id comes back: Flink's answer may be of an earlier run. No checkpoint names the file."""
    bed = a_bed(tmp_path, *AT_ONCE)
    claimed = a_job(bed, "0123456789abcdef" * 2)
    claimed.checkpoint(9, stored(claimed.folder / DATABASE, age=40), age=30 * DAY)
    read = stored(claimed.folder / DATABASE, age=40)
    job = a_job(bed, claimer)
    job.checkpoint(12, stored(job.folder / DATABASE, age=20), age=10 * DAY)
    started_ms = int((now() - 29 * DAY).timestamp() * 1000)
    routes = flink(
        job,
        completed=12,
        status="FINISHED",
        state_backend="ForStStateBackend",
        restored=(9, claimed.folder / "chk-9"),
        started_ms=started_ms,
    )
    with RestServer(routes) as server:
        swept_twice(bed, "--flink-rest", server.url, "--ended-job", claimed.id)
    assert read.exists() is (claimer != RANDOM)


@pytest.mark.parametrize("area", ["dstl", "taskowned", "shared/op_x__1_4__attempt_0/db", None])
def test_a_job_that_is_declared_ended_and_writes_after_the_plan_keeps_its_log(
    tmp_path, area
) -> None:
    """The sweep of a saved plan lists no ``shared/``, and looks into the other areas."""
    bed = a_bed(tmp_path, *AT_ONCE, "--ended-job", "all")
    job = a_job(bed, RANDOM)
    job.checkpoint(7, stored(job.folder / "shared", age=40), age=20 * DAY)
    waiting = [stored(job.folder / each, age=15) for each in ("dstl", DATABASE)]
    bed.sweep(bed.plan(*EVERYTHING), "--delete")
    plan = bed.plan(*EVERYTHING)
    if area is not None:
        stored(job.folder / area, age=0)
    bed.sweep(plan, "--delete")
    assert {each.exists() for each in waiting} == {area is not None}


def recorded_by(source: str, bed: Bed, job: Job, age: int) -> tuple[object, ...]:
    """Write that the job ended some days ago; return the options that name the place."""
    if source == "exporter":
        registry = bed.folder / "registry"
        record = {
            "format": "orphangc-ended",
            "version": 1,
            "job_id": job.id,
            "epoch": "e1",
            "status": "CANCELED",
            "ts": "2026-01-01T00:00:00Z",
            "checkpoint_dir": str(job.folder),
            "retained": [],
        }
        data = json.dumps(record).encode()
        write(registry / job.id / "ended" / "e1.json", data, age * DAY)
        return ("--registry", registry)
    entry = {"result": {"id": job.id, "application-status": "FAILED"}, "version": 1}
    state = {"jid": job.id, "state": "FAILED"}
    archive = {"archive": [{"path": f"/jobs/{job.id}", "json": json.dumps(state)}]}
    is_store = source == "job result store"
    data = json.dumps(entry if is_store else archive).encode()
    write(bed.folder / "ends" / (f"{job.id}.json" if is_store else job.id), data, age * DAY)
    return ("--job-archive", bed.folder / "ends")


@pytest.mark.parametrize("source", ["exporter", "job result store", "history server"])
@pytest.mark.parametrize("age", [19, 13, None], ids=["control", "of an earlier run", "none"])
def test_a_record_of_an_end_counts_for_the_run_that_wrote_last(tmp_path, source, age) -> None:
    """R34, E1, E3, E4: a later run stored a checkpoint since; a file of its log waits unnamed."""
    bed = a_bed(tmp_path, *AT_ONCE)
    job = a_job(bed, RANDOM)
    job.checkpoint(7, stored(job.folder / "shared", age=40), age=20 * DAY)
    if age == 13:
        job.checkpoint(8, stored(job.folder / "shared", age=13), age=12 * DAY)
    waiting = stored(job.folder / "dstl", age=21)
    swept_twice(bed, *(() if age is None else recorded_by(source, bed, job, age)))
    assert waiting.exists() is (age != 19)


@pytest.mark.parametrize("source", ["exporter", "job result store"])
@pytest.mark.parametrize("lives", [False, True], ids=["control", "a newer one lives"])
def test_a_record_of_an_id_that_comes_back_must_be_of_the_newest_run(
    tmp_path, source, lives
) -> None:
    """R34: only the exporter knows; a newer JobManager of the job marks that it lives."""
    bed = a_bed(tmp_path, *AT_ONCE)
    job = a_job(bed, FIXED)
    job.checkpoint(7, stored(job.folder / "shared", age=40), age=20 * DAY)
    waiting = stored(job.folder / "dstl", age=21)
    options = recorded_by(source, bed, job, 19)
    if lives:
        write(tmp_path / "registry" / job.id / "owners" / "e2.alive", b"e2", 0 * DAY)
    swept_twice(bed, *options)
    assert waiting.exists() is (lives or source != "exporter")


def test_a_running_job_outweighs_every_record_of_its_end(tmp_path) -> None:
    """R34: REST shows it alive; the record is of an earlier run that wrote last."""
    bed = a_bed(tmp_path, *AT_ONCE)
    job = a_job(bed, RANDOM)
    job.checkpoint(7, stored(job.folder / "shared", age=40), age=20 * DAY)
    waiting = stored(job.folder / "dstl", age=21)
    options = recorded_by("exporter", bed, job, 19)
    with RestServer(flink(job, completed=7)) as server:
        swept_twice(bed, *options, "--flink-rest", server.url)
    must_be_there(waiting)
