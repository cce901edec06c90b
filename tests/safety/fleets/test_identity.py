"""Fleets in which a job id alone is no job collect what truth says (issue 13: U1, U3, U4)."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from cli.helpers import DAY, Bed, Job, flink, now
from safety.fleets.test_leftovers import Fleet, fleet, own_surroundings
from support.kubernetes_server import a_config_map, retained
from support.rest_server import Reply, RestServer, as_json, configured

__all__ = ["fleet", "own_surroundings"]

FIXED = 0
"""The job id of every application cluster of Flink 1.11 to 1.15 that has HA: zeros."""
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
ALL = ("--max-delete-share", "1")


def fill(fleet: Fleet, job: Job, first: int = 7) -> None:
    """Write two checkpoints of a running job, their state, and twenty orphans."""
    (job.folder / "taskowned").mkdir(parents=True)
    state = [job.shared(age=age * DAY) for age in (40, 30)]
    job.checkpoint(first, state[0], age=HOUR)
    job.checkpoint(first + 1, *state, age=MINUTE)
    fleet.live += [*state, job.shared(age=MINUTE / 2)]
    fleet.orphans += [job.shared(age=(10 + number) * DAY) for number in range(20)]


def routes(job: Job, newest: int, cluster: str = "", **changes: object) -> dict[str, Reply]:
    """Return what the cluster of a filled job answers: it was started a day ago."""
    named = {"kubernetes.cluster-id": cluster, "kubernetes.namespace": "flink"} if cluster else {}
    said = flink(job, completed=newest, started_ms=a_day_ago(), **changes) | configured(named)
    statistics = f"/jobs/{job.id}/checkpoints"
    document = as_json_value(said[statistics])
    older = {
        **document["history"][0],
        "id": newest - 1,
        "external_path": f"file:{job.folder}/chk-{newest - 1}",
    }
    said[statistics] = as_json({**document, "history": [*document["history"], older]})
    return said


def as_json_value(reply: Reply) -> dict:
    """Return the document of a saved reply."""
    assert isinstance(reply, tuple)
    return json.loads(reply[1])


def a_day_ago() -> int:
    return round((now() - DAY).timestamp() * 1000)


@contextmanager
def answering(*clusters: dict[str, Reply]) -> Iterator[list[str]]:
    with ExitStack() as stack:
        servers = [stack.enter_context(RestServer(each)) for each in clusters]
        yield [part for server in servers for part in ("--flink-rest", server.url)]


def collect(fleet: Fleet, jobs: Sequence[tuple[Job, int]], *options: object) -> None:
    """Lay tombstones, complete the newest checkpoints once more, and delete."""
    fleet.bed.cycle(*options, *ALL)
    for job, newest in jobs:
        (job.folder / f"chk-{newest}" / "_metadata").touch()
    _, swept = fleet.bed.cycle(*options, *ALL)
    assert swept.code == 0, swept.err


def six(fleet: Fleet) -> list[tuple[Job, int]]:
    """Return six application clusters' directories of one job id below a common root."""
    jobs = []
    for number in range(6):
        job = fleet.bed.job(FIXED, below=fleet.bed.root / f"cluster-{number}")
        fill(fleet, job, first=7 + number)
        jobs.append((job, 8 + number))
    return jobs


@pytest.mark.parametrize("has_ha", [False, True], ids=["without HA", "with HA"])
def test_u1_six_clusters_of_one_job_id_below_a_common_root(fleet, kubernetes, has_ha) -> None:
    """Before, "6 directories of this job id hold checkpoints" refused them all."""
    jobs = six(fleet)
    asked: list[object] = []
    if has_ha:
        for number, (job, newest) in enumerate(jobs):
            cluster = f"app-{number}"
            name = f"{cluster}-{job.id}-config-map"
            kubernetes.add(
                a_config_map(name, *retained(newest - 1, newest), "counter", cluster=cluster)
            )
        asked = ["--kubernetes-ha", "flink"]
    clusters = [routes(job, newest, f"app-{number}") for number, (job, newest) in enumerate(jobs)]
    with answering(*clusters) as rest:
        collect(fleet, jobs, *rest, *asked)
        plan = fleet.bed.plan(*rest, *asked)
    assert {job["state"] for job in plan.document["jobs"]} == {"running"}
    assert len(plan.document["jobs"]) == len(jobs)
    fleet.check()


def test_u1_ha_metadata_of_other_clusters_holds_no_ended_job_of_the_id(fleet, kubernetes) -> None:
    """Each of five clusters says by its id which metadata is its own; the sixth is over."""
    jobs = six(fleet)
    for number, (job, newest) in enumerate(jobs[1:], start=1):
        name, cluster = f"app-{number}-{job.id}-config-map", f"app-{number}"
        kubernetes.add(
            a_config_map(name, *retained(newest - 1, newest), "counter", cluster=cluster)
        )
    clusters = [
        routes(job, newest, f"app-{number}", status="RUNNING" if number else "CANCELED")
        for number, (job, newest) in enumerate(jobs)
    ]
    with answering(*clusters) as rest:
        plan = fleet.bed.plan(*rest, "--kubernetes-ha", "flink", *ALL)
    found = [[each["condition"] for each in job["blocked"]] for job in plan.document["jobs"]]
    assert not any("held_by_ha" in each for each in found), found


