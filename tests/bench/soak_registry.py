"""Soak: does registry mode ever plan to remove a file that a checkpoint needs? Run by hand.

    python tests/bench/soak_registry.py [--version 1.20.5] [--checkpoints 2000] [--seconds 600]
        [--modes registry derived] [--jobs 2] [--retained 1] [--seed 1] [--keep DIR]
        [--kill taskmanager jobmanager both] [--plain]

Real Flink with the plugin and ZooKeeper, jobs of 50 ms checkpoints, four of them at once; every
other job has ids in its files' names. Acknowledgements are held back at random, TaskManagers and
JobManagers are killed, alone or together, jobs are cancelled and restored by others. All the time
one process writes down what every ``_metadata``
names that appears, and another one plans, with every margin 0: in registry mode, and, as the
negative control, in derived mode without the guards that registry mode lifts. A candidate is wrong
if a checkpoint names it that was there when the plan was made, or was written afterwards.

``--plain`` has the same happen to Flink without the plugin and with nobody who plans: what does
Flink lose by itself?

Ends with an error if registry mode was wrong, or never right; or if the control was not wrong where
``--control-must-fail`` asks for it.
"""

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx

from bench.soaking import DERIVED, REGISTRY, Places, Tally, plan_on, tallies
from integration.harness.flinkbed.cluster import ClaimMode
from integration.harness.flinkbed.exporting import ExportingCluster
from integration.harness.flinkbed.settings import Workload
from integration.harness.flinkbed.truth import gone_from, retained
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until
from integration.harness.flinkbed.zookeeper import ZooKeeper
from safety.soak.reference_tracker import watch

_INTERVAL = "50 ms"
_WORKLOAD = Workload(keys=500, payload=150, records_per_second=300)
_SLOW = {"state.backend.rocksdb.checkpoint.transfer.thread.num": "1"}
_MODES = {"registry": REGISTRY, "derived": DERIVED}
_HOLD_SECONDS = 0.3
_RUN_SECONDS = 0.3
_CHECKPOINTS_TO_A_KILL = 400
_CHECKPOINTS_TO_A_RESTORE = 700
_RECOVERY_SECONDS = 90.0
_HOPE_SECONDS = 20.0
_VICTIMS = ("taskmanager", "jobmanager", "both")


