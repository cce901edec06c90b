"""Losses by expiry of a real job's newest state: none of them by a careless owner (R40, R41, R43).

A job that was restored from some checkpoint continued that one, and what came before it.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, Job, Ran, flink, metadata, millis_ago, run, write
from cli.savepoints import distinct
from orphangc.core.model.naming import EXPIRY_MARKER
from safety.incidents.essential import must_be_there
from support.flink_resources import a_deployment, a_session_job, a_status, reconciled
from support.kubernetes_server import KubernetesServer, a_config_map, retained
from support.rest_server import RestServer, as_json, configured, listing
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.properties_by_hand import NEVER_RETAINED, checkpoint_properties

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
POLICIES = {
    "one": ("--keep-last", "1"),
    "three": ("--keep-last", "3"),
    "a month": ("--keep-last", "1", "--keep-within", "30d", "--keep-monthly", "12"),
}


@dataclass
class TwoJobs:
    """A job that is over, and one that began from a checkpoint of it, which runs."""

    bed: Bed  # storage root and state location
    server: RestServer  # cluster that runs the younger job
    old: Job = field(init=False)  # job that is over
    new: Job = field(init=False)  # job that runs
    extra: list[object] = field(default_factory=list)  # options of every command

    def __post_init__(self) -> None:
        """Name the jobs."""
        self.old, self.new = (Job(i, self.bed.root / i) for i in (distinct(0), distinct(1)))

    def checkpoint(self, job: Job, number: int, age: timedelta) -> Path:
        name = f"{number:08x}-0000-4000-8000-{int(job.id[:8], 16):012x}"
        file = job.shared(name, age=age)
        properties = checkpoint_properties()
        job.checkpoint(number, file, age=age, properties=properties)
        return job.folder / f"chk-{number}" / "_metadata"

    def hourly(self, job: Job, *numbers: int) -> None:
        for hours, number in enumerate(reversed(numbers), 1):
            self.checkpoint(job, number, hours * HOUR)

    def fork(self) -> Path:
        """Let the younger job run on from chk-100; return the ``_metadata`` of chk-90 before it."""
        older = self.checkpoint(self.old, 90, 61 * DAY)
        self.checkpoint(self.old, 100, 60 * DAY)
        self.checkpoint(self.new, 101, HOUR)
        self.runs(101, 39 * DAY, self.from_old(100))
        return older

    def from_old(self, number: int) -> tuple[int, Path]:
        """Return a checkpoint of the older job as what a job was restored from."""
        return number, self.old.folder / f"chk-{number}"

    def from_new(self, number: int) -> tuple[int, Path]:
        """Return one of the younger job."""
        return number, self.new.folder / f"chk-{number}"

    def showed(self, job: Job, completed: int, began: timedelta, **told: Any) -> None:
        """Let a cycle have seen the cluster run another job alone."""
        self.server.routes.clear()
        started = millis_ago(began)
        self.server.routes.update(flink(job, completed=completed, started_ms=started, **told))
        self.looks()

    def runs(
        self,
        completed: int,
        began: timedelta,
        restored: tuple[int, Path] | None,
        *,
        status: str = "RUNNING",
        restored_at: timedelta | None = None,
    ) -> None:
        """Let the cluster show the younger job alone, which runs since some time."""
        self.server.routes.clear()
        routes = flink(
            self.new,
            completed=completed,
            restored=restored,
            restored_ms=restored_at and millis_ago(restored_at),
            started_ms=millis_ago(began),
            status=status,
        )
        self.server.routes.update(routes)

    def fixes_its_id(self, job: Job, **more: str) -> None:
        """Let the configuration of the cluster ``orders`` choose a job's id, and more options."""
        options = dict.fromkeys(("pipeline.fixed-job-id", "$internal.pipeline.job-id"), job.id)
        options |= {"kubernetes.cluster-id": "orders", "kubernetes.namespace": "flink"}
        options |= {"high-availability.type": "kubernetes"}
        self.server.routes.update(configured({**options, **more}))

    def looks(self) -> None:
        place = (self.bed.root, "--state", self.bed.state, "--closed-world")
        ran = run("plan", *place, "--flink-rest", self.server.url, *self.extra)
        assert ran.code == 0, ran.err

    def expire(self, *policy: object) -> tuple[Ran, Ran]:
        """Plan an expiry with the default margins, and carry it out; return both commands."""
        self.bed.plans += 1
        out = self.bed.folder / f"expiry-{self.bed.plans}"
        place = (self.bed.root, "--state", self.bed.state, "--closed-world", "--out", out)
        cluster = ("--flink-rest", self.server.url, "--ended-job", self.old.id)
        made = run("expire", *place, *cluster, *self.extra, *policy)
        return made, run("sweep", out, "--delete")


@pytest.fixture
def jobs(tmp_path) -> Iterator[TwoJobs]:
    with ExitStack() as stack:
        yield TwoJobs(Bed(tmp_path), stack.enter_context(RestServer({})))


@pytest.fixture
def kubernetes(kubernetes: KubernetesServer, jobs: TwoJobs) -> KubernetesServer:
    """Return a Kubernetes whose HA metadata every command is given."""
    jobs.extra += ["--kubernetes-ha", "flink"]
    return kubernetes


def with_operators(data: bytes, count: int) -> bytes:
    """Return a ``_metadata`` with as many copies of its operator, each under its own id."""
    start, own_id = data.index(bytes(range(16))), bytes(range(16))
    end = data.index(hand.NULL_PROPERTIES[:4], start)
    copies = (data[start:end].replace(own_id, bytes([n]) + own_id[1:]) for n in range(count))
    return data[: start - 4] + hand.listed(*copies) + data[end:]


def went(pair: tuple[Ran, Ran]) -> set[str]:
    """Return the checkpoints whose ``_metadata`` went, by id."""
    made, swept = pair
    assert (made.code, swept.code) == (0, 0), made.err + swept.err
    return {
        each["uri"].rpartition("/")[2]
        for lineage in made.json["expiry"]["lineages"]
        for each in lineage["checkpoints"]
        if each["action"] == "expire"
    }


def collect(jobs: TwoJobs) -> None:
    """Collect by the ordinary rules, without any margin; the younger job is over, too."""
    margins = ("--grace-period", "0", "--quiet-period", "0", *AT_ONCE)
    for _ in range(2):
        over = ("--ended-job", jobs.new.id, "--max-delete-share", "1")
        plan = jobs.bed.plan("--closed-world", *over, *margins)
        jobs.bed.sweep(plan, "--delete")


@pytest.mark.answered_by("points_of_restores")
@pytest.mark.parametrize("policy", POLICIES)
def test_r41_a_rollback_to_an_old_savepoint_leaves_the_newest_state(jobs, policy) -> None:
    """The job stopped 40 days ago; its savepoint of 60 days ago was started a day later."""
    savepoints = jobs.bed.folder / "savepoints"
    folder = savepoints / f"savepoint-{jobs.old.id[:6]}-{7:012x}"
    state = write(folder / "0000aaaa-5a5a-4000-8000-000000000000", b"savepoint", 60 * DAY)
    write(folder / "_metadata", metadata(100, [state]), 60 * DAY)
    jobs.checkpoint(jobs.old, 90, 61 * DAY)
    newest = jobs.checkpoint(jobs.old, 5000, 40 * DAY)
    jobs.hourly(jobs.new, 198, 199, 200)
    jobs.runs(200, 39 * DAY, (100, folder))
    jobs.extra += ["--extra-roots", savepoints]
    made, swept = jobs.expire(*POLICIES[policy])
    must_be_there(newest)
    assert went((made, swept)) == {"chk-90"}


