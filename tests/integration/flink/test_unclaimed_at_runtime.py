"""Unmodified Flink with the plugin: what a restore leaves behind is reported, refused or dropped.

Version 6 of the job drops a keyed state, an operator state and a coordinator, and has another
operator under an old uid; Flink alone restores it without a word.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pytest
import yaml

from cli.helpers import run
from flinkstate.commands.declarations_file import read_declarations
from flinkstate.operator_ids import operator_id
from integration.flink.test_unclaimed import AS_WRITTEN, DRAWERS, KEYS, ONCE
from integration.harness.flinkbed.cluster import ClaimMode, Cluster
from integration.harness.flinkbed.fixtures import NEWEST, VERSIONS, require_flink
from integration.harness.flinkbed.plugin import UNCLAIMED, plugin_jar
from integration.harness.flinkbed.settings import ON_REQUEST, Workload, as_numbers
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until

pytestmark = pytest.mark.flink

BACKENDS = ("rocksdb", "hashmap")
LEFT = {
    ("chest", "keyed state", "forgotten"),
    ("chest", "operator state", "dropped"),
    ("attic", "operator state", "boxes"),
    ("numbers", "operator state", "SourceReaderState"),
}
COORDINATOR = ("numbers", "coordinator state", "")
UIDS = {operator_id(uid): uid for uid in ("numbers", "attic", "chest")}
CHEST = operator_id("chest")


@dataclass(frozen=True, slots=True)
class Bench:
    """Clusters of one version, and what version 1 of the job left for each backend."""

    version: str
    work: Path
    left: dict[str, Path]
    plain: Cluster

    def cluster(self, policy: str, more: Mapping[str, str] = MappingProxyType({})) -> Cluster:
        """Return a cluster with the plugin; the JobManager has the policy from its settings."""
        jar = plugin_jar(VERSIONS[0])
        config = {
            "orphangc.unclaimed-state.policy": policy,
            "orphangc.registry.dir": f"file://{self.work}/registry-{policy}",
            "orphangc.registry.interval": "1 s",
            "orphangc.registry.min-pause": "0 s",
            **more,
        }
        return Cluster(
            self.version,
            self.work / f"flink-{policy}",
            config=config,
            libraries=[jar],
            jobmanager_options=[f"-javaagent:{jar}"],
        ).running(DRAWERS, workload=Workload(keys=KEYS))

    def written(self, policy: str, job: str) -> Path:
        return self.work / f"registry-{policy}" / job

    def reports(self, policy: str, job: str) -> list[dict[str, Any]]:
        """Return what the tasks and the JobManager wrote beside the registry snapshots."""
        folder = self.written(policy, job) / "unclaimed"
        return [json.loads(each.read_text()) for each in sorted(folder.glob("*.json"))]


def watched(backend: str, **more: str) -> dict[str, str]:
    settings = {"state.backend.type": UNCLAIMED, "orphangc.state.backend.type": backend}
    return ONCE | settings | {f"orphangc.{key}": value for key, value in more.items()}


def restart(
    cluster: Cluster,
    folder: Path,
    left: Path,
    *,
    config: Mapping[str, str],
    arguments: Sequence[str] = ("--version", "6", "--lazy", "false"),
    mode: ClaimMode = "NO_CLAIM",
) -> str:
    """Start version 6, or another, from a checkpoint; return the job."""
    return cluster.submit(
        folder, left, mode, interval=ON_REQUEST, config=config, arguments=[*arguments]
    )


def read_back(cluster: Cluster, job: str) -> dict[str, int]:
    def found() -> dict[str, int] | None:
        seen = cluster.progress(job)
        return seen if seen.get("labels", 0) + seen.get("fresh", 0) >= KEYS else None

    return wait_until("visits of all keys", found)


def states_in(checkpoint: Path) -> set[tuple[str, str, str]]:
    """Return operator, kind and name of the states that version 6 does not claim."""
    ran = run("inspect", checkpoint)
    assert ran.code == 0, ran.err
    found = set()
    for operator in ran.json["contents"]["operators"]:
        uid = UIDS.get(operator["id"], "")
        assert operator["keyed_states"] is not None
        found |= {(uid, "keyed state", each["name"]) for each in operator["keyed_states"]}
        found |= {(uid, "operator state", each["name"]) for each in operator["operator_states"]}
    return found & LEFT


@pytest.fixture(
    scope="module", params=[pytest.param(each, marks=pytest.mark.nightly) for each in VERSIONS]
)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """What version 1 left, once for all policies."""
    require_flink(request.param)
    work = tmp_path_factory.mktemp(f"unclaimed-{request.param}-")
    with Cluster(request.param, work / "plain").running(
        DRAWERS, workload=Workload(keys=KEYS)
    ) as plain:
        left = {each: version_1(plain, work / f"left-{each}", each) for each in BACKENDS}
        yield Bench(request.param, work, left, plain)


def declared_by_6(left: Path, path: Path) -> Path:
    """Write what version 6 declares: each operator of a checkpoint, less what it has lost."""
    whole = path.with_suffix(".whole")
    assert run("declare", left, "--out", whole).code == 0
    content = yaml.safe_load(whole.read_text())
    lost = {(operator, name) for operator, _, name in LEFT}
    for each in content["operators"]:
        uid = UIDS.get(each["id"], "")
        for field in ("keyed_states", "operator_states"):
            each[field] = [one for one in each.get(field, []) if (uid, one["id"]) not in lost]
    path.write_text(yaml.safe_dump(content))
    return path


def version_1(cluster: Cluster, folder: Path, backend: str) -> Path:
    config = ONCE | {"state.backend.type": backend}
    arguments = ["--version", "1"]
    job = cluster.submit(folder, interval=ON_REQUEST, config=config, arguments=arguments)
    wait_until("labels of all keys", lambda: cluster.progress(job).get("fresh") == KEYS)
    cluster.wait_for_checkpoints(job, 1)
    cluster.cancel(job, between_checkpoints=True)
    return retained(folder / job)[-1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_the_plugin_flink_says_nothing(bench: Bench, tmp_path: Path, backend: str) -> None:
    """The control: it restores, runs, and keeps in every checkpoint what nothing reads."""
    cluster = bench.plain
    job = restart(
        cluster, tmp_path, bench.left[backend], config=ONCE | {"state.backend.type": backend}
    )
    assert read_back(cluster, job)["labels"] == KEYS
    cluster.wait_for_checkpoints(job, 2)
    cluster.cancel(job, between_checkpoints=True)
    assert states_in(retained(tmp_path / job)[-1]) == LEFT
    assert "nclaimed state" not in cluster.jobmanager_log()


@pytest.mark.parametrize("backend", BACKENDS)
def test_report_names_all_of_it(bench: Bench, tmp_path: Path, backend: str) -> None:
    """In files, and in the log; nothing else changes."""
    with bench.cluster("report") as cluster:
        job = restart(cluster, tmp_path, bench.left[backend], config=watched(backend))
        found = read_back(cluster, job)
        assert {name: found[name] for name in AS_WRITTEN} == AS_WRITTEN
        cluster.wait_for_checkpoints(job, 2)

        def named() -> set[tuple[str, str, str]]:
            return {
                (UIDS[each["operator_id"]], state["kind"], state["name"])
                for each in bench.reports("report", job)
                for state in each["states"]
                if state["kind"] != "coordinator state"
            }

        wait_until("reports of all that is left", lambda: named() == LEFT)
        (of_jobmanager,) = [each for each in bench.reports("report", job) if each["subtask"] < 0]
        assert UIDS[of_jobmanager["operator_id"]] == "numbers"
        assert "bytes of its coordinator" in cluster.jobmanager_log()
        assert shown(cluster, job, "unclaimedCoordinators") == 1
        learnt = bench.written("report", job) / "declarations.yaml"
        wait_until(
            "declarations learnt from the running job",
            lambda: undeclared(bench.left[backend], learnt) == LEFT | {COORDINATOR},
        )
        cluster.cancel(job, between_checkpoints=True)
        assert states_in(retained(tmp_path / job)[-1]) == LEFT


def undeclared(checkpoint: Path, declarations: Path) -> set[tuple[str, str, str]] | None:
    """Return what a checkpoint holds and a file does not declare; ``None`` while there is none."""
    if not declarations.is_file():
        return None
    ran = run("unclaimed", checkpoint, "--declarations", declarations)
    return {
        (UIDS.get(each["operator"]["id"], ""), each["kind"].replace("_", " "), each["state"] or "")
        for each in ran.json["unclaimed"]
    }


def shown(cluster: Cluster, job: str, name: str) -> int:
    """Return a gauge of the JobManager's process, as REST shows it."""
    metric = f"orphangc.job.{job}.{name}"

    def value() -> list[dict[str, str]]:
        found: list[dict[str, str]] = cluster.rest.get(f"/jobmanager/metrics?get={metric}")
        return found

    (found,) = wait_until(f"metric {metric}", value)
    return int(found["value"])