@dataclass(slots=True)
class Story:
    """What happens to the jobs."""

    bed: ExportingCluster
    places: Places
    chance: random.Random
    victims: Sequence[str]
    is_plain: bool = False  # no ids in names
    jobs: dict[str, bool] = field(default_factory=dict)  # id: whether ids are in the names
    finished: int = 0  # checkpoints of jobs that are over, and of JobManagers that are dead
    kills: Counter[str] = field(default_factory=Counter)
    restores: int = 0
    lost_by_flink: int = 0

    def begin(self, jobs: int) -> None:
        for number in range(jobs):
            with_ids = number % 2 == 0 and not self.is_plain
            self.jobs[self._submit(with_ids=with_ids)] = with_ids
        for job in self.jobs:
            self.bed.cluster.wait_for_checkpoints(job, 2)

    def completed(self) -> int:
        return self.finished + sum(map(self._count, self.jobs))

    def go_on(self, checkpoints: int, end: float) -> None:
        """Let it happen until so many checkpoints have completed, or the time is over."""
        kill, restore = _CHECKPOINTS_TO_A_KILL, _CHECKPOINTS_TO_A_RESTORE
        while (done := self.completed()) < checkpoints and time.monotonic() < end:
            self._stall()
            if done >= kill:
                self._kill()
                kill = done + self._about(_CHECKPOINTS_TO_A_KILL)
            if done >= restore:
                self._restore_one()
                restore = done + self._about(_CHECKPOINTS_TO_A_RESTORE)
        self.bed.cluster.release()

    def _about(self, number: int) -> int:
        return self.chance.randint(number // 2, number * 3 // 2)

    def _stall(self) -> None:
        """Hold back acknowledgements for a moment: up to four checkpoints are pending then."""
        for _ in range(5):
            self.bed.cluster.hold()
            time.sleep(self.chance.uniform(0.02, _HOLD_SECONDS))
            self.bed.cluster.release()
            time.sleep(self.chance.uniform(0.02, _RUN_SECONDS))

    def _kill(self) -> None:
        """Kill with checkpoints pending, and see all jobs run again."""
        flink, victim = self.bed.cluster, self.chance.choice(self.victims)
        has_jobmanager_died, has_taskmanager_died = victim != "taskmanager", victim != "jobmanager"
        flink.hold()
        time.sleep(self.chance.uniform(0.05, _HOLD_SECONDS))
        if has_jobmanager_died:  # the next one counts from 0
            self.finished += sum(map(self._count, self.jobs))
            flink.kill_jobmanager()
        if has_taskmanager_died:
            flink.kill_taskmanager()
        flink.release()
        if has_jobmanager_died:
            flink.start_jobmanager()
        if has_taskmanager_died:
            flink.start_taskmanager()
        self.kills[victim] += 1
        for job in list(self.jobs):
            self._settle(job)

    def _restore_one(self) -> None:
        """Cancel a job, whose successor claims its newest checkpoint or leaves it alone."""
        job = self.chance.choice(list(self.jobs))
        with_ids = self._end(job)
        mode: ClaimMode = self.chance.choice(["CLAIM", "NO_CLAIM"])
        newest = retained(self.bed.base / job)[-1]
        if gone := gone_from(newest):
            print(f"  {newest} cannot be restored: {min(gone)} is gone")
            self.lost_by_flink += 1
            successor = self._submit(with_ids=with_ids)
        else:
            successor = self._submit(with_ids=with_ids, restore=newest, mode=mode)
        self.jobs[successor] = with_ids
        self.restores += 1
        self._settle(successor)

    def _settle(self, job: str) -> None:
        """Wait for a checkpoint; a job that Flink cannot recover gets a fresh successor."""
        hopeless = time.monotonic() + _HOPE_SECONDS
        try:
            _patiently("the job to run", lambda: self._runs(job, hopeless))
            now = self._count(job)
            _patiently("a checkpoint", lambda: self._count(job) > now)
        except FlinkbedError:
            print(
                f"  job {job} does not recover: {self.bed.cluster.rest.root_exception(job)[:600]}"
            )
            self.lost_by_flink += 1
            with_ids = self._end(job)
            self.jobs[self._submit(with_ids=with_ids)] = with_ids

    def _runs(self, job: str, hopeless: float) -> bool:
        """Return whether a job runs, but do not hope for long that its files come back."""
        if self.bed.cluster.rest.is_running(job):
            return True
        newest = retained(self.bed.base / job)[-1:]
        if time.monotonic() > hopeless and any(map(gone_from, newest)):
            raise FlinkbedError(f"{newest[0]} names what is gone")
        return False

    def _end(self, job: str) -> bool:
        self.finished += self._count(job)
        self.bed.cluster.cancel(job)
        self.places.end(job)
        return self.jobs.pop(job)

    def _submit(
        self, *, with_ids: bool, restore: Path | None = None, mode: ClaimMode | None = None
    ) -> str:
        return self.bed.submit(
            with_ids=with_ids, interval=_INTERVAL, restore=restore, mode=mode, config=_SLOW
        )

    def _count(self, job: str) -> int:
        return int(_asked(lambda: self.bed.cluster.checkpoints(job))["counts"]["completed"])


def _patiently(what: str, probe: Callable[[], bool]) -> None:
    wait_until(what, probe, seconds=_RECOVERY_SECONDS)


def _highly_available(address: str, work: Path) -> dict[str, str]:
    """Return the settings by which a JobManager's successor takes over its jobs."""
    return {
        "high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": address,
        "high-availability.storageDir": f"file://{work / 'ha'}",
    }


def _asked(probe: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return an answer of a JobManager that may be busy."""
    for _ in range(20):
        try:
            return probe()
        except httpx.HTTPError:
            time.sleep(0.5)
    return probe()


@contextmanager
def _observed(places: Places, modes: list[str]) -> Iterator[None]:
    """Have checkpoints written down, and plans made."""
    spawned = multiprocessing.get_context("spawn")
    no_plans, nothing = spawned.Event(), spawned.Event()
    watcher = spawned.Process(target=watch, args=([places.base], places.checkpoints, nothing, 0.01))
    planner = spawned.Process(target=plan_on, args=(places, modes, no_plans))
    watcher.start()
    planner.start()
    try:
        wait_until("the first plan", lambda: places.cycles.is_file() and _lines_in(places.cycles))
        yield
        if not (watcher.is_alive() and planner.is_alive()):
            raise SystemExit("watcher or planner has ended: nothing is proven")
        no_plans.set()
        planner.join(30)
        time.sleep(3)  # checkpoints that were pending at the last plan
    finally:
        for flag, process in ((no_plans, planner), (nothing, watcher)):
            flag.set()
            process.join(10)
            process.kill()


def _lines_in(file: Path) -> int:
    return len(file.read_text().splitlines())


def soak(args: argparse.Namespace, work: Path) -> dict[str, Tally]:
    with ZooKeeper(args.version, work / "zookeeper") as server:
        bed = ExportingCluster(
            args.version,
            work,
            retained=args.retained,
            workload=_WORKLOAD,
            more=_highly_available(server.address, work),
            has_plugin=not args.plain,
        )
        places = Places(bed.base, bed.registry, work)
        story = Story(bed, places, random.Random(args.seed), args.kill, is_plain=args.plain)
        modes = [_MODES[each] for each in args.modes]
        with bed.cluster:
            story.begin(args.jobs)
            with nullcontext() if args.plain else _observed(places, modes):
                begun, before = time.monotonic(), story.completed()
                story.go_on(before + args.checkpoints, begun + args.seconds)
                completed, seconds = story.completed() - before, time.monotonic() - begun
    seen, found = (0, {}) if args.plain else tallies(places)
    print(
        f"Flink {args.version}: {completed} checkpoints completed ({seen} read) in {seconds:.0f} s,"
        f" killed {dict(story.kills)}, {story.restores} jobs restored by another,"
        f" {story.lost_by_flink} lost by Flink",
        flush=True,
    )
    for mode, tally in found.items():
        _print(mode, tally)
    return found


def _print(mode: str, tally: Tally) -> None:
    refused = tally.refused.total()
    print(
        f"  {mode}: {tally.cycles} cycles of {tally.seconds / max(1, tally.cycles):.2f} s,"
        f" {tally.judged} directories judged, {refused} times one refused,"
        f" {len(tally.candidates)} candidates, {len(tally.wrong)} WRONG"
        + (f" ({len(tally.wrong_though_stable)} by the gate alone)" if mode == DERIVED else "")
    )
    for reason, times in tally.refused.most_common(6):
        print(f"    {times} x {reason[:150]}")
    print(f"    unmet conditions: {dict(tally.blocked) or 'none'}")
    for key, path in list(tally.wrong.items())[:3]:
        print(f"    wrong: {key}, needed by {'/'.join(Path(path).parts[-3:-1])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--version", default="1.20.5")
    parser.add_argument("--checkpoints", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--modes", nargs="+", choices=_MODES, default=list(_MODES))
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=2)
    parser.add_argument("--retained", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a new folder for everything that was written")
    parser.add_argument("--kill", nargs="+", choices=_VICTIMS, default=list(_VICTIMS))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--control-must-fail", action="store_true")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True)
        found = soak(args, args.keep.resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="soak-") as work:
            found = soak(args, Path(work).resolve())
    if REGISTRY in found and (found[REGISTRY].wrong or not found[REGISTRY].candidates):
        raise SystemExit("registry mode was wrong, or never found anything")
    if args.control_must_fail and not (DERIVED in found and found[DERIVED].wrong):
        raise SystemExit("the negative control was never wrong: this soak proves nothing")


if __name__ == "__main__":
    main()