@pytest.mark.answered_by("points_of_restores")
def test_r41_a_fork_whose_first_cycle_comes_late_leaves_the_newest_state(jobs) -> None:
    """It began 60 days ago and writes full snapshots; the older job went on for 20 days."""
    jobs.checkpoint(jobs.old, 90, 61 * DAY)
    newest = jobs.checkpoint(jobs.old, 5000, 40 * DAY)
    jobs.checkpoint(jobs.new, 9000, HOUR)
    jobs.runs(9000, 60 * DAY, jobs.from_old(100))
    jobs.expire("--keep-last", "1")
    must_be_there(newest)


@pytest.mark.answered_by("policies_of_owners")
def test_r40_without_a_policy_not_even_what_flink_was_to_delete_goes(jobs) -> None:
    """The job failed: its only checkpoint is what its state can be taken from."""
    file = jobs.new.shared(age=9 * DAY)
    properties = checkpoint_properties(NEVER_RETAINED)
    only = jobs.new.checkpoint(7, file, age=9 * DAY, properties=properties)
    jobs.runs(7, 60 * DAY, None, status="FAILED")
    made, swept = jobs.expire()
    must_be_there(only)
    assert (made.code, swept.code) == (0, 0), made.err + swept.err
    assert went(jobs.expire("--keep-last", "1")) == {"chk-7"}


def a_failed_job(jobs: TwoJobs) -> list[Path]:
    files = [jobs.new.shared(age=days * DAY) for days in (9, 20)]
    properties = checkpoint_properties(NEVER_RETAINED)
    jobs.new.checkpoint(7, *files, age=9 * DAY, properties=properties)
    jobs.runs(7, 60 * DAY, None, status="FAILED")
    return files


@pytest.mark.answered_by("markers_of_expiries")
@pytest.mark.parametrize("what", ["", "*/world"])
def test_r44_a_state_location_that_was_set_back_remembers_no_quarantine_and_blocks(
    jobs, what
) -> None:
    """It is a backup of the day before; that Flink deletes such a checkpoint explains its loss."""
    files = a_failed_job(jobs)
    jobs.looks()
    (place,) = jobs.bed.state.glob(what) if what else [jobs.bed.state]
    shutil.copytree(place, jobs.bed.folder / "backup")
    assert went(jobs.expire("--keep-last", "1")) == {"chk-7"}
    shutil.rmtree(place)
    shutil.copytree(jobs.bed.folder / "backup", place)
    collect(jobs)
    must_be_there(*files)


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_a_state_that_was_set_back_to_an_earlier_quarantine_blocks(jobs) -> None:
    """That one was undone: its record explains nothing of the marker of the next.

    The storage keeps the times of what is moved: else a later run would seem to have stored it.
    """
    files = a_failed_job(jobs)
    root = jobs.new.folder / "chk-7" / "_metadata"
    assert went(jobs.expire("--keep-last", "1")) == {"chk-7"}
    assert run("undelete", jobs.bed.folder / "expiry-1").code == 0
    write(root, root.read_bytes(), 9 * DAY)
    jobs.looks()
    backup = shutil.copytree(jobs.bed.state, jobs.bed.folder / "backup")
    margins = ("--grace-period", "0", "--quiet-period", "0", "--clock-skew", "0")
    again = (*margins, "--allow-short-margins")
    assert went(jobs.expire("--keep-last", "1", *again)) == {"chk-7"}
    shutil.rmtree(jobs.bed.state)
    shutil.copytree(backup, jobs.bed.state)
    collect(jobs)
    must_be_there(*files)


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_an_acknowledged_loss_of_a_state_covers_no_later_one(jobs) -> None:
    """It is set back in a quarantine, which a person acknowledges, and later in the next one."""
    files = a_failed_job(jobs)
    root = jobs.new.folder / "chk-7" / "_metadata"
    data, state = root.read_bytes(), jobs.bed.state
    margins = ("--grace-period", "0", "--quiet-period", "0", "--clock-skew", "0")
    for number in range(2):
        run("plan", jobs.bed.root, "--state", state, "--flink-rest", jobs.server.url)
        for marker in root.parent.glob(f"{EXPIRY_MARKER}*"):
            lost = marker.name[-36:].replace("-", "")
            word = ("acknowledge", jobs.bed.root, "state_lost", lost, "--state", state)
            assert run("world", *word).code == 0
            write(root, data, 9 * DAY)
        jobs.looks()
        backup = shutil.copytree(state, jobs.bed.folder / f"backup-{number}")
        again = (*margins, "--allow-short-margins")
        assert went(jobs.expire("--keep-last", "1", *again)) == {"chk-7"}
        shutil.rmtree(state)
        shutil.copytree(backup, state)
    collect(jobs)
    must_be_there(*files)


@pytest.mark.answered_by("origins_that_are_stated")
def test_r43_the_origin_of_a_job_that_failed_over_before_the_first_cycle_stays(jobs) -> None:
    """Flink shows a checkpoint of its own, and without HA metadata it starts from the first again.

    Its owner says from which one.
    """
    origin = jobs.checkpoint(jobs.old, 100, 60 * DAY)
    jobs.checkpoint(jobs.old, 5000, 50 * DAY)
    jobs.hourly(jobs.new, 9000, 9001)
    jobs.runs(9001, 45 * DAY, jobs.from_new(9000))
    jobs.expire("--keep-last", "1", "--continued", f"{jobs.new.id}={jobs.old.id}@100")
    must_be_there(origin)


@pytest.mark.answered_by("origins_that_no_cycle_saw")
@pytest.mark.parametrize("comes_back", [False, True])
@pytest.mark.parametrize("case", ["failed over", "another mount", "not shown"])
def test_r43_what_a_clone_began_with_stays_where_nothing_shows_it(jobs, case, comes_back) -> None:
    """A test that began with chk-90, without a claim and without HA metadata, begins with it again.

    REST shows a checkpoint of its own since a failover, or its origin by a path of its own mount;
    or no cluster shows it. An earlier run of its id, which somebody chose, may have left more.
    """
    origin = jobs.fork()
    clone = Job(distinct(2), jobs.bed.root / distinct(2))
    jobs.hourly(clone, 130, 131, 132)
    if comes_back:
        jobs.checkpoint(clone, 3, 200 * DAY)
    shown = {
        "failed over": (131, clone.folder / "chk-131"),
        "another mount": (90, Path("/mnt/old") / jobs.old.id / "chk-90"),
    }
    started = {"restored": shown.get(case), "started_ms": millis_ago(50 * DAY)}
    with RestServer(flink(clone, completed=132, **started)) as cluster:
        jobs.extra += ["--flink-rest", cluster.url] if case in shown else []
        jobs.expire("--keep-last", "1")
        must_be_there(origin)


