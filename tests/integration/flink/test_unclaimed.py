"""Before a deployment we say what the new version leaves unread; Flink restores without it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from flinkstate.operator_ids import operator_id
from integration.harness.command import Finished, orphangc
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.distribution import JOB_SOURCE
from integration.harness.flinkbed.settings import ON_REQUEST, Workload
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until

pytestmark = pytest.mark.flink

DRAWERS = JOB_SOURCE.with_name("DrawersJob.java")
KEYS = 20
PARALLELISM = 2
ELEMENTS = 5 * PARALLELISM  # of each operator state
AS_WRITTEN = {"labels": KEYS, "fresh": 0, "kept": ELEMENTS, "wrong": 0}
ONCE = {"restart-strategy.type": "none"}
DROPPED = {
    ("operator", "attic", None),
    ("operator_state", "chest", "dropped"),
    ("keyed_state", "chest", "forgotten"),
}
UIDS = {operator_id(uid): uid for uid in ("numbers", "numbers-throttled", "attic", "chest")}
"""By the ids that Flink shows: before Flink 2.0 a checkpoint has nothing else."""


@dataclass(frozen=True, slots=True)
class Left:
    """What version 1 of the job left behind, and what it declared."""

    cluster: Cluster  # where it ran
    work: Path  # place for files
    savepoint: Path  # taken before it was cancelled
    checkpoint: Path  # its last

    def declarations(self, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
        """Return a file that declares what version 1 did, but for a change; operators by uid."""
        whole = self.work / "version-1.yaml"
        if not whole.exists():
            done = orphangc("declare", self.savepoint, "--out", whole)
            assert done.code == 0, str(done)
        content = yaml.safe_load(whole.read_text())
        operators = {}
        for each in content["operators"]:
            id_ = each.pop("id", None) or operator_id(each["uid"])
            operators[UIDS[id_]] = each | {"uid": UIDS[id_]}
        change(operators)
        path = self.work / f"{name}.yaml"
        path.write_text(yaml.safe_dump(content | {"operators": list(operators.values())}))
        return path

    def version_2(self) -> Path:
        """Return what version 2 declares: no attic, and of the chest one state of each kind."""

        def change(operators: dict[str, Any]) -> None:
            del operators["attic"]
            for field, kept in (("keyed_states", "labels"), ("operator_states", "kept")):
                states = operators["chest"][field]
                operators["chest"][field] = [each for each in states if each["id"] == kept]

        return self.declarations("version-2", change)

    def pruned(self, kind: str) -> Path:
        """Return the savepoint or checkpoint without what version 2 drops, which is named."""
        snapshot, pruned = getattr(self, kind), self.work / f"pruned-{kind}"
        if not pruned.exists():
            asked = "--declarations", self.version_2(), "--prune-to", pruned
            told = orphangc("unclaimed", snapshot, *asked)
            assert told.code == 5, str(told)
            assert named(told) == DROPPED
        return pruned

    def run(self, version: int, restore: Path) -> tuple[str, Path]:
        """Start a version from there; return the job, and the folder of its checkpoints."""
        base = self.work / f"version-{version}-{restore.name}"
        arguments = ["--version", str(version)]
        job = self.cluster.submit(
            base, restore, "NO_CLAIM", interval=ON_REQUEST, config=ONCE, arguments=arguments
        )
        return job, base / job

    def read_back(self, job: str) -> Mapping[str, int]:
        return wait_until("visits of all keys", lambda: self._progress(job))

    def _progress(self, job: str) -> Mapping[str, int] | None:
        found = self.cluster.progress(job)
        return found if found.get("labels", 0) + found.get("fresh", 0) >= KEYS else None

    def next_checkpoint(self, job: str, folder: Path) -> Path:
        self.cluster.wait_for_checkpoints(job, 1)
        self.cluster.cancel(job, between_checkpoints=True)
        return retained(folder)[-1]


@pytest.fixture(scope="module")
def left(started_flink_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """What one run of version 1 left, for all tests."""
    cluster = started_flink_cluster.running(DRAWERS, workload=Workload(keys=KEYS))
    work = tmp_path_factory.mktemp("drawers")
    arguments = ["--version", "1"]
    job = cluster.submit(work / "version-1", interval=ON_REQUEST, arguments=arguments)
    wait_until("labels of all keys", lambda: cluster.progress(job).get("fresh") == KEYS)
    cluster.wait_for_checkpoints(job, 2)
    savepoint = cluster.savepoint(job, work / "savepoints")
    cluster.cancel(job, between_checkpoints=True)
    return Left(cluster, work, savepoint, retained(work / "version-1" / job)[-1])


def named(done: Finished) -> set[tuple[str, str, str | None]]:
    return {
        (each["kind"], UIDS[each["operator"]["id"]], each["state"])
        for each in done.document["unclaimed"]
    }


@pytest.mark.parametrize("kind", ["savepoint", "checkpoint"])
def test_what_the_new_version_drops_is_named_and_flink_restores_without_it(
    left: Left, flink_cluster: Cluster, kind: str
) -> None:
    """Refused by Flink as it is; restored when pruned, and what stays has its values."""
    pruned = left.pruned(kind)
    with pytest.raises(FlinkbedError, match="annot map checkpoint/savepoint state"):
        left.run(2, getattr(left, kind))
    job, folder = left.run(2, pruned)
    found = left.read_back(job)
    assert {name: found[name] for name in AS_WRITTEN} == AS_WRITTEN

    later = left.next_checkpoint(job, folder)
    again = orphangc("unclaimed", later, "--declarations", left.version_2())
    assert named(again) == DROPPED - {("operator", "attic", None)}
    (name_only,) = [each for each in again.document["unclaimed"] if each["state"] == "dropped"]
    assert name_only["bytes"] == 0, "Flink registers the name that the file's header lists"
    assert flink_cluster.rest.unfinished_jobs() == []


def test_a_job_that_still_registers_a_pruned_state_finds_it_empty(left: Left) -> None:
    """It is gone, and not only unread; of the keyed states of a canonical savepoint, too."""
    job, _ = left.run(1, left.pruned("savepoint"))
    found = left.read_back(job)
    expected = AS_WRITTEN | {"dropped": 0, "boxes": 0, "remembered": 0}
    assert {name: found[name] for name in expected} == expected
    left.cluster.cancel(job)
    job, _ = left.run(1, left.savepoint)
    assert left.read_back(job)["remembered"] == KEYS, "it was there"
    left.cluster.cancel(job)


def test_a_source_under_an_old_uid_starts_empty_and_only_we_say_so(left: Left) -> None:
    """Union list state is left, and Flink restores without a word."""

    def change(operators: dict[str, Any]) -> None:
        source = [{"id": "SourceReaderState", "redistribution": "split"}]
        operators["attic"] |= {"operator_states": source, "coordinator": True}

    declared = left.declarations("version-3", change)
    before = orphangc("unclaimed", left.savepoint, "--declarations", declared)
    assert before.code == 5, str(before)
    assert "DANGER" in before.err
    assert [each["has_happened"] for each in before.document["replaced"]] == [False]

    job, folder = left.run(3, left.savepoint)
    later = left.next_checkpoint(job, folder)
    after = orphangc("unclaimed", later, "--declarations", declared)
    assert after.code == 5, str(after)
    assert [each["has_happened"] for each in after.document["replaced"]] == [True]
    assert ("operator_state", "attic", "boxes") in named(after)
