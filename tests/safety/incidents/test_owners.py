"""Losses by two owners of one place."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, ENDED, Bed, Job, contents, flink, now, run, write
from cli.stories import Story, make_story
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.collect.state.store import RootState
from orphangc.core.documents.plan import Plan
from safety.incidents.test_areas import EVERYTHING, stored
from support.rest_server import Reply, RestServer, configured


def without_owner(story: Story) -> Path:
    """Rename the directory to what is no job id, as ``create-subdir=false`` makes it."""
    story.job.folder.rename(story.bed.root / "orders")
    return story.bed.root / "orders"


@pytest.mark.answered_by("guard:unknown_owner")
def test_iceberg_17213_a_directory_without_a_known_owner_is_refused(story) -> None:
    """Two tables on one location: each saw the other's files as orphans (also #4265)."""
    without_owner(story)
    plan = story.bed.plan()
    (job,) = plan.document["jobs"]
    assert ((job["refused"] or {}).get("guard"), plan.ran.code) == ("unknown_owner", 4)
    assert not plan.removals()


@pytest.mark.answered_by("guard:unknown_owner")
def test_iceberg_17213_the_operator_may_name_the_single_owner(story) -> None:
    """Of one directory; of two nobody knows whose it is."""
    unowned = without_owner(story)
    owner = ("--owner", story.job.id)
    plan = story.bed.plan(*owner)
    assert plan.document["jobs"][0]["job_id"] == story.job.id
    assert plan.removals() == {f"orders/shared/{path.name}" for path in story.orphans}
    shutil.copytree(unowned, story.bed.root / "payments")
    plan = story.bed.plan(*owner)
    refusals = [job["refused"] or {} for job in plan.document["jobs"]]
    assert {refusal.get("guard") for refusal in refusals} == {"unknown_owner"}


@pytest.mark.answered_by("guard:unknown_owner")
def test_iceberg_17213_areas_of_two_jobs_in_one_directory_are_refused(bed) -> None:
    """``chk-N`` and ``shared/`` directly in the root: any number of jobs may write there."""
    job = bed.job()
    job.shared()
    job.checkpoint(7)
    for name in ("shared", "chk-7"):
        (job.folder / name).rename(bed.root / name)
    job.folder.rmdir()
    plan = bed.plan()
    assert (plan.ran.code, plan.removals()) == (4, set())


@pytest.mark.answered_by("guard:two_owners")
def test_pinot_16107_a_job_that_two_clusters_run_is_refused(undeclared) -> None:
    """One path, two owners: the one with 7 days deletes what the one with 90 needs."""
    routes = flink(undeclared.job, completed=8)
    with RestServer(dict(routes)) as one, RestServer(dict(routes)) as two:
        plan = undeclared.bed.plan("--flink-rest", one.url, "--flink-rest", two.url)
    assert plan.refusal(undeclared.job) == "two_owners"
    assert not plan.removals()


@pytest.mark.answered_by("dependents")
def test_nessie_12765_a_job_of_the_same_id_elsewhere_that_names_files_here_stops_it(
    undeclared,
) -> None:
    """A shared write path (also #10817): the other directory's job may be alive, unseen."""
    elsewhere = undeclared.bed.folder / "elsewhere"
    undeclared.bed.job(below=elsewhere).checkpoint(9, *undeclared.live)
    with RestServer(flink(undeclared.job, completed=8)) as server:
        asked = ("--closed-world", "--flink-rest", server.url)
        assert undeclared.bed.plan(*asked).blocks(undeclared.job) == []
        plan = undeclared.bed.plan(*asked, "--extra-roots", elsewhere)
    assert plan.blocks(undeclared.job) == ["dependent_job"]


def without_a_checkpoint(job: Job) -> dict[str, Reply]:
    """Return a cluster whose job has not completed its first checkpoint yet."""
    pending = flink(job, completed=None, changelog=True, savepoint="hidden")
    return pending | configured({"execution.checkpointing.dir": f"file:{job.folder.parent}"})


