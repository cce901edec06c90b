"""Real Flink, redeployed again and again: what a policy lets expire nothing living needs (R40-R44).

Each job goes on from a checkpoint or savepoint of the one before, by another mode and once with
another parallelism. The last one runs while checkpoints expire, come back, expire again, and their
files go. Then it loses its TaskManager and goes on, and every checkpoint that is left restores, its
contents compared; by another cluster, for what was restored here is held from then on (R43).
"""

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from integration.flink.test_collect import collected
from integration.harness.command import MARGINS, Collector, Planned, orphangc
from integration.harness.flinkbed.cluster import ClaimMode, Cluster
from integration.harness.flinkbed.fixtures import require_flink
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.orphan_workload import INTERVAL
from support import speed

pytestmark = [pytest.mark.flink, pytest.mark.nightly]

MODES: dict[str, tuple[ClaimMode, ...]] = {
    "1.20.5": ("NO_CLAIM", "CLAIM", "LEGACY", "NO_CLAIM"),
    "2.3.0": ("NO_CLAIM", "CLAIM", "CLAIM", "NO_CLAIM"),
}
"""How each redeploy restores; Flink 2 has no LEGACY."""
RESCALED, PARALLELISM = 3, 3
"""Redeploy that runs with another parallelism than the others, which have two. Not one that claims:
it writes its whole state anew, so nothing shows that it claimed, and the checkpoint that Flink
deletes then stops all until a person acknowledges it (``checkpoint_not_found``)."""
FORGETS = {"jobstore.expiration-time": str(round(speed.scaled(3)))}
"""Seconds after which Flink forgets a job that is over, an hour elsewhere: what it shows until then
as completed and not discarded blocks the deletion of files once it is gone."""
FROM_SAVEPOINT = 0
"""Redeploy that goes on from a savepoint; the others, from the newest checkpoint."""


@dataclass
class Chain:
    """Jobs of one storage root, of which the newest one runs."""

    cluster: Cluster  # Flink that runs them, one after the other
    work: Path  # folder of storage root, savepoints, state location and plans
    jobs: list[str] = field(default_factory=list)  # their ids, oldest first
    # their folders: one of the oldest job, and one of the newest
    savepoints: list[Path] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: count(1))

    @property
    def base(self) -> Path:
        return self.work / "ckpt"

    @property
    def options(self) -> tuple[str, ...]:
        """Return the evidence that every command is given."""
        ended = [option for job in self.jobs[:-1] for option in ("--ended-job", job)]
        extra = [option for each in self._folders for option in ("--extra-roots", str(each))]
        flink = "--flink-rest", self.cluster.rest_url
        return "--closed-world", *flink, "--quiet-period", "0", *ended, *extra

    @property
    def _folders(self) -> tuple[Path, ...]:
        return (self.work / "savepoints",) if self.savepoints else ()

    def redeploy(self, mode: ClaimMode | None) -> None:
        """End the newest job and start the next one from what it left, if there was one."""
        number, origin, parallelism = len(self.jobs) - 1, None, 2
        if mode is not None:
            origin = self._end(is_by_savepoint=number == FROM_SAVEPOINT)
            parallelism = PARALLELISM if number == RESCALED else 2
        self.jobs.append(
            self.cluster.submit(self.base, origin, mode, interval=INTERVAL, parallelism=parallelism)
        )
        self.cluster.wait_for_checkpoints(self.jobs[-1], 2)

    def _end(self, *, is_by_savepoint: bool) -> Path:
        """End the newest job; return what the next one is to go on from."""
        job = self.jobs[-1]
        if is_by_savepoint:
            folder = self.work / "savepoints"
            self.savepoints.append(self.cluster.savepoint(job, folder))
        self.cluster.cancel(job, between_checkpoints=True)
        return self.savepoints[-1] if is_by_savepoint else retained(self.base / job)[-1]

    def stored(self) -> set[Path]:
        """Return the folders of what the jobs that are over left, the savepoint included."""
        old = {each for each in self.savepoints[:1] if (each / "_metadata").exists()}
        return old | {each for job in self.jobs[:-1] for each in retained(self.base / job)}

    def files(self) -> set[Path]:
        folders = [*(self.base / job for job in self.jobs[:-1]), *self.savepoints[:1]]
        return {path for each in folders for path in each.rglob("*") if path.is_file()}

    def expired(self) -> Planned:
        out = self.work / f"expiry-{next(self._numbers)}"
        place = self.base, "--state", self.work / "state", "--out", out
        policy = "--keep-last", "1", "--ended-for", "0", "--savepoints", self.work / "savepoints"
        made = orphangc("expire", *place, *self.options, *MARGINS, *policy, "--output", "json")
        assert made.code == 0, str(made)
        swept = orphangc("sweep", out, "--delete")
        assert swept.code == 0, str(swept)
        return Planned(out, self.base, made)