def run_until_it_fails(
    cluster: Cluster, folder: Path, left: Path, *, backend: str, version: str
) -> None:
    """Start a version with the policy ``fail``."""
    job = restart(
        cluster,
        folder,
        left,
        config=watched(backend, **{"unclaimed-state.policy": "fail"}),
        arguments=["--version", version],
    )
    cluster.wait_for_checkpoints(job, 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("version", ["3", "6"])
def test_fail_refuses_the_restore_in_words(
    bench: Bench, tmp_path: Path, backend: str, version: str
) -> None:
    """They are in the exception that REST shows: operator, state, and what lets it pass.

    Of a source Flink may show first that an event of its coordinator was lost: the task's own
    exception is then in the TaskManager's log alone.
    """
    with bench.cluster("fail") as cluster:
        with pytest.raises(FlinkbedError) as refused:
            run_until_it_fails(
                cluster, tmp_path, bench.left[backend], backend=backend, version=version
            )
        said = str(refused.value)
        if "An OperatorEvent from an OperatorCoordinator to a task was lost" in said:
            said = cluster.taskmanager_log()
        assert "orphangc: unclaimed state of operator" in said
        assert "orphangc.unclaimed-state.policy to report or ignore" in said
        names = ["coordinator state"] if version == "6" else [name for _, _, name in LEFT]
        assert any(name in said for name in names)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ignore_drops_it_from_the_second_checkpoint_on(
    bench: Bench, tmp_path: Path, backend: str
) -> None:
    """And only that: a state that the first record registers keeps every value."""
    declared = declared_by_6(bench.left[backend], tmp_path / "declared.yaml")
    settings = {"unclaimed-state.policy": "ignore", "declarations": str(declared)}
    with bench.cluster("ignore") as cluster:
        config = watched(backend, **settings)
        job = restart(
            cluster,
            tmp_path,
            bench.left[backend],
            config=config,
            arguments=("--version", "6", "--lazy", "true"),
        )
        found = read_back(cluster, job)
        assert {name: found[name] for name in AS_WRITTEN} == AS_WRITTEN
        cluster.wait_for_checkpoints(job, 2)
        cluster.cancel(job, between_checkpoints=True)
        first, second, *_ = retained(tmp_path / job)
        assert states_in(first) == LEFT
        assert states_in(second) == set()

        again = restart(cluster, tmp_path, second, config=config, mode="CLAIM")
        found = read_back(cluster, again)
        assert {name: found[name] for name in AS_WRITTEN} == AS_WRITTEN
        cluster.wait_for_checkpoints(again, 2)
        cluster.cancel(again)


def test_what_is_declared_is_neither_refused_nor_dropped(bench: Bench, tmp_path: Path) -> None:
    """The job registers it later, says its declarations file; the JobManager compares before."""
    declared = tmp_path / "declarations.yaml"
    assert run("declare", bench.left["rocksdb"], "--out", declared).code == 0
    settings = {"declarations": str(declared), "unclaimed-state.policy": "fail"}
    with bench.cluster("fail", {"orphangc.declarations": str(declared)}) as cluster:
        job = restart(
            cluster, tmp_path, bench.left["rocksdb"], config=watched("rocksdb", **settings)
        )
        assert read_back(cluster, job)["labels"] == KEYS
        cluster.wait_for_checkpoints(job, 2)
        cluster.cancel(job, between_checkpoints=True)
        assert states_in(retained(tmp_path / job)[-1]) == LEFT
        assert "operators are declared" in cluster.jobmanager_log()
        counts = [shown(cluster, job, f"{each}Operators") for each in ("declared", "restored")]
        assert counts == [4, 3]
        assert shown(cluster, job, "missingOperators") == 1
        restored = json.loads((bench.written("fail", job) / "restored.json").read_text())
        assert [restored["declared_operators"], restored["restored_operators"]] == counts
        gone = [{"operator_id": operator_id("numbers-throttled")}]
        assert restored["declared_not_restored"] == gone, "it has no state, and version 6 lacks it"
        assert restored["restored_not_declared"] == []
        assert restored["matched_operators"] == shown(cluster, job, "matchedOperators") == 3
        assert restored["operator_states_not_declared"] == []


def test_fail_refuses_declarations_that_leave_out_an_operator(bench: Bench, tmp_path: Path) -> None:
    """Before the job runs, on the JobManager, which says how many of them they name."""
    declared = tmp_path / "declared.yaml"
    assert run("declare", bench.left["rocksdb"], "--out", declared).code == 0
    content = yaml.safe_load(declared.read_text())
    operators = [each for each in content["operators"] if each["id"] != CHEST]
    declared.write_text(yaml.safe_dump(content | {"operators": operators}))

    def written() -> set[Path]:
        return set((bench.work / "registry-fail").glob("*/restored.json"))

    before = written()
    with bench.cluster("fail", {"orphangc.declarations": str(declared)}) as cluster:
        with pytest.raises(FlinkbedError, match=f"no declaration names operator .*id {CHEST}"):
            run_until_it_fails(
                cluster, tmp_path, bench.left["rocksdb"], backend="rocksdb", version="3"
            )
        (path,) = wait_until("what was restored", lambda: written() - before)
        restored = json.loads(path.read_text())
    assert restored["matched_operators"] == 2
    (left,) = restored["restored_not_declared"]
    assert left["operator_id"] == CHEST
    assert left["uid"] == ("chest" if as_numbers(bench.version) >= (2,) else None)
    assert left["name"] == "chest"


def test_what_a_running_job_registers_is_learnt_as_its_declarations(
    bench: Bench, tmp_path: Path
) -> None:
    """They declare all that its checkpoints hold, and ``declare`` says the same of them."""
    with bench.cluster("report") as cluster:
        job = cluster.submit(
            tmp_path, interval=ON_REQUEST, config=watched("rocksdb"), arguments=["--version", "1"]
        )
        wait_until("labels of all keys", lambda: cluster.progress(job).get("fresh") == KEYS)
        cluster.wait_for_checkpoints(job, 1)
        learnt = bench.written("report", job) / "declarations.yaml"
        checkpoint = retained(tmp_path / job)[-1]
        wait_until(
            "declarations of every operator",
            lambda: undeclared(checkpoint, learnt) == set() and "missing" not in learnt.read_text(),
        )
        before = learnt.read_text()
        parts = learnt.parent / "declared"
        old, half = (parts / f"{each}-{uuid4()}.json" for each in ("0" * 32, CHEST))
        whole = next(parts.glob("*.json")).read_text()
        ready = tmp_path / "part.json"
        ready.write_text(re.sub('"id":"[0-9a-f]{32}"', f'"id":"{"0" * 32}"', whole))
        os.utime(ready, (0, 0))
        ready.rename(old)
        half.write_text(whole[:-5])
        cluster.wait_for_checkpoints(job, 1)
        wait_until("the part of an earlier start to be gone", lambda: not old.exists())
        assert learnt.read_text() == before
        cluster.cancel(job, between_checkpoints=True)
    declared = tmp_path / "declared.yaml"
    assert run("declare", checkpoint, "--out", declared).code == 0
    assert forms(learnt) == forms(declared)


def forms(path: Path) -> dict[str, tuple[object, ...]]:
    """Return what a file declares of each operator that has state, by its id."""
    return {
        each.operator_id: (
            {(state.id, state.type) for state in each.keyed_states},
            {(state.id, state.redistribution) for state in each.operator_states},
            each.coordinator,
        )
        for each in read_declarations(path).operators
        if each.keyed_states or each.operator_states or each.coordinator
    }


def test_forst_is_reported_and_learnt_and_nothing_of_it_is_dropped(
    bench: Bench, tmp_path: Path
) -> None:
    """Keyed state stays with the policy ``ignore``, too; operator state goes."""
    if as_numbers(bench.version) < (2,):
        pytest.skip("ForSt came with Flink 2.0")
    left = version_1(bench.plain, tmp_path / "left", "forst")
    declared = declared_by_6(left, tmp_path / "declared.yaml")
    settings = {"unclaimed-state.policy": "ignore", "declarations": str(declared)}
    with bench.cluster("ignore") as cluster:
        job = restart(cluster, tmp_path, left, config=watched("forst", **settings))
        found = read_back(cluster, job)
        assert {name: found[name] for name in AS_WRITTEN} == AS_WRITTEN
        cluster.wait_for_checkpoints(job, 2)

        def dropped() -> dict[str, bool]:
            return {
                state["name"]: state["dropped"]
                for each in bench.reports("ignore", job)
                for state in each["states"]
                if each["subtask"] >= 0
            }

        expected = {"forgotten": False, "dropped": True, "boxes": True, "SourceReaderState": True}
        wait_until("reports of all that is left", lambda: dropped() == expected)
        learnt = bench.written("ignore", job) / "declarations.yaml"
        of_operators = {each for each in LEFT if each[1] == "operator state"}
        wait_until(
            "declarations learnt from the running job",
            lambda: (undeclared(left, learnt) or set()) >= of_operators,
        )
        states = {each.id for op in read_declarations(learnt).operators for each in op.keyed_states}
        assert states == {"labels"}
        cluster.cancel(job, between_checkpoints=True)


@pytest.mark.ci
def test_one_restore_with_the_plugin_is_reported(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The shortest way through the factory, on the newest Flink and RocksDB."""
    require_flink(NEWEST)
    work = tmp_path_factory.mktemp("unclaimed-short-")
    bench = Bench(NEWEST, work, {}, None)  # type: ignore[arg-type]
    with bench.cluster("report") as cluster:
        left = version_1(cluster, work / "left", "rocksdb")
        job = restart(cluster, tmp_path, left, config=watched("rocksdb"))
        assert read_back(cluster, job)["labels"] == KEYS
        cluster.wait_for_checkpoints(job, 2)
        wait_until(
            "a report of keyed state",
            lambda: any(
                state["name"] == "forgotten"
                for each in bench.reports("report", job)
                for state in each["states"]
            ),
        )
