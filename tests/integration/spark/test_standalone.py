"""A standalone cluster of a master and two workers, each its own process and Python."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.synth.running import Synth, synth_server
from cli.helpers import Ran
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.sparkbed import modes, places, pythons
from support import speed
from support.processes import finished

pytestmark = pytest.mark.nightly

KEYS = 60_000
README = modes.REPOSITORY / "deploy" / "spark" / "README.md"
ENDED = ("--ended-job", "all", "--closed-world")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[modes.Standalone]:
    with modes.standalone(tmp_path_factory.mktemp("standalone") / "cluster") as found:
        yield found


def documented() -> list[str]:
    """Return the commands of the page that submit to a cluster, each as one line."""
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if "spark-submit --master" in line]


@pytest.mark.parametrize("packing", ["--py-files", "--archives"])
def test_a_documented_submission_plans_as_this_process(cluster, packing, tmp_path):
    """Word for word, but for master, storage and places of files."""
    place = places.odd_folder(tmp_path / "odd", seed=3)
    places.plan(places.here, place, tmp_path / "first")
    expected = places.plan(places.here, place, tmp_path / "local", "--engine", "local")
    folder = tmp_path / "submitted"
    folder.mkdir()
    (command,) = (each for each in documented() if packing in each)
    own = modes.environment(folder, {})
    own["PATH"] = f"{pythons.spark_home() / 'bin'}:{own['PATH']}"
    if packing == "--py-files":
        own["PYSPARK_PYTHON"] = str(pythons.bare_python(folder / "python"))
        own["PYSPARK_DRIVER_PYTHON"] = sys.executable
        pythons.package_zip(folder)
    else:
        pythons.packed_environment(folder)

    def submitted(name: str, *options: object) -> Ran:
        """Run what stands on the page, with the options of the place."""
        assert name == "plan"
        line = command
        for written, meant in (
            ("--master yarn", f"--master {cluster.master}"),
            ("deploy/spark/main.py", str(modes.REPOSITORY / "deploy" / "spark" / "main.py")),
            ("s3://bucket-of-ours/work", str(folder / "work")),
            ("s3://bucket/checkpoints", str(options[0])),
            ("--out plan-1", " ".join(map(str, options[1:]))),
        ):
            assert line.count(written) == 1, (written, line)
            line = line.replace(written, meant)
        done = finished(
            ["/bin/bash", "-c", line],
            env=own,
            cwd=folder,
            timeout=2 * speed.command(),
            stdin=subprocess.DEVNULL,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    assert places.plan(submitted, place, tmp_path / "plan") == expected


# --- what happens while a plan is made


@dataclass(frozen=True)
class Bed:
    """A bucket, and the cluster that plans it."""

    synth: Synth  # the endpoint
    cluster: modes.Standalone  # the cluster
    folder: Path  # where plans, work and logs of events go

    def rows(self, name: str) -> list[dict]:
        plan = json.loads((self.folder / name / "plan.json").read_text())
        files = sorted((self.folder / name / "verdicts").iterdir())
        assert {each.name for each in files} == plan["verdict_files"].keys()
        found = [row for file in files for row in pq.read_table(file).to_pylist()]
        return sorted(found, key=lambda row: row["key"])

    @contextmanager
    def started(
        self, name: str, engine: str = "spark", settings: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen]:
        place = self.folder / f"{name}-conf"
        place.mkdir()
        events = self.folder / f"{name}-events"
        events.mkdir()
        chosen = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(),
                  "spark.eventLog.compress": "false"}  # fmt: skip
        bucket = self.synth.environment
        chosen |= {f"spark.executorEnv.{each}": value for each, value in bucket.items()}
        chosen["spark.executorEnv.TMPDIR"] = str(place)  # a killed one leaves files
        chosen |= {"spark.orphangc.listed": "3000", **(settings or {})}
        own = modes.environment(place, chosen)
        own |= bucket | {"SPARK_MASTER": self.cluster.master}
        own |= {"PYSPARK_PYTHON": sys.executable, "TMPDIR": str(place)}  # a killed one leaves files
        command = [sys.executable, "-m", "orphangc", "plan", self.synth.uri, *ENDED]
        command += ["--search", "places", "--state", f"{self.folder}/state-{name}"]
        command += ["--engine", engine, "--out", f"{self.folder}/{name}"]
        command += [] if engine == "local" else ["--work", f"{self.folder}/work"]
        with subprocess.Popen(
            command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as child:
            try:
                yield child
            finally:
                child.kill()

    def planned(self, name: str, engine: str = "spark") -> None:
        with self.started(name, engine) as child:
            assert ended(child)[0] == 0

    def events(self, name: str) -> list[dict]:
        """Return Spark's own record of a plan."""
        found = []
        for log in (self.folder / f"{name}-events").rglob("*"):
            if log.is_file() and not log.name.startswith("."):  # checksums are hidden files
                found += map(json.loads, log.read_text().splitlines())
        return found

    def await_keys(self, count: int, child: subprocess.Popen) -> None:
        """Wait until so many keys were listed; the plan must not end before."""
        await_while(child, lambda: self.synth.stats().get("keys_listed", 0) >= count)

    def await_file(
        self, folder: Path, pattern: str, child: subprocess.Popen, *, count: int = 1
    ) -> None:
        """Wait until so many files are there; the plan must not end before."""
        await_while(child, lambda: sum(1 for _ in folder.glob(pattern)) >= count)

    def await_end_of_executors(self) -> None:
        """Wait until those of a driver that died have seen it, and write nothing any more."""
        wait_until("the executors to end", lambda: not self.cluster.executors(), seconds=240)