def test_u1_a_retained_checkpoint_of_the_own_cluster_is_missed(fleet, kubernetes) -> None:
    """Another cluster's checkpoint of that id stands in another directory, and replaces none.

    It refuses both: a recovery would open files of any directory (R39).
    """
    jobs = [(fleet.bed.job(FIXED, below=fleet.bed.root / name), 8) for name in ("one", "other")]
    for number, (job, newest) in enumerate(jobs):
        fill(fleet, job)
        name, cluster = f"app-{number}-{job.id}-config-map", f"app-{number}"
        kubernetes.add(a_config_map(name, *retained(7, newest), "counter", cluster=cluster))
    (jobs[0][0].folder / "chk-7").rename(fleet.bed.folder / "hidden")
    clusters = [routes(job, newest, f"app-{number}") for number, (job, newest) in enumerate(jobs)]
    with answering(*clusters) as rest:
        plan = fleet.bed.plan(*rest, "--kubernetes-ha", "flink", *ALL)
    guards = [job["refused"] and job["refused"]["guard"] for job in plan.document["jobs"]]
    assert guards == ["retained_root_missing"] * 2


def test_u1_ha_metadata_that_nothing_can_place_refuses_nobody(fleet, kubernetes) -> None:
    """Six holders and six directories: each may hold one; what each retains stands somewhere."""
    jobs = six(fleet)
    for number, (job, newest) in enumerate(jobs):
        name = f"app-{number}-{job.id}-config-map"
        kubernetes.add(a_config_map(name, *retained(newest), "counter", cluster=f"app-{number}"))
    with answering(*(routes(job, newest) for job, newest in jobs)) as rest:
        collect(fleet, jobs, *rest, "--kubernetes-ha", "flink")
    fleet.check()


def test_u1_three_clusters_of_one_job_id_with_a_storage_root_each(fleet) -> None:
    """Every plan asks all of the clusters, and sees one directory and the others' as extra."""
    roots = [fleet.bed.folder / f"root-{number}" for number in range(3)]
    jobs = []
    for number, root in enumerate(roots):
        job = fleet.bed.job(FIXED, below=root)
        fill(fleet, job, first=7 + number)
        jobs.append((job, 8 + number))
    with answering(*(routes(job, newest) for job, newest in jobs)) as rest:
        for number, root in enumerate(roots):
            bed = Bed(fleet.bed.folder / f"of-{number}", fleet.bed.options)
            bed.root = root
            bed.folder.mkdir()
            others = [part for each in roots if each != root for part in ("--extra-roots", each)]
            mine = Fleet(bed)
            collect(mine, jobs, *rest, *others)
    fleet.check()


def test_u3_a_fixed_id_that_was_started_without_state_beside_an_old_checkpoint(fleet) -> None:
    """Ids begin at 1 again; before, ``chk-4711`` was taken for the newest checkpoint."""
    job = fleet.bed.job(FIXED)
    fill(fleet, job, first=11)
    old = [job.shared(age=300 * DAY) for _ in range(3)]
    job.checkpoint(4711, *old, age=2 * DAY)
    fleet.live += old
    with answering(routes(job, 12)) as rest:
        plan = fleet.bed.plan(*rest, *ALL)
        assert plan.refusal(job) is None
        assert plan.blocks(job) == []
        collect(fleet, [(job, 12)], *rest)
    fleet.check()


def nothing_completed(job: Job, status: str, restored: tuple[int, Path] | None = None) -> dict:
    return flink(job, completed=None, status=status, started_ms=a_day_ago(), restored=restored)


def redeployed(fleet: Fleet) -> tuple[Job, Job]:
    """Return a healthy job, and one that was redeployed: it has written, and completed nothing."""
    healthy, young = fleet.bed.job(1), fleet.bed.job(2)
    fill(fleet, healthy)
    fleet.live.append(young.shared(age=DAY))
    return healthy, young


def test_u4_a_job_that_rest_and_ha_show_over_blocks_nobody(fleet, kubernetes) -> None:
    """It failed before its first checkpoint; before, all jobs waited for seven days."""
    healthy, young = redeployed(fleet)
    clusters = (routes(healthy, 8), nothing_completed(young, "FAILED"))
    with answering(*clusters) as rest:
        alone = fleet.bed.plan(*rest, *ALL)
        assert alone.blocks(healthy) == ["dependent_job"], "nothing shows that it is not elsewhere"
        kubernetes.add(
            a_config_map(f"app-{healthy.id}-config-map", *retained(7, 8), "counter", cluster="app")
        )
        collect(fleet, [(healthy, 8)], *rest, "--kubernetes-ha", "flink")
    fleet.check()


def test_u4_a_suspended_job_whose_origin_is_known_blocks_only_what_it_needs(
    fleet, kubernetes
) -> None:
    """REST shows what it was restored from, and HA metadata that it is suspended."""
    healthy, young = redeployed(fleet)
    source = fleet.bed.job(3)
    kept = source.shared(age=90 * DAY)
    origin = source.checkpoint(5, kept, age=60 * DAY).parent
    fleet.live.append(kept)
    waiting = source.shared(age=50 * DAY)
    fleet.live.append(waiting)
    kubernetes.add(a_config_map(f"young-{young.id}-config-map", "counter", cluster="young"))
    clusters = (routes(healthy, 8), nothing_completed(young, "CANCELED", (5, origin)))
    options = ("--kubernetes-ha", "flink", "--ended-job", source.id)
    with answering(*clusters) as rest:
        plan = fleet.bed.plan(*rest, *options, *ALL)
        assert plan.blocks(healthy) == []
        assert plan.blocks(source) == ["dependent_job"]
        fleet.bed.cycle(*rest, *options, *ALL)
        (healthy.folder / "chk-8" / "_metadata").touch()
        fleet.bed.cycle(*rest, *options, *ALL)
    fleet.check()
