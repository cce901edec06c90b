"""A job that was redeployed again and again: each time another id, each time another directory."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from cli.helpers import DAY, Bed, Job, Ran, flink, run
from support.rest_server import RestServer


@dataclass
class Redeploys:
    """A chain of jobs in one storage root, of which the newest one runs.

    Attributes:
        bed: Storage root and state location.
        server: The cluster that ran one job after the other.
        jobs: Jobs, oldest first; job n has checkpoints 10n+5 and 10n+6 with a file each.

    """

    bed: Bed
    server: RestServer
    jobs: list[Job] = field(default_factory=list)

    @classmethod
    def made(cls, folder: Path, stack: ExitStack, *, count: int = 4) -> Redeploys:
        """Return a chain; a cycle saw the cluster after each redeploy."""
        chain = cls(Bed(folder), stack.enter_context(RestServer({})))
        for number in range(count):
            job_id = f"{number:08x}" + "deadbeef" * 3
            chain.jobs.append(Job(job_id, chain.bed.root / job_id))
            age = timedelta(hours=100) if number == count - 1 else (100 - 10 * number) * DAY
            for checkpoint in (10 * number + 5, 10 * number + 6):
                path = chain.jobs[-1].shared(
                    f"{number:08x}-0000-4000-8000-{checkpoint:012x}", age=age
                )
                chain.jobs[-1].checkpoint(checkpoint, path, age=age)
            chain.server.routes.update(chain.cluster())
            seen = run("plan", *chain.options)
            assert seen.code == 0, seen.err
        return chain

    @property
    def running(self) -> Job:
        """Return the newest job."""
        return self.jobs[-1]

    @property
    def options(self) -> list[object]:
        """Return what every command is given: all jobs but the newest are over."""
        ended = [option for job in self.jobs[:-1] for option in ("--ended-job", job.id)]
        place = [self.bed.root, "--state", self.bed.state, "--closed-world"]
        return [*place, "--flink-rest", self.server.url, *ended]

    def cluster(self, **changes: Any) -> dict[str, Any]:
        """Return a cluster that runs the newest job, restored from the one before."""
        newest = 10 * len(self.jobs) - 4
        before = newest - 10
        origin = (before, self.jobs[-2].folder / f"chk-{before}") if before > 0 else None
        return flink(self.running, completed=newest, restored=origin, **changes)

    def expire(self, *options: object) -> Ran:
        """Run ``expire``."""
        return run("expire", *self.options, *options)

    def folder_of(self, name: str) -> Path:
        """Return the folder of a checkpoint: ``0/6`` is the newest one of the oldest job."""
        number, _, checkpoint = name.partition("/")
        return self.jobs[int(number)].folder / f"chk-{10 * int(number) + int(checkpoint)}"