@pytest.mark.parametrize("second", ["whole", "pending", "elsewhere", None])
def test_a_change_log_that_two_jobs_of_one_id_write_is_no_single_ones(tmp_path, second) -> None:
    """Staging and production: one cluster id, hence one job id, and one folder for all logs.

    What checkpoints of the one name there says nothing of what the next one of the other names.
    """
    bed = Bed(tmp_path)
    one, other = (Job("0" * 32, bed.root / name / ("0" * 32)) for name in ("one", "other"))
    log = bed.root / "logs" / one.id / "dstl"
    triggered_ms = int((now() - 10 * DAY).timestamp() * 1000)
    one.checkpoint(7, stored(log, age=12), one.shared(), age=9 * DAY)
    clusters = [flink(one, completed=7, changelog=True, triggered_ms=triggered_ms)]
    if second == "whole":
        other.checkpoint(3, other.shared(), age=20 * DAY)
        clusters.append(flink(other, completed=3, changelog=True))
    elif second is not None:
        clusters.append(without_a_checkpoint(other))
    if second == "pending":
        stored(other.folder / "chk-1", age=16)
    waiting = stored(log, age=15)
    with RestServer(clusters[0]) as first, RestServer(clusters[-1]) as last:
        urls = {first.url, last.url} if second else {first.url}
        asked = [each for url in urls for each in ("--flink-rest", url)]
        options = ("--closed-world", *asked, *AT_ONCE, *EVERYTHING)
        bed.sweep(bed.plan(*options), "--delete")
        one.checkpoint(8, stored(log, age=0), one.shared(), age=0 * DAY)
        first.routes |= flink(one, completed=8, changelog=True, triggered_ms=triggered_ms)
        bed.sweep(bed.plan(*options), "--delete")
    assert waiting.exists() is (second is not None)


@pytest.mark.answered_by("other_jobs_roots")
def test_iceberg_12278_a_root_inside_another_root_collects_its_own_job_alone(story) -> None:
    """Nested roots: the inner one's checkpoints count for the outer one too."""
    inner = Bed(story.bed.folder, story.bed.options)
    inner.root, inner.plans = story.bed.root / "team", 10
    other = make_story(inner, 2)
    other.job.checkpoint(9, *other.live, story.orphans[0])
    outer = story.bed.plan()
    assert outer.verdict(story.orphans[0]) == ("keep", "referenced")
    plan = inner.plan()
    assert {row["job_id"] for row in plan.rows.values()} == {other.job.id}


def test_ducklake_813_its_own_files_never_lie_in_the_place_that_it_collects(story) -> None:
    """The tool deleted its own metadata file, placed in the data path (also #839)."""
    for state in (story.bed.root / "state", story.bed.root, story.bed.folder):
        ran = run("plan", story.bed.root, "--state", state, *ENDED)
        assert (ran.code, len(ran.complaints)) == (2, 1)
    before = set(contents(story.bed.root))
    story.bed.cycle()
    story.bed.cycle()
    assert set(contents(story.bed.root)) < before


@pytest.mark.parametrize("where", ["the same storage root", "an extra root"])
@pytest.mark.answered_by("other_jobs_roots")
def test_flink_26985_a_legacy_restore_keeps_the_old_jobs_files(story, where) -> None:
    """The new job needs the old one's directory (also FLINK-34189, FLIP-416)."""
    base = None if where == "the same storage root" else story.bed.folder / "new"
    successor = story.bed.job(2, below=base)
    own = [successor.shared() for _ in range(3)]
    successor.checkpoint(1, story.orphans[0], *own, age=10 * DAY)
    options = () if base is None else ("--extra-roots", base)
    plan = story.bed.plan(*options)
    assert plan.verdict(story.orphans[0]) == ("keep", "referenced")
    assert plan.verdict(story.orphans[1]) == ("tombstone", "orphan")
    for number in (7, 8):
        shutil.rmtree(story.job.folder / f"chk-{number}")
    plan = story.bed.plan(*options)
    assert plan.verdict(story.orphans[0]) == ("keep", "referenced")


@pytest.mark.answered_by("dependents")
def test_flink_34189_files_of_the_old_job_wait_until_the_new_one_is_proven(story) -> None:
    """A claiming job that may run and is not seen blocks the directories that it feeds on."""
    successor = story.bed.job(2)
    successor.checkpoint(1, story.live[0], successor.shared(), age=10 * DAY)
    bed = Bed(story.bed.folder, ("--closed-world", "--ended-job", story.job.id, *AT_ONCE))
    bed.plans = 10
    plan = bed.plan()
    assert plan.blocks(story.job) == ["dependent_job"]
    with RestServer(flink(successor, completed=1)) as server:
        plan = bed.plan("--flink-rest", server.url)
        assert plan.blocks(story.job) == []
        server.routes.update(flink(successor, completed=1, max_concurrent=2))
        plan = bed.plan("--flink-rest", server.url)
    assert plan.refusal(story.job) == "dependent_job"