@pytest.mark.answered_by("origins_that_no_cycle_saw")
def test_r43_what_a_suspended_job_was_submitted_with_stays(jobs, kubernetes) -> None:
    """Its HA metadata has its job graph, which names chk-90, and none of the checkpoints it has.

    Those are of an earlier run of its id: when that one began says nothing of this one.
    """
    origin = jobs.fork()
    suspended = Job(distinct(2), jobs.bed.root / distinct(2))
    jobs.checkpoint(suspended, 3, 200 * DAY)
    kubernetes.add(a_config_map(f"orders-{suspended.id}-config-map", "jobGraph-0"))
    jobs.expire("--keep-last", "1")
    must_be_there(origin)


@pytest.mark.answered_by("origins_that_no_cycle_saw")
@pytest.mark.parametrize("is_configured", [False, True])
@pytest.mark.parametrize("stated", ["nothing", "{}@100"])
def test_r43_what_is_stated_of_an_id_that_comes_back_may_be_of_an_earlier_run(
    jobs, stated, is_configured
) -> None:
    """The present run began with chk-90, and has failed over since; a policy is written once."""
    origin = jobs.fork()
    job_id = distinct(2) if is_configured else "0" * 31 + "9"
    again = Job(job_id, jobs.bed.root / job_id)
    jobs.hourly(again, 130, 131, 132)
    own = {"restored": (131, again.folder / "chk-131"), "started_ms": millis_ago(50 * DAY)}
    routes = flink(again, completed=132, **own)
    if is_configured:
        routes |= configured({"pipeline.fixed-job-id": job_id})
    with RestServer(routes) as cluster:
        said = ("--continued", f"{job_id}={stated.format(jobs.old.id)}")
        jobs.extra += ["--flink-rest", cluster.url]
        jobs.expire("--keep-last", "1", *said)
        must_be_there(origin)


@pytest.mark.answered_by("runs_that_are_over", not_for=["no"])
@pytest.mark.parametrize("shown", ["now", "before", "no"])
def test_r43_that_a_run_which_is_over_began_from_nothing_says_nothing_of_the_one_that_lives(
    jobs, shown
) -> None:
    """The id was set on submission, in two clusters; the second run began with chk-90.

    It has failed over since, and nothing shows any more what it began with.
    """
    origin = jobs.fork()
    job = Job(distinct(2), jobs.bed.root / distinct(2))
    jobs.hourly(job, 130, 131, 132)
    times = {"started_ms": millis_ago(200 * DAY), "ended_ms": millis_ago(100 * DAY)}
    own = {"restored": (131, job.folder / "chk-131"), "started_ms": millis_ago(50 * DAY)}
    with ExitStack() as stack:
        first = stack.enter_context(RestServer(flink(job, completed=8, status="FAILED", **times)))
        second = stack.enter_context(RestServer(flink(job, completed=132, **own)))
        jobs.extra += [] if shown == "no" else ["--flink-rest", first.url]
        if shown == "before":
            jobs.looks()
            first.routes.update(listing())
        jobs.extra += ["--flink-rest", second.url]
        jobs.expire("--keep-last", "1")
    must_be_there(origin)


@pytest.mark.answered_by("answers_of_the_living")
def test_r43_what_a_run_that_is_over_completed_is_none_of_the_present_jobmanager(
    jobs, kubernetes
) -> None:
    """Its HA metadata is left; the run that lives has none that anything shows."""
    origin = jobs.fork()
    job = Job(distinct(2), jobs.bed.root / distinct(2))
    jobs.checkpoint(job, 8, 52 * DAY)
    jobs.checkpoint(job, 132, HOUR)
    kubernetes.add(a_config_map(f"orders-{job.id}-config-map", *retained(8), "counter"))
    times = {"started_ms": millis_ago(55 * DAY), "ended_ms": millis_ago(50 * DAY)}
    own = {"restored": (90, origin.parent), "started_ms": millis_ago(40 * DAY)}
    with ExitStack() as stack:
        for routes in (
            flink(job, completed=8, status="FAILED", **times),
            flink(job, completed=132, **own),
        ):
            jobs.extra += ["--flink-rest", stack.enter_context(RestServer(routes)).url]
        jobs.expire("--keep-last", "1")
    must_be_there(origin)


@pytest.mark.answered_by("places_of_records")
def test_r43_that_another_clusters_job_of_the_id_began_from_nothing_says_nothing_here(jobs) -> None:
    """The clone is a copy of that one's deployment, and no cluster shows what it began with."""
    origin = jobs.checkpoint(jobs.old, 90, 61 * DAY)
    jobs.checkpoint(jobs.old, 100, 60 * DAY)
    jobs.checkpoint(jobs.new, 101, HOUR)
    clone = Job(distinct(2), jobs.bed.root / distinct(2))
    jobs.checkpoint(clone, 132, HOUR)
    twin = Job(clone.id, jobs.bed.folder / "elsewhere" / clone.id)
    jobs.server.routes.update(flink(twin, completed=7, status="FINISHED"))
    jobs.looks()
    jobs.runs(101, 39 * DAY, jobs.from_old(100))
    jobs.expire("--keep-last", "1")
    must_be_there(origin)


@pytest.mark.answered_by("proofs_of_successors")
@pytest.mark.parametrize(("status", "began"), [("RESTARTING", 39 * DAY), ("RUNNING", 3 * HOUR)])
def test_r41_a_successor_that_does_not_last_takes_no_place(jobs, status, began) -> None:
    """It fails again and again, or has run for three hours only."""
    origin = jobs.from_old(100)
    jobs.checkpoint(jobs.old, 90, 41 * DAY)
    newest = jobs.checkpoint(jobs.old, 100, 40 * DAY)
    jobs.checkpoint(jobs.new, 101, HOUR)
    jobs.runs(101, began, origin, status=status)
    older = jobs.old.folder / "chk-90" / "_metadata"
    jobs.expire("--keep-last", "1")
    must_be_there(newest, older)


@pytest.mark.answered_by("proofs_of_successors", not_for=["2.3.0"])
@pytest.mark.parametrize("version", ["2.3.0", "2.9.0"])
def test_r27_a_successor_whose_own_work_is_blocked_takes_no_place(jobs, version) -> None:
    """Nobody has read that Flink. Since a failover it shows nothing of the older job any more."""
    older = jobs.checkpoint(jobs.old, 90, 61 * DAY)
    origin = jobs.checkpoint(jobs.old, 100, 60 * DAY).parent
    for number, restored in ((101, (100, origin)), (102, (101, jobs.new.folder / "chk-101"))):
        jobs.checkpoint(jobs.new, number, (103 - number) * HOUR)
        jobs.runs(number, 39 * DAY, restored)
        told = as_json({"refresh-interval": 0, "flink-version": version})
        jobs.server.routes["/config"] = told
        jobs.looks()
    gone = went(jobs.expire("--keep-last", "1"))
    if version != "2.3.0":
        must_be_there(older)
    assert gone == ({"chk-90"} if version == "2.3.0" else set())


