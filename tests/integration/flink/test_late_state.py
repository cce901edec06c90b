"""Unmodified Flink with the plugin: state that a job registers late is never dropped by a guess.

Version 1 of the job uses all of its state at once. Version 2 registers none of it before a file
exists, long after the grace is over; it has lost the keyed state ``forgotten``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.helpers import run
from flinkstate.operator_ids import operator_id
from integration.flink.test_unclaimed import ONCE
from integration.flink.test_unclaimed_at_runtime import shown, watched
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.distribution import JOB_SOURCE
from integration.harness.flinkbed.fixtures import NEWEST, NIGHTLY, VERSIONS, require_flink
from integration.harness.flinkbed.plugin import plugin_jar
from integration.harness.flinkbed.settings import ON_REQUEST, Workload
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until

pytestmark = pytest.mark.flink

LATE = JOB_SOURCE.with_name("LateJob.java")
KEYS = 20
LABELS, WINDOWS = operator_id("labels"), operator_id("windows")
KEPT = {"labels": KEYS, "sums": KEYS, "fresh": 0, "wrong": 0}


@dataclass(frozen=True, slots=True)
class Bench:
    """A cluster with the plugin, what version 1 left, and the exporter's folder."""

    cluster: Cluster
    left: Path
    registry: Path

    def restore(
        self, folder: Path, settings: Mapping[str, str], *arguments: str, after: Path | None = None
    ) -> str:
        """Start version 2 from there; it registers nothing before ``folder/open`` exists."""
        return self.cluster.submit(
            folder,
            after or self.left,
            "NO_CLAIM",
            interval=ON_REQUEST,
            config=watched("rocksdb", **settings),
            arguments=["--late", str(folder / "open"), *arguments],
        )

    def run_until_it_fails(
        self, folder: Path, settings: Mapping[str, str], *arguments: str
    ) -> None:
        """Start version 2, which is refused: before it runs, or soon after."""
        self.cluster.wait_for_checkpoints(self.restore(folder, settings, *arguments), 1)

    def let_the_grace_pass(self, job: str) -> None:
        """Return when records of all keys have passed and the decision is made."""
        wait_until("records", lambda: self.cluster.progress(job).get("passed") == KEYS)
        self.cluster.wait_for_checkpoints(job, 3)

    def read_back(self, job: str, folder: Path) -> dict[str, int]:
        """Let the job register its state; return what it found in it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "open").touch()

        def found() -> dict[str, int] | None:
            seen = self.cluster.progress(job)
            return seen if sum(seen.get(each, 0) for each in KEPT) >= 2 * KEYS else None

        seen = wait_until("visits of all keys", found)
        return {each: seen.get(each, 0) for each in KEPT}

    def written(self, job: str, name: str) -> Path:
        return self.registry / job / name

    def document(self, job: str, name: str) -> dict[str, Any]:
        path = self.written(job, name)
        return dict(wait_until(name, lambda: path.is_file() and json.loads(path.read_text())))

    def reported(self, job: str) -> dict[str, set[tuple[str, bool]]]:
        """Return the keyed states in the reports, and whether they were dropped, by operator."""
        found: dict[str, set[tuple[str, bool]]] = {}
        for path in self.written(job, "unclaimed").glob("*.json"):
            try:
                report = json.loads(path.read_text())
            except (ValueError, FileNotFoundError):  # it is being written, or removed
                return {}
            states = {(each["name"], each["dropped"]) for each in report["states"]}
            found.setdefault(report["operator_id"], set()).update(states)
        return found

    def declared(self, path: Path, **changes: str | None) -> Path:
        """Write what the checkpoint declares of both operators, less ``forgotten``."""
        whole = path.with_suffix(".whole")
        assert run("declare", self.left, "--out", whole).code == 0
        content = yaml.safe_load(whole.read_text())
        for each in content["operators"]:
            states = each.get("keyed_states", [])
            each["keyed_states"] = [state for state in states if state["id"] != "forgotten"]
            if each["id"] == LABELS:
                each.update(changes)
        path.write_text(yaml.safe_dump(content))
        return path


MAIN = pytest.mark.parametrize(
    "bench",
    [
        pytest.param(each, marks=pytest.mark.ci if each == NEWEST else pytest.mark.nightly)
        for each in VERSIONS
    ],
    indirect=True,
)
MORE = pytest.mark.parametrize("bench", NIGHTLY, indirect=True)


@pytest.fixture(scope="module")
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """One cluster of a version for all; the job's settings have the policy."""
    require_flink(request.param)
    work = tmp_path_factory.mktemp(f"late-{request.param}-")
    jar = plugin_jar(VERSIONS[0])
    config = {
        "orphangc.registry.dir": f"file://{work}/registry",
        "orphangc.registry.interval": "1 s",
        "orphangc.registry.min-pause": "0 s",
    }
    with Cluster(
        request.param,
        work / "flink",
        config=config,
        libraries=[jar],
        jobmanager_options=[f"-javaagent:{jar}"],
    ).running(LATE, workload=Workload(keys=KEYS)) as cluster:
        arguments = ["--old", "true"]
        folder = work / "left"
        job = cluster.submit(folder, interval=ON_REQUEST, config=ONCE, arguments=arguments)
        wait_until("values of all keys", lambda: cluster.progress(job).get("fresh") == 2 * KEYS)
        cluster.wait_for_checkpoints(job, 1)
        cluster.cancel(job, between_checkpoints=True)
        yield Bench(cluster, retained(folder / job)[-1], work / "registry")


