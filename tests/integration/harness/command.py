"""The real command line against one storage root, in this process or as one of its own."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

from cli.helpers import run
from support import speed
from support.processes import finished

Answer = TypeVar("Answer")

MARGINS = (
    *("--grace-period", "0", "--allow-short-margins", "--clock-skew", "0"),
    *("--quarantine-period", "0s"),
)
NO_MARGINS = {
    "grace_period": "0s",
    "allow_short_margins": True,
    "clock_skew": "0s",
    "quarantine_period": "1s",
    "quiet_period": "0s",
    "closed_world": True,
    "max_delete_share": 1,
}
"""The settings of a storage root that is collected as fast as it can be."""
# a refusal that is right, and over at the next attempt: checkpoints outran the listing (R12, R18)
PASSING = (
    "checkpoints come and go faster than the listing",
    "may have been subsumed during the listing",
    "was subsumed during the sweep",
)


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def was_outrun(self) -> bool:
        """Whether it was refused only because the job's checkpoints came too fast."""
        return any(reason in self.out for reason in PASSING)

    def __str__(self) -> str:
        """Return what a failed assertion should show."""
        return f"exit {self.code}\n{self.out[-4000:]}\n{self.err[-4000:]}"


def orphangc(*arguments: str | Path) -> Finished:
    """Run the command line inside this process, which has loaded it already."""
    ran = run(*arguments)
    return Finished(ran.code, ran.out, ran.err)


def installed_orphangc(*arguments: str | Path) -> Finished:
    command = [Path(sys.executable).with_name("orphangc"), *arguments]
    done = finished(command)
    return Finished(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan on disk, and how the command that made it ended."""

    folder: Path
    root: Path
    finished: Finished

    @property
    def code(self) -> int:
        return self.finished.code

    def guard(self, job_id: str) -> str | None:
        refused = self._job(job_id)["refused"]
        return None if refused is None else str(refused["guard"])

    def conditions(self, job_id: str) -> set[str]:
        return {str(each["condition"]) for each in self._job(job_id)["blocked"]}

    def files(self, *actions: str, reason: str | None = None) -> set[Path]:
        return {
            self.root / row["key"]
            for row in pq.read_table(self.folder / "verdicts").to_pylist()
            if row["action"] in actions and reason in {None, row["reason"]}
        }

    @property
    def removals(self) -> set[Path]:
        return self.files("tombstone", "delete")

    def _job(self, job_id: str) -> dict[str, Any]:
        return next(job for job in self.finished.document["jobs"] if job["job_id"] == job_id)


@dataclass(slots=True)
class Collector:
    """Plans and sweeps of one storage root, with one state location and margins for tests.

    Whatever a job's checkpoints outran is tried again; those that are taken on request never
    outrun anything. Each refusal of that kind is printed, so that ``pytest -rP`` shows it.
    """

    root: Path  # the storage root
    work: Path  # where plans and state go; not inside the storage root
    orphangc: Callable[..., Finished] = orphangc  # runs a command
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def plan(self, *options: str | Path) -> Planned:
        return self._until_not_outrun(lambda: self._plan(options), lambda made: made.finished)

    def _plan(self, options: tuple[str | Path, ...]) -> Planned:
        folder = self.work / f"plan-{next(self._numbers)}"
        state = self.work / "state"
        finished = self.orphangc(
            "plan", self.root, *MARGINS, "--state", state, *options, "--out", folder
        )
        assert finished.code in {0, 4}, str(finished)
        return Planned(folder, self.root, finished)

    def sweep(self, plan: Planned, *options: str) -> Finished:
        return self._until_not_outrun(
            lambda: self.orphangc("sweep", plan.folder, *options), lambda done: done
        )

    @staticmethod
    def _until_not_outrun(
        attempt: Callable[[], Answer], finished: Callable[[Answer], Finished]
    ) -> Answer:
        end = time.monotonic() + speed.patience()
        while finished(made := attempt()).was_outrun:
            print(f"outrun: {finished(made)}")
            assert time.monotonic() < end, "checkpoints come too fast for this test"
        return made