@pytest.mark.answered_by("sizes_of_files")
@pytest.mark.parametrize("is_newest", [False, True])
def test_r41_what_lost_the_bytes_of_a_file_stands_for_nothing(jobs, is_newest) -> None:
    """A disk was full: the files of one that was to stay are there, and empty."""
    older = jobs.checkpoint(jobs.old, 90, 61 * DAY)
    jobs.checkpoint(jobs.old, 100, 60 * DAY)
    jobs.hourly(jobs.new, 101, 102)
    jobs.runs(102, 39 * DAY, jobs.from_old(100))
    short = 102 if is_newest else 101
    (file,) = (jobs.new.folder / "shared").glob(f"{short:08x}-*")
    write(file, b"1234", HOUR)
    gone = went(jobs.expire("--keep-last", "1" if is_newest else "3"))
    must_be_there(older)
    write(file, b"12345", HOUR)
    assert not gone
    assert went(jobs.expire("--keep-last", "1" if is_newest else "3")) == {"chk-90"}


def holds_at_90(jobs: TwoJobs, keyed: bytes) -> Path:
    """Let a job that went on have five checkpoints, of which the second one holds a handle."""
    operators = hand.listed(hand.operator(4, hand.listed(hand.subtask(4, keyed=keyed))))
    properties = checkpoint_properties()
    data = hand.metadata(4, operators, checkpoint_id=90, properties=properties)
    for number, age in ((80, 62 * DAY), (100, 60 * DAY)):
        jobs.checkpoint(jobs.old, number, age)
    jobs.hourly(jobs.new, 101, 102)
    jobs.runs(102, 39 * DAY, jobs.from_old(100))
    return write(jobs.old.folder / "chk-90" / "_metadata", data, 61 * DAY)


@pytest.mark.answered_by("compression_of_changes")
def test_r41_a_compressed_change_log_lacks_nothing(jobs) -> None:
    """A handle says how long its changes were before (dstl.dfs.compression.enabled)."""
    file = jobs.old.folder / "dstl" / f"{90:08x}-0000-4000-8000-{0:012x}"
    write(file, b"\x01" + b"234", 61 * DAY)
    changes = hand.changelog_files(hand.file_handle(str(file)))
    younger = holds_at_90(jobs, hand.changelog(hand.listed(), hand.listed(changes)))
    gone = went(jobs.expire("--keep-last", "4"))
    must_be_there(younger)
    assert gone == {"chk-80"}


@pytest.mark.answered_by("sizes_of_files")
def test_r41_a_change_log_that_is_not_compressed_has_all_its_bytes(jobs) -> None:
    """Its first byte says so."""
    file = jobs.old.folder / "dstl" / f"{90:08x}-0000-4000-8000-{0:012x}"
    write(file, b"\x00" + b"234", 61 * DAY)
    changes = hand.changelog_files(hand.file_handle(str(file)))
    holds_at_90(jobs, hand.changelog(hand.listed(), hand.listed(changes)))
    jobs.expire("--keep-last", "4")
    must_be_there(jobs.old.folder / "chk-80" / "_metadata")


@pytest.mark.answered_by("sizes_of_files")
def test_r41_a_size_that_no_file_has_ends_no_run(jobs) -> None:
    """A damaged handle says that a segment ends behind all that can be counted."""
    file = jobs.old.shared(f"{90:08x}-0000-4000-8000-{0:012x}", age=61 * DAY)
    sizes = hand.i8(3) + hand.i8(4)
    segment = hand.segment_handle(str(file)).replace(sizes, hand.i8(2**63 - 1) * 2)
    holds_at_90(jobs, hand.key_groups(segment))
    gone = went(jobs.expire("--keep-last", "4"))
    must_be_there(jobs.old.folder / "chk-80" / "_metadata")
    assert gone == {"chk-90"}


@pytest.mark.answered_by("checkpoints_of_statements")
def test_r41_a_job_that_is_stated_without_a_checkpoint_leaves_the_newest_state(jobs) -> None:
    """Flink retains one checkpoint; the middle job, which no cycle saw, went back to an older one.

    The oldest retained checkpoint was the newest state, and the truth let it go.
    """
    newest = jobs.checkpoint(jobs.old, 5000, 80 * DAY)
    middle = Job(distinct(2), jobs.bed.root / distinct(2))
    jobs.checkpoint(middle, 5300, 50 * DAY)
    jobs.hourly(jobs.new, 6001, 6002, 6003)
    jobs.runs(6003, 39 * DAY, (5300, middle.folder / "chk-5300"))
    jobs.extra += ["--ended-job", middle.id]
    jobs.expire("--keep-last", "1", "--continued", f"{middle.id}={jobs.old.id}")
    must_be_there(newest)


@pytest.mark.answered_by("runs_of_successors + origins_that_no_cycle_saw + proofs_of_successors")
@pytest.mark.parametrize("fixed", ["by zeros", "by configuration", "unknown"])
def test_r41_a_job_that_was_rolled_back_in_place_leaves_the_newest_state(jobs, fixed) -> None:
    """An earlier run of its id began from the newest state, the one that lives from another."""
    if fixed == "by zeros":
        name = "abcd1234" * 2 + "0" * 16
        jobs.new = Job(name, jobs.bed.root / name)
    newest = jobs.checkpoint(jobs.old, 5000, 60 * DAY)
    jobs.hourly(jobs.new, 198, 199, 200)
    savepoint = jobs.bed.folder / "elsewhere" / "savepoint-y"
    for began, origin in ((50 * DAY, jobs.from_old(5001)), (39 * DAY, (100, savepoint))):
        jobs.runs(200, began, origin, restored_at=began)
        if fixed == "by configuration":
            jobs.fixes_its_id(jobs.new)
        jobs.looks()
    jobs.expire("--keep-last", "1")
    must_be_there(newest)


@pytest.mark.answered_by("other_beginnings")
@pytest.mark.parametrize("seen", [True, False], ids=["in a cycle", "between two"])
def test_r41_a_job_that_its_operator_made_again_under_its_id_leaves_the_newest_state(
    jobs, kubernetes, seen
) -> None:
    """A stateless FlinkSessionJob began with chk-100, and its cluster lost it.

    Its operator (1.14-1.16) submits it again from nothing, and keeps the id, which nobody chose.
    """
    jobs.checkpoint(jobs.old, 90, 61 * DAY)
    newest = jobs.checkpoint(jobs.old, 100, 60 * DAY)
    numbers = (203, 204) if seen else (3, 4)
    for number in numbers:
        jobs.checkpoint(jobs.new, number, HOUR * (303 - number))
    jobs.runs(numbers[1], 50 * DAY, (100, newest.parent))
    jobs.looks()
    kubernetes.add(a_config_map(f"orders-{jobs.new.id}-config-map", *retained(*numbers), "counter"))
    own = (numbers[0], jobs.new.folder / f"chk-{numbers[0]}")
    jobs.runs(numbers[1], 39 * DAY, None if seen else own)
    gone = went(jobs.expire("--keep-last", "1"))
    must_be_there(newest)
    assert gone == set()