@pytest.fixture
def folder(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    """A folder for checkpoints; whatever runs when the test ends is ended."""
    yield tmp_path
    bench.cluster.tidy()


IGNORE = {"unclaimed-state.policy": "ignore"}
FAIL = {"unclaimed-state.policy": "fail"}


@MAIN
def test_ignore_without_declarations_keeps_every_value(bench: Bench, folder: Path) -> None:
    """Lazily registered state, state of windows and of triggers: reported, and kept."""
    job = bench.restore(folder, IGNORE)
    bench.let_the_grace_pass(job)
    wait_until("reports", lambda: bench.reported(job).keys() == {LABELS, WINDOWS})
    assert bench.read_back(job, folder) == KEPT

    restored = bench.document(job, "restored.json")
    assert restored["declared_operators"] is None
    assert restored["matched_operators"] == 0
    unmatched = {each["operator_id"]: each["name"] for each in restored["restored_not_declared"]}
    assert unmatched.items() >= {(LABELS, "late labels"), (WINDOWS, "late windows")}
    assert any("numbers" in each for each in unmatched.values()), "a source in a chain"
    assert shown(bench.cluster, job, "matchedOperators") == 0
    assert shown(bench.cluster, job, "undeclaredOperators") == len(unmatched)
    bench.cluster.wait_for_checkpoints(job, 1)
    what_is_left = {LABELS: {("forgotten", False)}}
    wait_until("what was registered to leave", lambda: bench.reported(job) == what_is_left)


@MAIN
@pytest.mark.parametrize("spelled", ["id", "uid_hash"])
def test_ignore_finds_the_declarations_of_an_operator_with_a_uid_hash(
    bench: Bench, folder: Path, spelled: str
) -> None:
    """It runs under the generated id; only what they do not hold of it is dropped."""
    others = dict.fromkeys({"id", "uid", "uid_hash"} - {spelled})
    declared = bench.declared(folder / "declared.yaml", **others, **{spelled: LABELS})
    settings = IGNORE | {"declarations": str(declared)}
    job = bench.restore(folder, settings, "--uid-hash", LABELS)
    bench.let_the_grace_pass(job)
    wait_until("reports", lambda: len(bench.reported(job)) == len({LABELS, WINDOWS}))
    assert bench.read_back(job, folder) == KEPT
    (generated,) = set(bench.reported(job)) - {WINDOWS}
    assert generated != LABELS

    bench.cluster.wait_for_checkpoints(job, 1)
    report = bench.written(job, f"unclaimed/{generated}-0.json")
    assert json.loads(report.read_text())["operator"] == "late labels"
    checkpoint = retained(folder / job)[-1]
    assert keyed_states(checkpoint)[generated] == {"labels"}
    learnt = bench.written(job, "declarations.yaml")

    def undeclared(by: Path) -> set[str]:
        ran = run("unclaimed", by, "--declarations", learnt)
        return {found["state"] for found in ran.json["unclaimed"]}

    wait_until(
        "what was registered last to be learnt", lambda: undeclared(bench.left) == {"forgotten"}
    )
    assert undeclared(checkpoint) == set()
    (operator,) = (
        each for each in yaml.safe_load(learnt.read_text())["operators"] if each["id"] == generated
    )
    assert operator["uid_hash"] == LABELS


def keyed_states(checkpoint: Path) -> dict[str, set[str]]:
    operators = run("inspect", checkpoint).json["contents"]["operators"]
    names = {each["id"]: {state["name"] for state in each["keyed_states"]} for each in operators}
    return {id_: {each for each in of if "timer" not in each} for id_, of in names.items()}


@MAIN
def test_fail_lets_an_operator_with_a_uid_hash_run_if_all_of_it_is_declared(
    bench: Bench, folder: Path
) -> None:
    """Declared under the hash, restored under the generated id; registered late."""
    declared = folder / "declared.yaml"
    assert run("declare", bench.left, "--out", declared).code == 0
    settings = FAIL | {"declarations": str(declared)}
    job = bench.restore(folder, settings, "--uid-hash", LABELS)
    bench.let_the_grace_pass(job)
    assert bench.read_back(job, folder) == KEPT


@MORE
def test_fail_says_what_may_be_registered_yet_and_how_to_declare_it(
    bench: Bench, folder: Path
) -> None:
    """Without declarations it names the operator as the job does."""
    with pytest.raises(FlinkbedError) as refused:
        bench.run_until_it_fails(folder, FAIL)
    said = str(refused.value)
    assert "operator 'late " in said
    assert "not registered yet" in said
    assert "a later record or timer may register" in said
    assert "orphangc declare" in said


@MORE
@pytest.mark.parametrize("policy", ["report", "fail"])
def test_keyed_state_of_an_operator_without_keys_is_named_apart(
    bench: Bench, folder: Path, policy: str
) -> None:
    """Flink lets it go with the next checkpoint, and says nothing."""
    settings = {"unclaimed-state.policy": policy}
    if policy == "fail":
        with pytest.raises(FlinkbedError, match="that id can never hold: keyed state of an operat"):
            bench.run_until_it_fails(folder, settings, "--unkeyed", "true")
        return
    job = bench.restore(folder, settings, "--unkeyed", "true")

    def kinds() -> set[str]:
        bench.cluster.wait_for_checkpoints(job, 1)
        reports = bench.written(job, "unclaimed").glob(f"{LABELS}-*.json")
        return {
            state["kind"] for each in reports for state in json.loads(each.read_text())["states"]
        }

    assert wait_until("a report", kinds) == {"keyed state of an operator without keys"}


@MORE
@pytest.mark.parametrize("policy", ["ignore", "fail"])
def test_declarations_of_another_job_are_an_error_of_fail_and_drop_nothing(
    bench: Bench, folder: Path, policy: str
) -> None:
    """They match no operator."""
    declared = folder / "declared.yaml"
    declared.write_text("version: 1\noperators: [{uid: another, keyed_states: []}]\n")
    settings = {"unclaimed-state.policy": policy, "declarations": str(declared)}
    if policy == "fail":
        with pytest.raises(FlinkbedError, match="no declaration names operator"):
            bench.run_until_it_fails(folder, settings)
        return
    job = bench.restore(folder, settings)
    bench.let_the_grace_pass(job)
    assert bench.read_back(job, folder) == KEPT