@pytest.mark.answered_by("reported_roots")
def test_flink_26985_what_a_running_job_was_restored_from_is_a_root(story) -> None:
    """Although it lies outside every base: Flink's REST API names it (R4)."""
    old = Bed(story.bed.folder).job(3, below=story.bed.folder / "old")
    checkpoint = old.checkpoint(5, story.orphans[0]).parent
    successor = story.bed.job(2)
    successor.checkpoint(6, successor.shared(), age=10 * DAY)
    bed = Bed(story.bed.folder, ("--closed-world", "--ended-job", story.job.id))
    bed.plans = 10
    assert bed.plan().verdict(story.orphans[0]) == ("tombstone", "orphan")
    with RestServer(flink(successor, completed=6, restored=(5, checkpoint))) as server:
        plan = bed.plan("--flink-rest", server.url)
    assert plan.verdict(story.orphans[0]) == ("keep", "referenced")
    assert plan.verdict(story.orphans[1]) == ("tombstone", "orphan")


@pytest.mark.answered_by("lock")
def test_thanos_1901_a_second_collector_waits_for_the_first(story) -> None:
    """Shard B removed shard A's upload in progress (also rustic: prune beside a writer)."""
    story.bed.cycle()
    plan = story.bed.plan()
    codes = []
    inner = LocalStorage.delete

    def deleted(self, objects):
        patch.undo()
        codes.append(run("sweep", plan.path, "--delete").code)
        return inner(self, objects)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStorage, "delete", deleted)
        assert story.bed.sweep(plan, "--delete").code == 0
    assert codes == [11]


@pytest.mark.parametrize("part", ["evidence", "batch-000000"])
@pytest.mark.answered_by("lock_check")
def test_restic_2452_a_run_whose_lock_was_taken_over_deletes_nothing_more(
    story, monkeypatch, part
) -> None:
    """The refresh was broken, and ``unlock`` removed a living lock (also #2473, #2391).

    Before the first batch, and in it, where a process may sleep as well.
    """
    story.bed.cycle()
    plan = story.bed.plan()
    (state,) = story.bed.state.iterdir()
    holder = {"token": "other", "host": "elsewhere", "pid": 1, "started": "x"}
    write_lines = RootState.write_lines

    def take_over(self, run_id, name, lines) -> None:
        write_lines(self, run_id, name, lines)
        if name == part:
            write(state / "lock" / "999999999999.json", json.dumps(holder).encode(), timedelta(0))

    monkeypatch.setattr(RootState, "write_lines", take_over)
    swept = story.bed.sweep(plan, "--delete")
    assert swept.code != 0
    assert all(path.exists() for path in story.orphans)
    assert json.loads((state / "lock" / "999999999999.json").read_text()) == holder


@pytest.mark.answered_by("plan_identity + siblings + condition:state_lost")
def test_trino_29249_the_place_of_a_sweep_is_the_plans_and_no_argument(story) -> None:
    """A caller-supplied location is the most dangerous input (also Gravitino#11700)."""
    story.bed.cycle()
    plan = story.bed.plan()
    elsewhere = story.bed.folder / "elsewhere"
    shutil.copytree(story.bed.root, elsewhere)
    settings = plan.document["settings"] | {"root": str(elsewhere)}
    forged = Plan.model_validate(plan.document | {"settings": settings}).signed()
    (plan.path / "plan.json").write_text(forged.model_dump_json())
    assert story.bed.sweep(plan, "--delete").code == 4
    assert all(path.exists() for path in story.orphans)
    assert len(list(elsewhere.rglob("*-*-*-*-*"))) == 5


@pytest.mark.answered_by("identity")
def test_a_plan_is_no_order_for_a_storage_that_was_exchanged(story) -> None:
    """The same names in another folder are other objects."""
    story.bed.cycle()
    plan = story.bed.plan()
    away = story.bed.folder / "away"
    shutil.move(story.bed.root, away)
    shutil.copytree(away, story.bed.root)
    assert story.bed.sweep(plan, "--delete").code == 0
    assert all(path.exists() for path in story.orphans)
