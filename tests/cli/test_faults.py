"""Sweeps of a store that misbehaves: nothing is lost, and nothing is reported wrongly.

The store is the synthetic endpoint, which counts for itself what it has deleted.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.synth.running import Synth, synth_server
from cli.helpers import AT_ONCE, ENDED, Planned, Ran, run
from support import speed
from support.processes import until

KEYS, LIVE = 6_000, 500
OPTIONS = (*ENDED, *AT_ONCE, "--max-delete-share", "1", "--delete-rate", "1000000")


@pytest.fixture(scope="module")
def synth() -> Iterator[Synth]:
    with synth_server(keys=KEYS, live=LIVE) as server:
        yield server


class Bucket:
    """The synthetic bucket with its tombstones laid."""

    def __init__(self, synth: Synth, folder: Path) -> None:
        self.synth, self.folder, self.plans = synth, folder, 0
        assert run("sweep", self.plan().path).code == 0

    def plan(self) -> Planned:
        """Plan while the store behaves; a second later, for S3 has whole seconds only."""
        time.sleep(1.1)
        self.plans += 1
        out = self.folder / f"plan-{self.plans}"
        ran = run("plan", self.synth.uri, *OPTIONS, "--state", self.state, "--out", out)
        assert ran.code == 0, ran.err
        return Planned(ran, out)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def stats_without_others(self, connections: int) -> dict[str, int] | None:
        """Return the counters once no more connections are open than these of the test's own."""
        stats = self.synth.stats()
        return stats if stats["connections"] <= connections else None

    @property
    def gone(self) -> int:
        return int(self.synth.stats().get("keys_gone", 0))

    def stored(self) -> set[str]:
        """Return every key, as the store shows it when it behaves."""
        self.synth.control(**GOOD)
        ran = run("plan", self.synth.uri, *OPTIONS, "--out", self.folder / "look")
        assert ran.code == 0, ran.err
        found = set(Planned(ran, self.folder / "look").rows)
        for path in sorted((self.folder / "look").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        return found


GOOD = {
    "latency_ms": 0, "slowdown": 0, "internal": 0, "lost": 0, "key_errors": 0,
    "deletions_hang_after": 0, "key_error_code": "InternalError", "delete_keys_rps": 0,
    "throttles_keys": False,
}  # fmt: skip


@pytest.fixture
def bucket(synth, tmp_path, monkeypatch) -> Bucket:
    for name, value in synth.environment.items():
        monkeypatch.setenv(name, value)
    synth.control(reset=1, **GOOD)
    return Bucket(synth, tmp_path)


def reported_outcomes(plan: Planned) -> dict[str, str]:
    rows = pq.read_table(plan.path / "outcomes.parquet").to_pylist()
    assert len(rows) == len({row["key"] for row in rows})
    return {row["key"]: row["outcome"] for row in rows}


def check(bucket: Bucket, plan: Planned, swept: Ran) -> Counter:
    """Check every outcome against what is stored now; return how many there are of each."""
    due = {key for key, row in plan.rows.items() if row["action"] == "delete"}
    assert len(due) > KEYS - LIVE - 100
    outcomes = reported_outcomes(plan)
    assert set(outcomes) == due
    gone_now = int(bucket.synth.stats().get("keys_gone", 0))
    stored = bucket.stored()
    is_gone = {key for key, outcome in outcomes.items() if outcome in {"done", "gone"}}
    assert is_gone == due - stored, swept.err[-500:]
    assert set(plan.rows) - due <= stored
    assert gone_now == len(due - stored)
    return Counter(outcomes.values())


ALL = "everything"
FAULTS = {
    "requests refused": {"slowdown": 0.1},
    "requests failing": {"internal": 0.1},
    "answers lost": {"lost": 0.1},
    "keys failing": {"key_errors": 0.03},
    "keys refused": {"key_errors": 0.03, "key_error_code": "SlowDown"},
    ALL: {"slowdown": 0.05, "internal": 0.05, "lost": 0.05, "key_errors": 0.01},
}


@pytest.mark.parametrize(
    "faults",
    [*(pytest.param(each, marks=pytest.mark.nightly) for each in FAULTS if each != ALL), ALL],
)
def test_a_sweep_of_a_store_that_misbehaves_deletes_all_and_reports_the_truth(
    bucket, faults
) -> None:
    """Every orphan is gone in the end, by us, and is reported as done."""
    plan = bucket.plan()
    bucket.synth.control(**FAULTS[faults])
    swept = run("sweep", plan.path, "--delete")
    counts = check(bucket, plan, swept)
    assert (swept.code, set(counts)) == (0, {"done"})


def test_keys_that_may_not_be_deleted_fail_and_all_others_go(bucket) -> None:
    """Denied permanently: exit 3, and the next sweep of the same plan finds what is left."""
    plan = bucket.plan()
    bucket.synth.control(key_errors=0.05, key_error_code="AccessDenied")
    swept = run("sweep", plan.path, "--delete")
    counts = check(bucket, plan, swept)
    assert swept.code == 3
    assert 0 < counts["failed"] < 1_000 < counts["done"]
    again = run("sweep", plan.path, "--delete")
    later = check(bucket, plan, again)
    assert (again.code, later["gone"], later["done"]) == (0, counts["done"], counts["failed"])


def test_a_store_that_only_refuses_is_given_up_and_nothing_has_failed(bucket, monkeypatch) -> None:
    """What was not reached is planned, and a later sweep deletes it."""
    monkeypatch.setattr("orphangc.core.model.rate._FIRST_PAUSE", 0.001)
    monkeypatch.setattr("orphangc.core.model.rate._LONGEST_PAUSE", 0.05)
    plan = bucket.plan()
    bucket.synth.control(delete_keys_rps=0.001)
    swept = run("sweep", plan.path, "--delete")
    counts = check(bucket, plan, swept)
    assert (swept.code, counts["failed"]) == (10, 0)
    assert "asked for less" in swept.json["stopped"]
    assert run("sweep", plan.path, "--delete").code == 0


@pytest.mark.ci
def test_a_quota_is_kept_to_by_the_rate_that_the_operator_gives(bucket) -> None:
    """``--delete-rate`` counts at the sweep too; nothing is refused."""
    plan = bucket.plan()
    bucket.synth.control(delete_keys_rps=2_000)
    begun = time.monotonic()
    swept = run("sweep", plan.path, "--delete", "--delete-rate", "1500")
    took = time.monotonic() - begun
    assert check(bucket, plan, swept)["done"] > 5_000
    assert int(bucket.synth.stats().get("keys_throttled", 0)) == 0
    assert took > 5_000 / 1_500 - 1


@pytest.mark.parametrize("deleted", [500, pytest.param(2_500, marks=pytest.mark.ci)])
@pytest.mark.usefixtures("kills")
def test_a_sweep_that_is_killed_is_finished_by_the_next(bucket, deleted) -> None:
    """SIGKILL in the middle: what it deleted is gone, the rest is done, each key reported once."""
    plan = bucket.plan()
    bucket.synth.control(lost=0.05, deletions_hang_after=deleted)
    own = bucket.synth.stats()["connections"]
    command = [sys.executable, "-m", "orphangc", "sweep", str(plan.path), "--delete"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    until(lambda: bucket.gone >= deleted or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    assert process.wait(speed.command()) == -signal.SIGKILL
    before = int(until(lambda: bucket.stats_without_others(own))["keys_gone"])
    bucket.synth.control(deletions_hang_after=0)
    swept = run("sweep", plan.path, "--delete")
    counts = check(bucket, plan, swept)
    assert (swept.code, set(counts)) == (0, {"gone", "done"})
    assert counts["gone"] == before
    journal = {
        json.loads(line)["key"]
        for file in bucket.state.glob("*/runs/*/batch-*.jsonl")
        for line in file.read_text().splitlines()
    }
    assert {key for key, outcome in reported_outcomes(plan).items() if outcome == "gone"} <= journal