@pytest.mark.answered_by("runs_of_older_jobs")
@pytest.mark.parametrize("again", ["from nothing", "from another"])
def test_r41_a_job_that_was_made_again_under_its_id_has_the_newest_state_of_its_first_run(
    jobs, again
) -> None:
    """Its cluster lost it at chk-50, it was submitted again, and the second run was continued."""
    savepoints = [jobs.bed.folder / "elsewhere" / f"savepoint-{name}" for name in "xy"]
    newest = jobs.checkpoint(jobs.old, 50, 80 * DAY)
    for began, origin in ((90, (40, savepoints[0])), (75, (30, savepoints[1]))):
        restored = None if (began, again) == (75, "from nothing") else origin
        jobs.showed(jobs.old, 50, began * DAY, restored=restored)
    jobs.checkpoint(jobs.old, 100, 60 * DAY)
    jobs.checkpoint(jobs.new, 101, HOUR)
    jobs.runs(101, 39 * DAY, jobs.from_old(100))
    jobs.expire("--keep-last", "1", "--ended-for", "0")
    must_be_there(newest)


@pytest.mark.answered_by("uses_of_ha_metadata", not_for=["is on"])
@pytest.mark.parametrize(
    "ha", ["is on", "was on", "was on at the same number", "of another cluster"]
)
def test_r43_ha_metadata_that_an_earlier_run_left_recovers_no_job(jobs, kubernetes, ha) -> None:
    """An application with high availability was deleted, which leaves its ConfigMaps.

    Under its id it began again, without, from chk-100 of a job that failed: a JobManager that is
    lost begins with that again, whatever number it has in common with the run before. The control
    goes on from what its metadata names.
    """
    file = jobs.old.shared(age=60 * DAY)
    properties = checkpoint_properties(NEVER_RETAINED)
    origin = jobs.old.checkpoint(100, file, age=60 * DAY, properties=properties)
    jobs.showed(jobs.old, 100, 90 * DAY, status="FAILED")
    jobs.checkpoint(jobs.new, 50, 80 * DAY)
    jobs.checkpoint(jobs.new, 101, HOUR)
    left = retained(50 if ha == "was on" else 101)
    name = "twin" if ha == "of another cluster" else "orders"
    kubernetes.add(a_config_map(f"{name}-{jobs.new.id}-config-map", *left, "counter"))
    jobs.runs(101, 39 * DAY, (100, origin.parent))
    mode = {"high-availability.type": "NONE"} if ha.startswith("was on") else {}
    jobs.fixes_its_id(jobs.new, **mode)
    gone = went(jobs.expire("--keep-last", "1"))
    if ha != "is on":
        must_be_there(origin)
    assert gone == ({"chk-100"} if ha == "is on" else set())


def two_runs_in_one_folder(jobs, **flags) -> Path:
    """Return the newest of the first run; the second one, of the same id, began from nothing.

    Each run writes into the folder, which bears no job id (``create-subdir: false``).
    """
    jobs.old = Job(jobs.old.id, jobs.bed.root / "orders")
    jobs.extra += ["--owner", jobs.old.id]
    for number, age in ((40, 80 * DAY), (50, 60 * DAY)):
        file = jobs.old.shared(f"{number:08x}-0000-4000-8000-{number:012x}", age=age)
        jobs.old.checkpoint(number, file, age=age, properties=checkpoint_properties(**flags))
    return jobs.old.folder / "chk-40" / "_metadata"


@pytest.mark.answered_by("runs_of_one_folder")
def test_r41_a_folder_that_bears_no_job_id_has_the_newest_state_of_an_earlier_run(jobs) -> None:
    """A job that continued the second run did not continue the first one."""
    newest = two_runs_in_one_folder(jobs)
    jobs.checkpoint(jobs.new, 51, HOUR)
    jobs.runs(51, 39 * DAY, jobs.from_old(50))
    jobs.expire("--keep-last", "1")
    must_be_there(newest)


@pytest.mark.answered_by("runs_of_one_folder + times_of_ends")
def test_r41_the_end_of_a_run_orders_nothing_for_what_another_left_in_its_folder(jobs) -> None:
    """Flink said FAILED of the second run."""
    newest = two_runs_in_one_folder(jobs, flags=NEVER_RETAINED)
    began = millis_ago(70 * DAY)
    routes = flink(jobs.old, completed=50, status="FAILED", started_ms=began)
    jobs.server.routes.update(routes)
    jobs.expire("--keep-last", "1")
    must_be_there(newest)


@pytest.mark.answered_by("ids_that_were_chosen")
def test_r41_that_an_id_was_chosen_is_not_forgotten_with_its_cluster(jobs) -> None:
    """Its first run ended at 5000; the second one began from nothing, and reached 6000."""
    newest = jobs.checkpoint(jobs.old, 5000, 60 * DAY)
    jobs.checkpoint(jobs.old, 6000, 40 * DAY)
    jobs.server.routes.update(flink(jobs.old, completed=6000))
    jobs.fixes_its_id(jobs.old)
    jobs.looks()
    jobs.hourly(jobs.new, 6001, 6002, 6003)
    jobs.runs(6003, 39 * DAY, jobs.from_old(6000))
    jobs.expire("--keep-last", "1", "--ended-for", "0")
    must_be_there(newest)


@pytest.mark.answered_by("times_of_ends")
def test_r40_the_end_of_an_earlier_run_orders_nothing_for_what_was_stored_since(jobs) -> None:
    """A cycle saw the first run fail; the second one of that id went with its cluster."""
    properties = checkpoint_properties(NEVER_RETAINED)
    file = jobs.old.shared(f"{7:08x}-0000-4000-8000-{7:012x}", age=25 * DAY)
    jobs.old.checkpoint(7, file, age=25 * DAY, properties=properties)
    jobs.showed(jobs.old, 7, 30 * DAY, status="FAILED")
    file = jobs.old.shared(f"{8:08x}-0000-4000-8000-{8:012x}", age=0 * DAY)
    only = jobs.old.checkpoint(8, file, age=0 * DAY, properties=properties)
    jobs.checkpoint(jobs.new, 300, HOUR)
    jobs.runs(300, 39 * DAY, None)
    margins = [word for name in ("quiet", "grace") for word in (f"--{name}-period", "0")]
    jobs.expire("--keep-last", "1", *margins, "--clock-skew", "0", "--allow-short-margins")
    must_be_there(only)


ENDS = {"shown": (25, False), "remembered": (25, True), "control": (9, False)}


@pytest.mark.answered_by("changes_since_ends", not_for=["remembered", "control"])
@pytest.mark.answered_by("times_of_ends", not_for=["shown", "control"])
@pytest.mark.parametrize("end", ENDS)
def test_r40_an_end_that_a_cluster_shows_for_weeks_orders_nothing_for_a_later_run(
    jobs, end
) -> None:
    """That run had the id, which was set on submission, in another cluster that is gone.

    The cluster of the first run keeps what is over for a month (jobstore.expiration-time).
    """
    ended, is_remembered = ENDS[end]
    properties = checkpoint_properties(NEVER_RETAINED)
    file = jobs.new.shared(age=10 * DAY)
    only = jobs.new.checkpoint(7, file, age=10 * DAY, properties=properties)
    jobs.showed(jobs.new, 7, 60 * DAY, status="FAILED", ended_ms=millis_ago(ended * DAY))
    if is_remembered:
        jobs.server.routes.update(listing())
        jobs.extra += ["--ended-job", jobs.new.id]
    jobs.expire("--keep-last", "1")
    if end != "control":
        must_be_there(only)
    assert only.exists() is (end != "control")


