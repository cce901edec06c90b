"""What a checkpoint of the job must hold, computed without Flink, and what it does hold."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.distribution import JOB_SOURCE

JOB = JOB_SOURCE.with_name("AccountJob.java")
PARTS = (JOB_SOURCE,)
ASYNC_JOB = JOB_SOURCE.with_name("AsyncAccountJob.java")
ASYNC_PARTS = (JOB, JOB_SOURCE)
_LANE = 1 << 40
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Accounts = dict[int, tuple[int, int, int]]
"""By key: count, sum and digest of its numbers, as Java's 64 bits."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What a checkpoint holds."""

    lanes: dict[int, int]  # by lane: how many of its numbers were given to the job
    accounts: Accounts  # what the job made of them

    @property
    def records(self) -> int:
        return sum(self.lanes.values())

    def check(self, keys: int) -> None:
        """Make sure that each number counts once, and under its key."""
        wanted = expected(self.lanes, keys)
        wrong = {key for key in wanted | self.accounts if self.accounts.get(key) != wanted.get(key)}
        assert not wrong, f"{len(wrong)} keys are wrong, such as {_first(wrong, self, wanted)}"
        assert self.records, "a checkpoint of nothing proves nothing"


def _first(wrong: set[int], audit: Audit, wanted: Accounts) -> str:
    key = min(wrong)
    return f"{key}: {audit.accounts.get(key)} instead of {wanted.get(key)}"


def expected(lanes: Mapping[int, int], keys: int) -> Accounts:
    """Return the accounts of all keys once so many numbers of each lane were given."""
    count, total, digest = (np.zeros(keys, dtype=np.uint64) for _ in range(3))
    for lane, given in lanes.items():
        numbers = np.arange(lane * _LANE, lane * _LANE + given, dtype=np.uint64)
        key = numbers % np.uint64(keys)
        np.add.at(count, key, np.uint64(1))
        np.add.at(total, key, numbers)
        np.add.at(digest, key, _mixed(numbers))
    columns = (each.astype(np.int64).tolist() for each in (count, total, digest))
    return dict(enumerate(zip(*columns, strict=True)))


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix as the job does: Java's arithmetic wraps, as that of unsigned 64 bits does."""
    mixed = (numbers + np.uint64(1)) * _GOLDEN
    return mixed ^ (mixed >> np.uint64(29))


def audited(
    cluster: Cluster, checkpoint: Path | str, scratch: Path, config: Mapping[str, str]
) -> Audit:
    """Have Flink restore a checkpoint, and return what it holds; any failure raises.

    No checkpoint is taken, so that NO_CLAIM suits every layout, and nothing of the storage changes.
    """
    scratch.mkdir(parents=True)
    try:
        cluster.run_to_end(checkpoint, arguments=("--audit", str(scratch)), config=config)
        lanes = {file.read_text() for file in scratch.glob("lanes-*")}
        assert len(lanes) == 1, f"subtasks disagree about the lanes: {lanes}"
        found = [file.read_text() for file in scratch.glob("keys-*")]
        rows = [list(map(int, line.split())) for text in found for line in text.splitlines()]
        accounts = {row[0]: (row[1], row[2], row[3]) for row in rows}
        assert len(accounts) == len(rows), "a key was found twice"
        pairs = (line.split() for line in lanes.pop().splitlines())
        return Audit({int(lane): int(given) for lane, given in pairs}, accounts)
    finally:
        shutil.rmtree(scratch)
