"""The real command line, as a process of its own, against one storage root."""

import json
import subprocess
import sys
from collections.abc import Set
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

COMMAND_SECONDS = 120
ATTEMPTS = 6
MARGINS = (
    *("--grace-period", "0", "--allow-short-grace-period", "--clock-skew", "0"),
    *("--quarantine-period", "1s"),
)
# what a job may be refused for though nothing is wrong: its checkpoints outran the listing
MAY_PASS = "unstable_root"  # noqa: S105 - a guard's name
REFUSED = 4


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return what it printed as JSON."""
        return json.loads(self.out)

    def __str__(self) -> str:
        """Return all that a failed assertion should show."""
        return f"exit {self.code}\n{self.out[-4000:]}\n{self.err[-4000:]}"


def orphangc(*arguments: str | Path) -> Finished:
    """Run the installed command to its end."""
    command = [str(Path(sys.executable).with_name("orphangc")), *map(str, arguments)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=COMMAND_SECONDS
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan on disk."""

    folder: Path
    root: Path
    finished: Finished

    def job(self, job_id: str) -> dict[str, Any]:
        """Return what the plan says of one job."""
        return next(job for job in self.finished.document["jobs"] if job["job_id"] == job_id)

    def guard(self, job_id: str) -> str | None:
        """Return the guard that refused the job, if one did."""
        refused = self.job(job_id)["refused"]
        return None if refused is None else str(refused["guard"])

    def conditions(self, job_id: str) -> set[str]:
        """Return which conditions of deletion the job does not meet."""
        return {str(each["condition"]) for each in self.job(job_id)["blocked"]}

    def files(self, *actions: str, reason: str | None = None) -> set[Path]:
        """Return the files with one of these actions and, if one is given, this reason."""
        rows = pq.read_table(self.folder / "verdicts").to_pylist()
        return {
            self.root / row["key"]
            for row in rows
            if row["action"] in actions and reason in {None, row["reason"]}
        }

    @property
    def removals(self) -> set[Path]:
        """Return every file that the plan would lay a tombstone on, or delete."""
        return self.files("tombstone", "delete")


@dataclass(slots=True)
class Collector:
    """Plans and sweeps of one storage root, with one state location.

    Attributes:
        root: The storage root.
        work: Where plans and state go.
        refusals: Why an attempt at a plan or sweep was refused and made again.

    """

    root: Path
    work: Path
    refusals: list[str] = field(default_factory=list)
    _numbers: count = field(default_factory=lambda: count(1))

    def plan(self, *options: str | Path) -> Planned:
        """Make one plan, with margins short enough for a test."""
        folder = self.work / f"plan-{next(self._numbers)}"
        state = self.work / "state"
        finished = orphangc(
            "plan", self.root, *MARGINS, "--state", state, *options, "--out", folder
        )
        assert finished.code in {0, REFUSED}, str(finished)
        return Planned(folder, self.root, finished)

    def accepted_plan(self, *options: str | Path, jobs: Set[str]) -> Planned:
        """Plan until no checkpoint outran the listing; no other refusal is put up with."""
        for _ in range(ATTEMPTS):
            made = self.plan(*options)
            guards = {guard for job in jobs if (guard := made.guard(job))}
            if not guards:
                assert made.finished.code == 0, str(made.finished)
                return made
            self._refused("plan", str([made.job(job)["refused"] for job in jobs]))
            assert guards == {MAY_PASS}, str(made.finished)
        raise AssertionError(f"always refused: {self.refusals}")

    def sweep(self, plan: Planned, *options: str) -> Finished:
        """Carry a plan out once."""
        return orphangc("sweep", plan.folder, *options)

    def accepted_sweep(self, plan: Planned, *options: str) -> Finished:
        """Sweep until no checkpoint outran the listing; nothing else may stand in the way."""
        for _ in range(ATTEMPTS):
            done = self.sweep(plan, *options)
            if done.code == 0:
                return done
            self._refused("sweep", done.out)
            assert done.code == REFUSED, str(done)
            assert MAY_PASS in done.out or "subsumed during the sweep" in done.out, str(done)
        raise AssertionError(f"always refused: {self.refusals}")

    def _refused(self, what: str, why: str) -> None:
        self.refusals.append(f"{what}: {why}")
        print(self.refusals[-1])