@pytest.mark.answered_by("times_of_ends")
@pytest.mark.parametrize("late", [-DAY, 2 * MINUTE], ids=["a day later", "late clock"])
@pytest.mark.parametrize("end", ["shown", "remembered"])
def test_r40_an_end_orders_nothing_for_what_an_earlier_run_left(jobs, end, late) -> None:
    """Its id was set on submission; it crashed, and the next run of that id failed in order.

    That one began after chk-7 was stored; the clock of its JobManager may be late.
    """
    properties = checkpoint_properties(NEVER_RETAINED)
    ages = {7: 30 * DAY, 9: 11 * DAY}
    only, _ = (
        jobs.new.checkpoint(number, jobs.new.shared(age=age), age=age, properties=properties)
        for number, age in ages.items()
    )
    ended = millis_ago(10 * DAY)
    jobs.showed(jobs.new, 9, ages[7] + late, status="FAILED", ended_ms=ended)
    if end == "remembered":
        jobs.server.routes.update(listing())
        jobs.extra += ["--ended-job", jobs.new.id]
    jobs.expire("--keep-last", "1")
    must_be_there(only)


@pytest.mark.answered_by("reports_of_ends", not_for=["reported"])
@pytest.mark.parametrize("end", ["lost", "reported"])
def test_r40_a_job_whose_jobmanager_was_lost_was_not_told_to_delete(jobs, end) -> None:
    """A session cluster without HA runs one job. Its JobManager crashes, and chk-50 is left.

    Another job is started from nothing in its place; the owner says, truly, that the first is over.
    The control: Flink said FAILED, and it deletes by default what such a job had.
    """
    file = jobs.old.shared(f"{7:08x}-0000-4000-8000-{7:012x}", age=10 * DAY)
    properties = checkpoint_properties(NEVER_RETAINED)
    newest = jobs.old.checkpoint(50, file, age=10 * DAY, properties=properties)
    status = "RUNNING" if end == "lost" else "FAILED"
    jobs.showed(jobs.old, 50, 40 * DAY, status=status)
    jobs.checkpoint(jobs.new, 3, HOUR)
    jobs.runs(3, 9 * DAY, None)
    jobs.looks()
    made, swept = jobs.expire("--keep-last", "1")
    if end == "lost":
        must_be_there(newest)
    assert went((made, swept)) == (set() if end == "lost" else {"chk-50"})


@pytest.mark.answered_by("places_of_records")
def test_r40_the_end_of_another_clusters_job_of_the_id_orders_nothing_here(jobs) -> None:
    """This one is a copy: that which finished in another cluster wrote below another folder."""
    only = jobs.checkpoint(jobs.old, 7, 40 * DAY)
    twin = Job(jobs.old.id, jobs.bed.folder / "elsewhere" / jobs.old.id)
    jobs.server.routes.update(flink(twin, completed=7, status="FINISHED"))
    jobs.looks()
    jobs.checkpoint(jobs.new, 300, HOUR)
    jobs.runs(300, 39 * DAY, None)
    jobs.expire("--keep-last", "1")
    must_be_there(only)


FALSE = {
    "another checkpoint": (39, 100, "@5000", "a cycle saw it restored from"),
    "from nothing": (39, None, "@5000", "a cycle saw it begin from nothing"),
    "no checkpoint, from nothing": (39, None, "", "a cycle saw it begin from nothing"),
    "stored after its start": (60, 8999, "@5000", "that was stored after the job had started"),
    "later than its own": (39, 4998, "@5000", "it has checkpoint 4999, and goes on above what"),
}


@pytest.mark.parametrize("case", FALSE)
def test_a_statement_that_flink_contradicts_is_refused(jobs, case) -> None:
    """Its owner confuses two checkpoints; what Flink shows counts."""
    began, number, stated, why = FALSE[case]
    newest = jobs.checkpoint(jobs.old, 5000, 40 * DAY)
    completed = 4999 if number == 4998 else 9000
    jobs.checkpoint(jobs.new, completed, HOUR)
    origin = jobs.new if number == completed - 1 else jobs.old
    restored = None if number is None else (number, origin.folder / f"chk-{number}")
    jobs.runs(completed, began * DAY, restored)
    made, _ = jobs.expire("--keep-last", "1", "--continued", f"{jobs.new.id}={jobs.old.id}{stated}")
    must_be_there(newest)
    assert (made.code, why in made.err) == (2, True), made.err


@pytest.mark.parametrize("stated", ["id", "uri"])
def test_a_statement_of_what_no_cycle_saw_lets_nothing_go(jobs, stated) -> None:
    """A slip in the id; the job failed over before the first cycle."""
    newest = jobs.checkpoint(jobs.old, 5000, 40 * DAY)
    jobs.checkpoint(jobs.new, 9000, HOUR)
    jobs.runs(9000, 39 * DAY, jobs.from_new(8999))
    origin = {"id": f"{jobs.old.id}@50000", "uri": jobs.old.folder / "chk-50000"}[stated]
    made, _ = jobs.expire("--keep-last", "1", "--continued", f"{jobs.new.id}={origin}")
    must_be_there(newest)
    assert made.code == 0, made.err


def test_what_a_proven_successor_continued_goes(jobs) -> None:
    """A control: the same two jobs, and the younger one has run for long enough."""
    jobs.fork()
    assert went(jobs.expire("--keep-last", "1")) == {"chk-90"}, "the other one is its origin"


@pytest.mark.answered_by("state_that_is_taken_over", not_for=["True"])
@pytest.mark.parametrize("is_whole", [False, True])
def test_r41_the_state_that_a_job_was_restored_without_stays(jobs, kubernetes, is_whole) -> None:
    """One job was split in two: the other half has not begun (``allowNonRestoredState``)."""
    jobs.fork()
    kubernetes.add(a_config_map(f"orders-{jobs.new.id}-config-map", *retained(101), "counter"))
    whole, half = (next(job.folder.glob("chk-10*/_metadata")) for job in (jobs.old, jobs.new))
    for path, age, count in ((whole, 60 * DAY, 2), (half, HOUR, 2 if is_whole else 1)):
        write(path, with_operators(path.read_bytes(), count), age)
    gone = went(jobs.expire("--keep-last", "1"))
    must_be_there(*([] if is_whole else [whole]))
    assert gone == {"chk-90", *({"chk-100"} if is_whole else ())}


@pytest.mark.answered_by("other_makers_of_savepoints", not_for=["unknown"])
@pytest.mark.parametrize("twin", ["shown", "remembered", "unknown"])
def test_r42_a_savepoint_that_two_jobs_may_have_made_stays(jobs, kubernetes, twin) -> None:
    """Two jobs of one code ran side by side; one was stopped, and left its savepoint alone.

    Their ids begin alike. The control: only the other one was ever there.
    """
    jobs.fork()
    kubernetes.add(a_config_map(f"orders-{jobs.new.id}-config-map", *retained(101), "counter"))
    savepoints = jobs.bed.folder / "savepoints"
    folder = savepoints / f"savepoint-{jobs.old.id[:6]}-{7:012x}"
    state = write(folder / "0000aaaa-5a5a-4000-8000-000000000000", b"savepoint", 60.5 * DAY)
    only = write(folder / "_metadata", metadata(95, [state]), 60.5 * DAY)
    stopped = Job(f"{jobs.old.id[:-1]}0", jobs.bed.root / "no folder of it is left")
    with RestServer(flink(stopped, completed=95, status="FINISHED")) as cluster:
        jobs.extra += ["--extra-roots", savepoints]
        jobs.extra += [] if twin == "unknown" else ["--flink-rest", cluster.url]
        jobs.looks()
        if twin == "remembered":
            cluster.routes.update(listing())
        gone = went(jobs.expire("--keep-last", "1", "--savepoints", savepoints))
    must_be_there(*([] if twin == "unknown" else [only]))
    assert gone == {"chk-90", "chk-100", *({folder.name} if twin == "unknown" else ())}


