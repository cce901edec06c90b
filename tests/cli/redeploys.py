"""A job that was redeployed again and again: each time another id, each time another directory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from cli.helpers import AT_ONCE, DAY, Bed, Job, Ran, flink, run
from support.rest_server import RestServer
from unit.flinkstate.metadata.properties_by_hand import checkpoint_properties

_CLAIMING = 16


def numbered(number: int) -> str:
    """Return a job id that shows the number of its job, and looks like a random one."""
    return f"{number:07}d" + "deadbeef" * 3


@dataclass
class Redeploys:
    """A chain of jobs in one storage root, of which the newest one runs."""

    bed: Bed  # storage root and state location
    server: RestServer  # the cluster that ran one job after the other
    # jobs, oldest first; job n has checkpoints 10n+5 and 10n+6 with a file each
    jobs: list[Job] = field(default_factory=list)

    @classmethod
    def made(
        cls,
        folder: Path,
        stack: ExitStack,
        *,
        count: int = 4,
        claims: bool = False,
        ids: Callable[[int], str] = numbered,
    ) -> Redeploys:
        """Return a chain; a cycle saw the cluster after each redeploy.

        The second job may have claimed a file of the first, which its newest checkpoint names.
        """
        chain = cls(Bed(folder), stack.enter_context(RestServer({})))
        properties = checkpoint_properties()
        for number in range(count):
            job_id = ids(number)
            chain.jobs.append(Job(job_id, chain.bed.root / job_id))
            age = timedelta(hours=100) if number == count - 1 else (100 - 10 * number) * DAY
            for checkpoint in (10 * number + 5, 10 * number + 6):
                name = f"{number:08x}-0000-4000-8000-{checkpoint:012x}"
                paths = [chain.jobs[-1].shared(name, age=age)]
                if claims and checkpoint == _CLAIMING:
                    paths += (chain.jobs[0].folder / "shared").glob("*5")
                chain.jobs[-1].checkpoint(checkpoint, *paths, age=age, properties=properties)
            chain.server.routes.update(chain.cluster())
            seen = run("plan", *chain.options)
            assert seen.code == 0, seen.err
        return chain

    @property
    def running(self) -> Job:
        return self.jobs[-1]

    @property
    def options(self) -> list[object]:
        ended = [option for job in self.jobs[:-1] for option in ("--ended-job", job.id)]
        place = [self.bed.root, "--state", self.bed.state, "--closed-world"]
        return [*place, "--flink-rest", self.server.url, *ended]

    def cluster(self, **changes: Any) -> dict[str, Any]:
        newest = 10 * len(self.jobs) - 4
        before = newest - 10
        origin = (before, self.jobs[-2].folder / f"chk-{before}") if before > 0 else None
        return flink(self.running, completed=newest, restored=origin, **changes)

    def expire(self, *options: object) -> Ran:
        return run("expire", *self.options, *options)

    def folder_of(self, name: str) -> Path:
        number, _, checkpoint = name.partition("/")
        return self.jobs[int(number)].folder / f"chk-{10 * int(number) + int(checkpoint)}"

    def expired(self, *options: object, delete: bool = True) -> Path:
        """Plan an expiry and sweep it; return the folder of the plan."""
        self.bed.plans += 1
        out = self.bed.folder / f"expiry-{self.bed.plans}"
        made = self.expire("--out", out, *options)
        assert made.code == 0, made.err
        ran = run("sweep", out, *(["--delete"] if delete else []))
        assert ran.code == 0, ran.err
        return out

    def collected(self, *options: object) -> None:
        """Collect by the ordinary rules: tombstones, then deletions, without any margin."""
        for _ in range(2):
            run("sweep", self.collection(*options), "--delete")

    def collection(self, *options: object) -> Path:
        """Plan by the ordinary rules, without any margin; return the folder of the plan."""
        self.bed.plans += 1
        out = self.bed.folder / f"collect-{self.bed.plans}"
        margins = ("--grace-period", "0", "--quiet-period", "0")
        made = run("plan", *self.options, "--out", out, *AT_ONCE, *margins, *options)
        assert made.code in {0, 4}, made.err
        return out

    def names(self) -> set[str]:
        """Return each stored ``_metadata``, as ``0/6`` for the newest one of the oldest job."""
        return {
            f"{number}/{int(each.parent.name.removeprefix('chk-')) % 10}"
            for number, job in enumerate(self.jobs)
            for each in job.folder.glob("chk-*/_metadata")
        }

    def files(self) -> set[str]:
        """Return each file that a checkpoint names and that is stored, as its name is."""
        return {
            f"{number}/{int(each.name[-12:], 16) % 10}"
            for number, job in enumerate(self.jobs)
            for each in (job.folder / "shared").glob("*")
        }