def await_while(child: subprocess.Popen, what: Callable[[], bool]) -> None:
    """Wait until something holds; the plan must not end before."""

    def holds() -> bool:
        assert child.poll() is None, child.stderr.read()
        return what()

    wait_until("the plan to come so far", holds, seconds=240, pause=0.005)


def ended(child: subprocess.Popen) -> tuple[int, str]:
    said = child.communicate(timeout=2 * speed.command())[1]
    print(said)
    return child.returncode, said


@pytest.fixture(scope="module")
def bed(cluster, tmp_path_factory) -> Iterator[Bed]:
    """A bucket of some sixty pages, half of it live, and the local engine's plan of it."""
    with synth_server(keys=KEYS, live=KEYS // 2) as synth:
        made = Bed(synth, cluster, tmp_path_factory.mktemp("bed"))
        made.planned("local", "local")
        yield made


@pytest.fixture(autouse=True)
def quiet(bed) -> Iterator[None]:
    """Let the endpoint answer at once, and count from zero."""
    bed.synth.control(reset=1)
    yield
    bed.synth.control(latency_ms=0, repeat=0)


EAGER = {"spark.speculation": "true", "spark.speculation.interval": "10ms",
         "spark.speculation.multiplier": "1.01", "spark.speculation.quantile": "0.1",
         "spark.speculation.minTaskRuntime": "1ms"}  # fmt: skip


def assert_nothing_happened(bed: Bed, name: str) -> None:
    """Assert that a plan lost an executor, ran a task twice, and has the rows of all others."""
    events = bed.events(name)
    assert [each for each in events if each["Event"] == "SparkListenerExecutorRemoved"]
    tasks = [each["Task Info"] for each in events if each["Event"] == "SparkListenerTaskEnd"]
    assert [each for each in tasks if each["Speculative"]]
    assert [each for each in tasks if each["Failed"] or each["Killed"]]
    assert bed.rows(name) == bed.rows("local")
    assert not [each for each in (bed.folder / "work").rglob("*") if each.is_file()]


def test_a_killed_executor_and_a_speculated_task_change_no_row(bed):
    """Spark repeats the tasks of the one, and runs those of the other twice."""
    bed.synth.control(latency_ms=300, jitter=0.9)
    with bed.started("killed", settings=EAGER) as child:
        bed.await_keys(10_000, child)
        os.kill(bed.cluster.executors()[0], signal.SIGKILL)
        bed.await_keys(40_000, child)
        bed.synth.control(latency_ms=0)
        assert ended(child)[0] == 0
    assert_nothing_happened(bed, "killed")


def test_an_executor_that_is_killed_while_the_listing_is_divided_changes_no_row(bed):
    """Among twenty slices: the driver wrote them, and then some tasks were done."""
    settings = {**EAGER, "spark.orphangc.broadcast": f"{KEYS // 40}"}
    work = bed.folder / "work"
    with bed.started("divided", settings=settings) as child:
        bed.await_file(work, "orphangc-*/values/*", child, count=20)
        done = sum(1 for _ in work.glob("orphangc-*/done/*"))
        bed.await_file(work, "orphangc-*/done/*", child, count=done + 2)
        os.kill(bed.cluster.executors()[0], signal.SIGKILL)
        assert ended(child)[0] == 0
    assert_nothing_happened(bed, "divided")


def test_a_damaged_page_ends_the_plan(bed):
    """A page that starts too early: what it says of other keys is not to be trusted."""
    bed.synth.control(repeat=1)
    with bed.started("damaged") as child:
        code, said = ended(child)
    assert code == 10
    assert "Traceback" not in said
    assert not (bed.folder / "damaged").exists()


def test_a_killed_driver_leaves_nothing_that_the_next_plan_takes(bed):
    """Its executors end with it; the next plan lists afresh, below a folder of its own."""
    bed.synth.control(latency_ms=200)
    with bed.started("lost") as child:
        bed.await_keys(10_000, child)
    bed.synth.control(latency_ms=0)
    assert not (bed.folder / "lost" / "plan.json").exists()
    bed.await_end_of_executors()
    left = set((bed.folder / "work").iterdir())
    bed.planned("next")
    assert bed.rows("next") == bed.rows("local")
    assert set((bed.folder / "work").iterdir()) == left, "another run may still use it"


def test_what_a_driver_left_that_was_killed_while_it_decided_is_removed_after_a_day(bed):
    """By the next plan, which names each folder, and has the same verdicts."""
    work = bed.folder / "work"
    with bed.started("undecided") as child:
        bed.await_file(work, "orphangc-verdicts-*/verdicts/*", child)
    assert not (bed.folder / "undecided" / "plan.json").exists()
    bed.await_end_of_executors()
    for each in work.rglob("*"):
        os.utime(each, (each.stat().st_mtime - 100_000,) * 2)
    left = {each.parents[1] for each in work.rglob("*") if each.is_file()}
    assert left
    with bed.started("later") as child:
        code, said = ended(child)
    assert code == 0
    assert all(f"{folder}" in said for folder in left)
    assert bed.rows("later") == bed.rows("local")
    assert not [path for path in work.rglob("*") if path.is_file()]