def test_what_the_loser_of_a_fork_wrote_goes_when_it_is_declared_dead(jobs) -> None:
    """Blue and green: the younger job goes on, the older one went on after the fork."""
    jobs.checkpoint(jobs.old, 100, 60 * DAY)
    jobs.checkpoint(jobs.old, 5000, 40 * DAY)
    jobs.checkpoint(jobs.new, 9000, HOUR)
    jobs.runs(9000, 59 * DAY, jobs.from_old(100))
    assert went(jobs.expire("--keep-last", "1", "--dead", jobs.old.id)) == {"chk-5000"}


def a_report(job: Job, mode: str, deployed: str = "stateless") -> dict[str, Any]:
    """Return a session job's resource of some mode, and of the mode that it was deployed with."""
    shown = a_session_job(
        jobStatus={"jobId": job.id, "state": "RUNNING"},
        lifecycleState="STABLE",
        observedGeneration=1,
        reconciliationStatus={
            "state": "DEPLOYED",
            "lastReconciledSpec": reconciled({}, upgradeMode=deployed),
        },
    )
    shown["spec"]["job"]["upgradeMode"] = mode
    return shown


MODES = {
    "once": ("last-state", "last-state"),
    "before the first cycle": ("stateless", "last-state"),
    "always": ("stateless", "stateless"),
}
"""Modes of a resource while its older job runs: in its spec, and as it was deployed."""


@pytest.mark.answered_by("modes_of_older_jobs", not_for=["before the first cycle", "always"])
@pytest.mark.parametrize("case", MODES)
def test_r41_one_stateless_start_gives_up_nothing_of_a_job_of_another_mode(
    jobs, kubernetes, case
) -> None:
    """A change broke the state: the resource was made stateless, and a new job began from nothing.

    What the older job had is in no other checkpoint. The control: it never was to keep its state.
    """
    newest = jobs.checkpoint(jobs.old, 5000, 40 * DAY)
    kubernetes.operate(a_report(jobs.old, *MODES[case]))
    jobs.showed(jobs.old, 5000, 90 * DAY)
    kubernetes.operate(a_report(jobs.new, "stateless"))
    jobs.checkpoint(jobs.new, 3, HOUR)
    jobs.runs(3, 39 * DAY, None)
    jobs.looks()
    gone = went(jobs.expire("--keep-last", "1", "--ended-for", "0"))
    if case != "always":
        must_be_there(newest)
    assert gone == ({"chk-5000"} if case == "always" else set())


def deployed(
    job: Job, place: str, name: str = "orders", state: str = "RUNNING", *more: str
) -> dict[str, Any]:
    """Return an application's resource, which its operator deployed from some place."""
    shown = a_status(job.id, state, job={"upgradeSavepointPath": place})
    return a_deployment(name, dict.fromkeys((*more, "a"), job.id), status=shown)


BY_OPERATORS = {
    "a new id for each deployment": ("1.10", ("orders",)),
    "from HA metadata since": ("1.10", ("orders",)),
    "from HA metadata, and the operator lost sight of it": ("1.10", ("orders",)),
    "an operator before 1.10": ("1.9", ("orders",)),
    "the path of its end": ("1.10", ("orders", "FINISHED")),
    "two resources": ("1.10", ("twin",)),
    "an id that the resource chooses": ("1.10", ("orders", "RUNNING", "$internal.pipeline.job-id")),
    "another origin": ("1.10", ("orders",)),
}
"""Release of the operator; name of the resource, state of its job, and what its spec chooses."""
_LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
_GOES = ["a new id for each deployment"]


@pytest.mark.answered_by("ids_of_operators", not_for=_GOES)
@pytest.mark.parametrize("case", BY_OPERATORS)
def test_r41_the_id_of_an_operator_has_one_origin_only_where_both_say_so(
    jobs, kubernetes, case
) -> None:
    """Its cluster fixes the id of every application, which then may have been rolled back.

    From 1.10 whatever does not go on from HA metadata has a new id, and the status says from what
    it was deployed. The job failed over since. Where it goes on from HA metadata, a deployment
    before that, which no cycle saw, may have found none of its checkpoints there, and begun anew.
    """
    release, shown = BY_OPERATORS[case]
    older, other, origin = (
        jobs.checkpoint(jobs.old, n, 60 * DAY - n * HOUR) for n in (90, 95, 100)
    )
    place = str((other if case == "another origin" else origin).parent)
    jobs.checkpoint(jobs.new, 101, 2 * HOUR)
    for name in {"orders", shown[0]}:
        kubernetes.operate(deployed(jobs.new, place, name, *shown[1:]), release)
    jobs.runs(101, 39 * DAY, (100, origin.parent))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": place})
    jobs.looks()
    if case.startswith("from HA metadata"):
        place, state = _LAST_STATE, "RUNNING" if case.endswith("since") else "RECONCILING"
        kubernetes.operate(deployed(jobs.new, place, "orders", state), release)
    jobs.checkpoint(jobs.new, 102, HOUR)
    jobs.runs(102, 39 * DAY, jobs.from_new(101))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": place})
    gone = went(jobs.expire("--keep-last", "1"))
    if case not in _GOES:
        must_be_there(older)
    assert gone == ({"chk-90", "chk-95"} if case in _GOES else set())


@pytest.mark.answered_by("names_of_resources", not_for=["of one pair"])
@pytest.mark.parametrize("colours", ["of one pair", "of none"])
def test_r41_what_another_resource_continued_stays_but_for_the_other_colour_of_a_pair(
    jobs, kubernetes, colours
) -> None:
    """Blue is gone, and green, which began with a checkpoint of it, has run for 39 days.

    The operator makes a new resource for each colour. The control is a test by another resource.
    """
    older = jobs.checkpoint(jobs.old, 90, 61 * DAY)
    place = jobs.checkpoint(jobs.old, 100, 60 * DAY).parent
    jobs.checkpoint(jobs.new, 101, HOUR)
    for job, name, origin in ((jobs.old, "pair-blue", None), (jobs.new, "pair-green", place)):
        kubernetes.objects.setdefault("flinkdeployments", {}).clear()
        shown = deployed(job, str(origin or ""), name)
        if colours == "of one pair":
            owner = {"kind": "FlinkBlueGreenDeployment", "name": "pair", "uid": "uid-of-pair"}
            shown["metadata"]["ownerReferences"] = [owner]
        kubernetes.operate(shown)
        jobs.server.routes.clear()
        if origin is None:
            routes = flink(job, completed=100, started_ms=millis_ago(70 * DAY))
            jobs.server.routes.update(routes)
        else:
            jobs.runs(101, 39 * DAY, (100, origin))
        jobs.looks()
    gone = went(jobs.expire("--keep-last", "1", "--ended-for", "0"))
    if colours == "of none":
        must_be_there(older)
    assert gone == ({"chk-90"} if colours == "of one pair" else set())


