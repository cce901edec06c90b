"""What happens to the jobs: a seeded storyteller who breaks, restores, rescales and tidies up."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx

from integration.harness.flinkbed.cluster import ClaimMode, Cluster, SavepointFormat
from integration.harness.flinkbed.rest import ENDED
from integration.harness.flinkbed.settings import as_numbers
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until
from safety.soak.events import Deeds, Line
from safety.soak.places import Place, Places
from support import speed

INTERVAL = f"{round(speed.scaled(1000))}ms"
"""Checkpoints come as fast as collectors can follow."""
PARALLELISMS = (1, 2, 3)
_HOLD_SECONDS = (0.1, 2.5)
_HELD_PATIENCE_SECONDS = 15.0
_SETTLE_SECONDS = 100.0
_KEPT_OF_A_DEAD_JOB = 2
_FORMATS: tuple[SavepointFormat, ...] = ("CANONICAL", "NATIVE")


@dataclass(slots=True)
class Story:
    """Lines of jobs on one cluster, and what an operator does with them."""

    cluster: Cluster
    places: Places
    chance: random.Random
    calm: Callable[[int], None]  # waits until collectors have gone through so many cycles
    config: Mapping[str, str]  # settings of the jobs
    lines: list[Line] = field(default_factory=list)
    deeds: Deeds = field(default_factory=Deeds)

    @property
    def modes(self) -> list[ClaimMode]:
        found: list[ClaimMode] = [] if self.places.layout.has_log else ["NO_CLAIM"]
        found.append("CLAIM")
        return found if as_numbers(self.cluster.version) >= (2,) else [*found, "LEGACY"]

    @property
    def formats(self) -> Sequence[SavepointFormat]:
        return _FORMATS if self.places.layout.is_canonical else ("NATIVE",)

    def begin(self, lines: int) -> None:
        for _ in range(lines):
            self.lines.append(self._fresh())
        for line in self.lines:
            self.cluster.wait_for_checkpoints(line.job, 2)

    def go_on(self, end: float) -> None:
        """Let everything happen once, and again until the time is over.

        Now and then nothing happens for a while: whoever deletes only what it can prove needs that.
        """
        events = {  # and for how many cycles nothing may happen afterwards
            self.lose_an_upload: (4, 6),
            self.crash: (0, 3),
            self.go_on_elsewhere: (0, 3),
            self.take_a_savepoint: (0, 0),
            self.go_on_from_a_savepoint: (0, 2),
            self.stall: (0, 2),
            self.prune: (0, 3),
        }
        is_first_round = True
        while is_first_round or time.monotonic() < end:
            for event in self.chance.sample(list(events), len(events)):
                if is_first_round or time.monotonic() < end:
                    event()
                    self.calm(self.chance.randint(*events[event]))
            is_first_round = False

    def only_stall(self, end: float) -> None:
        """Let jobs run, and hold back acknowledgements, until the time is over."""
        while time.monotonic() < end:
            self.stall()

    def finish(self) -> list[Place]:
        newest: list[Place] = []
        for line in self.lines:
            self._settle(line)
            self._end(line.job)
            newest.append(self.places.retained(line.job)[-1])
        return newest

    def stall(self) -> None:
        self.cluster.hold()
        time.sleep(self.chance.uniform(*_HOLD_SECONDS))
        self.cluster.release()
        self.deeds.stalls += 1

    def lose_an_upload(self) -> None:
        """Kill the TaskManager while checkpoints are being uploaded."""
        self._hold()
        self.cluster.kill_taskmanager()
        self.cluster.release()
        self.cluster.start_taskmanager()
        self.deeds.kills["taskmanager"] += 1
        for line in self.lines:
            self._settle(line)

    def crash(self) -> None:
        """Kill both processes: all jobs are over, and others go on where they were."""
        if self.chance.random() < 0.7:
            self._hold()
        self.deeds.checkpoints += sum(self._count(line.job) for line in self.lines)
        self.cluster.kill_jobmanager()
        self.cluster.kill_taskmanager()
        self.cluster.release()
        self.deeds.kills["jobmanager"] += 1
        for line in self.lines:
            self.places.end(line.job)
        self.cluster.start_jobmanager()
        self.cluster.start_taskmanager()
        for line in self.lines:
            self._succeed(line, self._choice_of(line.job), self.chance.choice(self.modes))

    def go_on_elsewhere(self) -> None:
        """Cancel a job, maybe in the middle of a checkpoint; another one takes over."""
        line = self.chance.choice(self.lines)
        if self.chance.random() < 0.5:
            self._hold()
        self._end(line.job)
        self._succeed(line, self._choice_of(line.job), self.chance.choice(self.modes))

    def take_a_savepoint(self) -> None:
        line, how = self.chance.choice(self.lines), self.chance.choice(self.formats)
        self.cluster.savepoint(line.job, self.places.savepoints, how)
        self.deeds.savepoints[how.lower()] += 1

    def go_on_from_a_savepoint(self) -> None:
        """End a job with a savepoint, or after one; another one takes over from it."""
        line, how = self.chance.choice(self.lines), self.chance.choice(self.formats)
        if self.chance.random() < 0.5:
            self.deeds.checkpoints += self._count(line.job)
            made = self.cluster.stop_with_savepoint(line.job, self.places.savepoints, how)
            self.places.finish(line.job)
            self.deeds.savepoints[f"stop, {how.lower()}"] += 1
        else:
            made = self.cluster.savepoint(line.job, self.places.savepoints, how)
            self.deeds.savepoints[how.lower()] += 1
            self._end(line.job)
        self._succeed(line, made, self.chance.choice(self.modes), what=" savepoint")

    def prune(self) -> None:
        """Delete old checkpoints of jobs that are over, metadata first, as operators do."""
        for job in self.places.ended:
            for checkpoint in self.places.retained(job)[:-_KEPT_OF_A_DEAD_JOB]:
                self._delete(checkpoint)
        others = [job for job in self.places.ended if self.places.retained(job)]
        if len(others) > len(self.lines):
            self._delete(self.places.retained(self.chance.choice(others))[0])

    def _hold(self) -> None:
        """Hold a checkpoint in upload, if one begins in time: some of its subtasks, or all."""
        self.cluster.hold()
        wanted = self.chance.randint(1, sum(line.parallelism for line in self.lines))
        try:
            wait_until(
                "held subtasks",
                lambda: len(list(self.cluster.control.glob("held-*"))) >= wanted,
                seconds=_HELD_PATIENCE_SECONDS,
            )
        except FlinkbedError:
            print(f"  fewer than {wanted} subtasks are held")

    def _choice_of(self, job: str) -> Place | None:
        """Return a checkpoint of a job to go on from, the newest as a rule, if there is one.

        One of which a file is gone cannot be chosen; who removed it is asked at the end.
        """
        whole = []
        for each in self.places.retained(job):
            if gone := self.places.gone_from(each):
                self.deeds.damaged[str(each)] = gone
            else:
                whole.append(each)
        if not whole:
            return None
        return whole[-1] if self.chance.random() < 0.7 else self.chance.choice(whole)

    def _succeed(
        self, line: Line, restore: Place | None, mode: ClaimMode, *, what: str = ""
    ) -> None:
        """Start a job that goes on from a checkpoint, wider or narrower, and see it run.

        Flink deletes what a claimed checkpoint does not need any more, so that older and younger
        ones of the old job are worth nothing: an operator deletes them first. Jobs with a log
        keep their parallelism: Flink 2.3 replays the log wrongly after two rescales that no
        materialization parts.
        """
        self.cluster.release()
        if restore is None:
            fresh = self._fresh()
            line.job, line.parallelism = fresh.job, fresh.parallelism
            self._settle(line)
            return
        if mode != "NO_CLAIM" and not what:
            for other in self.places.beside(restore):
                if other != restore:
                    self._delete(other)
        if mode == "CLAIM" and not what:
            self.places.give_up(restore)
        others = [each for each in PARALLELISMS if each != line.parallelism]
        parallelism = self.chance.choice(PARALLELISMS if self.deeds.rescales else others)
        if self.places.layout.has_log:
            parallelism = line.parallelism
        try:
            line.job = self._submit(parallelism, restore, mode)
        except FlinkbedError as err:
            self._begin_anew(line, restore, err)
            return
        self.deeds.restores[f"{mode}{what}"] += 1
        self.deeds.rescales += parallelism != line.parallelism
        line.parallelism = parallelism
        self._settle(line)

    def _settle(self, line: Line) -> None:
        """Wait for a checkpoint; a job that does not come back gets a successor from nothing."""
        try:
            wait_until("the job", lambda: self._runs(line.job), seconds=_SETTLE_SECONDS)
            now = self._count(line.job)
            wait_until("a checkpoint", lambda: self._count(line.job) > now, seconds=_SETTLE_SECONDS)
        except FlinkbedError as err:
            newest = self.places.retained(line.job)[-1:]
            self._begin_anew(line, newest[0] if newest else None, err)

    def _begin_anew(self, line: Line, checkpoint: Place | None, err: FlinkbedError) -> None:
        """End what does not run, and begin from nothing.

        A file of the checkpoint may be gone; who removed it is asked at the end. Whatever else it
        was is unexplained, unless Flink misses a file of its own doing, which is asked then, too.
        """
        gone = self.places.gone_from(checkpoint) if checkpoint else set()
        if gone:
            self.deeds.damaged[str(checkpoint)] = gone
        else:
            why = self._reason(line.job)
            self.deeds.unexplained[f"{line.job} from {checkpoint}"] = f"{err}\n{why}"
        others = {each.job for each in self.lines if each is not line}
        for job in {*self.cluster.rest.unfinished_jobs()} - others:
            self._end(job)
        for job in self.cluster.rest.get("/jobs")["jobs"]:
            if job["status"] in ENDED:  # one that failed by itself as well
                self.places.end(job["id"])
        fresh = self._fresh()
        line.job, line.parallelism = fresh.job, fresh.parallelism

    def _reason(self, job: str) -> str:
        try:
            return self.cluster.rest.root_exception(job)
        except httpx.HTTPError as err:
            return str(err)

    def _runs(self, job: str) -> bool:
        return self.cluster.rest.is_running(job)

    def _fresh(self) -> Line:
        parallelism = self.chance.choice(PARALLELISMS)
        return Line(self._submit(parallelism), parallelism)

    def _submit(
        self, parallelism: int, restore: Place | None = None, mode: ClaimMode | None = None
    ) -> str:
        return self.cluster.submit(
            self.places.flink_root,
            restore,
            mode,
            parallelism=parallelism,
            interval=INTERVAL,
            config=self.config,
        )

    def _end(self, job: str) -> None:
        self.deeds.checkpoints += self._count(job)
        self.cluster.cancel(job)
        self.cluster.release()
        self.places.end(job)

    def _delete(self, checkpoint: Place) -> None:
        self.places.delete(checkpoint)
        self.deeds.pruned += 1

    def _count(self, job: str) -> int:
        for _ in range(20):
            try:
                return int(self.cluster.checkpoints(job)["counts"]["completed"])
            except httpx.HTTPError:
                time.sleep(0.5)
        return int(self.cluster.checkpoints(job)["counts"]["completed"])