def reasons(plan: Planned) -> list[tuple[str, str, str]]:
    lineages = plan.finished.document["expiry"]["lineages"]
    found = (each for lineage in lineages for each in lineage["checkpoints"])
    return [(each["uri"], each["reason"], each["why"]) for each in found]


def shown(cluster: Cluster) -> set[str]:
    return {each["id"] for each in cluster.rest.get("/jobs")["jobs"]}


def checked(cluster: Cluster, roots: set[Path]) -> None:
    assert roots
    for root in sorted(roots):
        cluster.restore_and_check(root)


def metadata(chain: Chain) -> dict[Path, tuple[int, int]]:
    """Return each ``_metadata``, with what tells it from another one stored in its place."""
    found = (path for path in chain.files() if path.name == "_metadata")
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def expired_and_back(chain: Chain, collector: Collector, judge: Cluster) -> set[Path]:
    """Expire, collect what nothing names, and put back; return what had expired, which restores."""
    before, files = chain.stored(), chain.files()
    first = chain.expired()
    gone = before - chain.stored()
    assert gone, reasons(first)
    assert before - gone, "the last job was restored from one of them, and has no HA metadata"
    assert {path for path in files - chain.files() if path.name != "_metadata"} == set()
    collected(collector, *chain.options, "--max-delete-share", "1")
    back = orphangc("undelete", first.folder)
    assert back.code == 0, str(back)
    assert chain.stored() == before
    checked(judge, gone)
    return gone


def expired_for_good(chain: Chain, collector: Collector, gone: set[Path]) -> int:
    """Expire the same ones again, and collect their files; return how many went."""
    before, files = chain.stored(), chain.files()
    chain.expired()
    released = chain.expired()
    assert chain.stored() == before - gone, reasons(released)
    still = metadata(chain)
    collected(collector, *chain.options, "--max-delete-share", "1")
    assert metadata(chain) == still
    return len([path for path in files - chain.files() if path.name != "_metadata"])


@pytest.mark.parametrize("version", MODES)
def test_of_a_chain_of_redeploys_nothing_expires_that_the_last_job_needs(
    version: str, tmp_path: Path
) -> None:
    require_flink(version)
    with (
        Cluster(version, tmp_path / "flink", slots=6, config=FORGETS) as cluster,
        Cluster(version, tmp_path / "judge") as judge,
    ):
        chain, collector = Chain(cluster, tmp_path), Collector(tmp_path / "ckpt", tmp_path)
        for mode in (None, *MODES[version]):
            chain.redeploy(mode)
            assert collector.plan(*chain.options).code == 0
        cluster.wait_for_checkpoints(chain.jobs[-1], 2)
        wait_until("the older jobs are forgotten", lambda: shown(cluster) == {chain.jobs[-1]})
        chain.savepoints.append(cluster.savepoint(chain.jobs[-1], tmp_path / "savepoints"))
        gone = expired_and_back(chain, collector, judge)
        assert chain.savepoints[0] in gone
        went = expired_for_good(chain, collector, gone)
        print(f"\n{version}: {len(gone)} checkpoints expired, {went} files went")
        assert went
        assert not [*chain.savepoints[0].iterdir()]

        job = chain.jobs[-1]
        cluster.kill_taskmanager()
        cluster.start_taskmanager()
        cluster.wait_for_checkpoints(job, 2)
        cluster._wait_on_job(job, "visits of all keys", lambda: cluster._visited_all(job))
        progress = cluster.progress(job)
        assert 0 < progress["restored"] == progress["verified"], progress
        cluster.cancel(job, between_checkpoints=True)
        checked(judge, {*retained(chain.base / job), *chain.stored(), chain.savepoints[1]})


@pytest.mark.parametrize("version", MODES)
def test_a_rollback_to_an_older_savepoint_leaves_the_newest_state(
    version: str, tmp_path: Path
) -> None:
    """What the older job wrote after the savepoint is a branch, and what came before it goes."""
    require_flink(version)
    with Cluster(version, tmp_path / "flink", slots=4, config=FORGETS) as cluster:
        chain, collector = Chain(cluster, tmp_path), Collector(tmp_path / "ckpt", tmp_path)
        chain.redeploy(None)
        (old,) = chain.jobs
        chain.savepoints.append(cluster.savepoint(old, tmp_path / "savepoints"))
        cluster.wait_for_checkpoints(old, 3)
        cluster.cancel(old, between_checkpoints=True)
        newer = set(retained(chain.base / old))
        assert newer
        chain.jobs.append(
            cluster.submit(chain.base, chain.savepoints[0], "NO_CLAIM", interval=INTERVAL)
        )
        cluster.wait_for_checkpoints(chain.jobs[-1], 2)
        assert collector.plan(*chain.options).code == 0
        wait_until("the older job is forgotten", lambda: shown(cluster) == {chain.jobs[-1]})
        plan = chain.expired()
        said = {uri: reason for uri, reason, _ in reasons(plan)}
        assert {said[str(each)] for each in newer} == {"no_successor"}, reasons(plan)
        assert set(retained(chain.base / old)) == newer