@pytest.mark.answered_by("resources_of_one_name", not_for=["once"])
@pytest.mark.parametrize("made", ["once", "again"])
def test_r41_a_name_that_was_given_up_gives_up_nothing_of_the_next_resource_of_that_name(
    jobs, kubernetes, made
) -> None:
    """A policy is written once. The second one's job was stopped, and its resource deleted.

    The control: the resource that was given up ran both jobs.
    """
    jobs.checkpoint(jobs.old, 100, 90 * DAY)
    newest = jobs.checkpoint(jobs.new, 7, 41 * DAY)
    for job, uid in ((jobs.old, "first"), (jobs.new, "second" if made == "again" else "first")):
        report = a_report(job, "last-state", "last-state")
        report["metadata"]["uid"] = uid
        kubernetes.operate(report)
        jobs.showed(job, 7, 100 * DAY)
    kubernetes.objects["flinksessionjobs"].clear()
    jobs.server.routes.update(listing())
    jobs.extra += ["--ended-job", jobs.new.id]
    jobs.expire("--dead", "flink/report", "--ended-for", "0")
    if made == "again":
        must_be_there(newest)
    assert newest.exists() is (made == "again")


@pytest.mark.answered_by("ids_that_come_back", not_for=["no"])
@pytest.mark.parametrize("comes_back", ["by its form", "by a configuration", "no"])
def test_r41_an_id_that_was_given_up_gives_up_nothing_of_the_next_run_of_that_id(
    jobs, comes_back
) -> None:
    """A policy and a statement are written once, and its next run, stopped, has the only state.

    The control: an id that no other run ever has.
    """
    if comes_back == "by its form":
        jobs.new = Job("0" * 31 + "9", jobs.bed.root / ("0" * 31 + "9"))
    newest = jobs.checkpoint(jobs.new, 7, 41 * DAY)
    if comes_back == "by a configuration":
        jobs.runs(7, 60 * DAY, None)
        jobs.fixes_its_id(jobs.new)
        jobs.looks()
    jobs.server.routes.clear()
    jobs.server.routes.update(flink(jobs.new, completed=7, status="FAILED"))
    jobs.expire("--ended-job", jobs.new.id, "--dead", jobs.new.id, "--ended-for", "0")
    if comes_back != "no":
        must_be_there(newest)
    assert newest.exists() is (comes_back != "no")


@pytest.mark.answered_by("runs_of_one_folder")
def test_r41_a_folder_of_many_runs_has_not_the_one_origin_of_one_of_them(jobs, kubernetes) -> None:
    """A later run of that folder began from nothing, and the job that lives continued that one."""
    newest = jobs.checkpoint(jobs.old, 100, 90 * DAY)
    living, jobs.new = jobs.new, Job(distinct(2), jobs.bed.root / "orders")
    jobs.extra += ["--owner", jobs.new.id]
    jobs.checkpoint(jobs.new, 101, 80 * DAY)
    kubernetes.operate(deployed(jobs.new, str(newest.parent)))
    jobs.runs(101, 89 * DAY, (100, newest.parent))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": str(newest.parent)})
    jobs.looks()
    kubernetes.objects["flinkdeployments"].clear()
    shared = jobs.checkpoint(jobs.new, 160, 50 * DAY).parent
    jobs.extra += ["--ended-job", jobs.new.id]
    jobs.new = living
    jobs.checkpoint(jobs.new, 161, HOUR)
    jobs.runs(161, 49 * DAY, (160, shared))
    jobs.expire("--keep-last", "1", "--ended-for", "0")
    must_be_there(newest)


@pytest.mark.answered_by("ids_of_operators + other_beginnings")
@pytest.mark.parametrize(
    "again", ["from nothing", "by an older operator", "from nothing, and failed over"]
)
def test_r41_the_id_of_an_operator_has_not_one_origin_once_it_was_deployed_otherwise(
    jobs, kubernetes, again
) -> None:
    """Its first run was cancelled, upon which Flink deletes by default what it had stored.

    The one that lives did not continue it. The operator starts a job anew, under its id, where the
    HA metadata was deleted by hand and has no checkpoint since, or where its own defaults choose
    the id and the resource was stateless once: then its status still says the former place. One
    before 1.10 keeps each id, and does not say from what it deploys.
    """
    newest = jobs.checkpoint(jobs.old, 100, 60 * DAY)
    kubernetes.operate(deployed(jobs.new, str(newest.parent)))
    cancelled = jobs.checkpoint(jobs.new, 101, 58 * DAY)
    jobs.runs(101, 59 * DAY, (100, newest.parent))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": str(newest.parent)})
    jobs.looks()
    shutil.rmtree(cancelled.parent)
    for number in (8998, 8999):
        jobs.checkpoint(jobs.new, number, (9000 - number) * HOUR)
    kubernetes.add(
        a_config_map(f"orders-{jobs.new.id}-config-map", *retained(8998, 8999), "counter")
    )
    origin = jobs.from_new(8997)
    if again != "by an older operator":
        jobs.runs(8998, 39 * DAY, None if again == "from nothing" else origin)
        jobs.fixes_its_id(jobs.new)
        jobs.looks()
        word = ("acknowledge", jobs.bed.root, "checkpoint_not_found", cancelled.parent)
        run("world", *word, "--state", jobs.bed.state)
    release, place = ("1.9", "") if again == "by an older operator" else ("1.10", _LAST_STATE)
    kubernetes.operate(deployed(jobs.new, place), release)
    jobs.runs(8999, 39 * DAY, jobs.from_new(8998))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": place})
    gone = went(jobs.expire("--keep-last", "1"))
    must_be_there(newest)
    assert gone == set()


@pytest.mark.answered_by("ids_of_operators")
def test_r41_the_id_of_an_operator_has_not_one_origin_once_its_resource_is_gone(
    jobs, kubernetes
) -> None:
    """A person goes on without the operator, under the same id, from an older savepoint.

    It has failed over since, and the owner says, truly, that the resource is gone.
    """
    older = jobs.checkpoint(jobs.old, 90, 61 * DAY)
    place = jobs.checkpoint(jobs.old, 100, 60 * DAY).parent
    jobs.checkpoint(jobs.new, 101, 2 * HOUR)
    kubernetes.operate(deployed(jobs.new, str(place)))
    jobs.runs(101, 39 * DAY, (100, place))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": str(place)})
    jobs.looks()
    kubernetes.objects["flinkdeployments"].clear()
    jobs.checkpoint(jobs.new, 102, HOUR)
    jobs.runs(102, 39 * DAY, jobs.from_new(101))
    jobs.fixes_its_id(jobs.new, **{"execution.savepoint.path": "/elsewhere/savepoint-y"})
    jobs.looks()
    silent = ("cluster_silent", "kubernetes:flink")
    place = (jobs.bed.root, *silent, "--state", jobs.bed.state)
    assert run("world", "acknowledge", *place).code == 0
    jobs.expire("--keep-last", "1")
    must_be_there(older)
