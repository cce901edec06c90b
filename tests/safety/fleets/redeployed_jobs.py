"""A fleet that is redeployed each day, as Flink and the collector's cycles see it; no I/O.

Time is in days. Every job completes a checkpoint each interval and retains the newest ones; a
redeploy ends its run in one of several ways, each of which Flink's users know. REST does not tell
the restore mode: of incremental checkpoints, the files show a claim; full ones need no other files.
A job that claims the savepoint it was stopped with has full ones here: the savepoint is gone before
a cycle reads that the job was stopped with it.

Source: Flink 1.15-2.3, ``CheckpointProperties``, ``StandaloneCompletedCheckpointStore``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from random import Random

from orphangc.core.memory.remembered import RememberedDirectory
from orphangc.core.memory.sighting import (
    SeenJob,
    SeenPlace,
    SeenReport,
    Sighting,
    StoppingSavepoint,
)
from unit.core.memory.memory_builders import EXTRA, RETAINED, ROOT, T0, a_directory, seen

HOUR = 1 / 24
LISTED = HOUR
"""For so long a session cluster lists a job that has ended."""
SAVEPOINTS_KEPT = 2
NEVER_RETAINED = ("CANCELED", "FAILED", "FINISHED", "SUBSUMED", "SUSPENDED")
"""Flags of a checkpoint without retention, as is Flink's default."""
FILES_NAMED = 3
"""Directories of earlier runs in which an incremental checkpoint names files, at most."""
HA_PLACE = "s3://bucket/ha"
FIXED_ID = "0" * 32


class Course(StrEnum):
    """How a job is redeployed."""

    SAVEPOINT = "stop with a savepoint, start from it"
    SAVEPOINT_CLAIM = "stop with a savepoint, claim it"
    SESSION = "stop with a savepoint in a session cluster"
    LAST_STATE = "go on from the last checkpoint under the same id, by HA"
    STATELESS = "cancel, Flink deletes; start empty"
    STATELESS_RETAINED = "cancel, checkpoints stay; start empty"
    FIXED_ID = "cancel, Flink deletes; start empty under the same id"
    CLAIM = "cancel, claim the newest checkpoint, an incremental one"
    CLAIM_FULL = "cancel, claim the newest checkpoint, a full one"
    NO_CLAIM = "cancel, start from the newest checkpoint without a claim"


BY_SAVEPOINT = frozenset({Course.SAVEPOINT, Course.SAVEPOINT_CLAIM, Course.SESSION})
FULL = frozenset({Course.CLAIM_FULL, Course.SAVEPOINT_CLAIM})
"""Courses whose checkpoints need no file outside their own folders."""
STAYING = frozenset({Course.STATELESS_RETAINED, Course.NO_CLAIM})
DELETING = frozenset({Course.STATELESS, Course.FIXED_ID})
"""Courses whose jobs have no retention on cancellation."""

SHARES = {
    Course.SAVEPOINT: 50,
    Course.SAVEPOINT_CLAIM: 20,
    Course.SESSION: 20,
    Course.LAST_STATE: 40,
    Course.STATELESS: 15,
    Course.STATELESS_RETAINED: 5,
    Course.FIXED_ID: 10,
    Course.CLAIM: 20,
    Course.CLAIM_FULL: 10,
    Course.NO_CLAIM: 10,
}
"""Of 200 jobs."""


@dataclass(kw_only=True)
class Run:
    """One run of a job, from a deployment to the next one."""

    job_id: str  # its id
    place: str  # place of its job directory
    started: float  # time of the deployment
    first: int = 1  # id of its first checkpoint
    restored: str | None = None  # what REST says that it last continued from
    by_savepoint: bool = False  # whether that is a savepoint
    claimed: str | None = None  # checkpoint of another job that it owns
    depends_on: tuple[str, ...] = ()  # directories in which its checkpoints name files
    taken: float = 0.0  # time at which its JobManager started

    @property
    def directory(self) -> str:
        return f"{self.place}/{self.job_id}"


@dataclass
class Slot:
    """What people call one job: its runs follow one another."""

    number: int  # of the slot
    course: Course  # how it is redeployed
    place: str  # place of the job directories of its next runs
    rest: str  # address of its cluster
    random: Random
    resource: str = ""  # resource of the operator that deploys it, "" without one
    interval: float = HOUR / 6  # between two checkpoints, in days
    kept: int = 1  # checkpoints that Flink retains
    # whether its cluster's configuration says where it stores, not its code
    is_configured: bool = False
    is_full: bool = False  # whether its checkpoints need no file outside their own folders
    run: Run = field(init=False)
    # checkpoints that earlier runs left behind, by directory
    left: dict[str, list[int]] = field(default_factory=dict)
    # directories in which those name files, by directory
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # times at which those were stored, by folder
    stored: dict[str, float] = field(default_factory=dict)
    savepoints: list[str] = field(default_factory=list)  # those that are there
    # savepoints that a run was stopped with, by folder
    stops: dict[str, StoppingSavepoint] = field(default_factory=dict)
    # ended runs, with time and status
    ended: list[tuple[Run, float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._start(-3 * HOUR)

    def _start(self, at: float) -> None:
        self.run = Run(job_id=self._next_id(), place=self.place, started=at, taken=at)

    def _next_id(self) -> str:
        is_fixed = self.course is Course.FIXED_ID
        return FIXED_ID if is_fixed else f"{self.random.getrandbits(128):032x}"

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the ends upon which Flink deletes its checkpoints."""
        return NEVER_RETAINED if self.course in DELETING else RETAINED

    def own_ids(self, at: float) -> list[int]:
        count = int((at - self.run.started) / self.interval)
        ids = range(self.run.first, self.run.first + count)
        return list(ids[-self.kept :])

    def stored_at(self, number: int) -> float:
        return self.run.started + (number - self.run.first + 1) * self.interval

    def pass_to(self, at: float) -> None:
        """Remove what the current run has claimed, once its own checkpoints have subsumed it."""
        if self.run.claimed is None or len(self.own_ids(at)) < self.kept:
            return
        claimed, self.run.claimed = self.run.claimed, None
        if claimed in self.savepoints:
            self.savepoints.remove(claimed)
        folder, _, name = claimed.rpartition("/")
        self.left[folder] = [e for e in self.left.get(folder, []) if f"chk-{e}" != name]

    def restart(self, at: float) -> None:
        """Let another JobManager go on: its REST history begins anew."""
        own = self.own_ids(at)
        self.run.taken = at
        if own:
            self.run.restored = f"{self.run.directory}/chk-{own[-1]}"
            self.run.by_savepoint = False

    def redeploy(self, at: float) -> None:
        """End the current run and start the next one."""
        self.pass_to(at)
        if self.course is Course.LAST_STATE:
            self.restart(at)
            return
        old, own = self.run, self.own_ids(at)
        status = "FINISHED" if self.course in BY_SAVEPOINT else "CANCELED"
        self.stored |= {f"{old.directory}/chk-{each}": self.stored_at(each) for each in own}
        self.ended = [*(e for e in self.ended if at - e[1] < 1), (old, at, status)]
        self._start(at)
        if self.course in BY_SAVEPOINT:
            self._start_from_savepoint(old, own, at)
        elif self.course not in DELETING:
            self.left.setdefault(old.directory, []).extend(own)
            self.named[old.directory] = old.depends_on
            self._start_from_checkpoint(old, own)

    def _start_from_savepoint(self, old: Run, own: list[int], at: float) -> None:
        name = f"{EXTRA}/savepoint-{old.job_id[:6]}-{self.random.getrandbits(48):012x}"
        self.savepoints = [*self.savepoints, name][-SAVEPOINTS_KEPT:]
        self.run.restored, self.run.by_savepoint = name, True
        self.run.first = old.first if not own else own[-1] + 2
        self.stops[name] = StoppingSavepoint(
            checkpoint_id=self.run.first - 1, stored_at=T0 + timedelta(days=at)
        )
        self.run.claimed = name if self.course is Course.SAVEPOINT_CLAIM else None

    def _start_from_checkpoint(self, old: Run, own: list[int]) -> None:
        if self.course is Course.STATELESS_RETAINED or not own:
            return
        newest = f"{old.directory}/chk-{own[-1]}"
        self.run.restored, self.run.first = newest, own[-1] + 1
        if self.course is Course.CLAIM:
            self.run.claimed = newest
            self.run.depends_on = (old.directory, *old.depends_on)[:FILES_NAMED]

    # --- what a cycle sees

    def directories(self, at: float) -> Iterator[RememberedDirectory]:
        found = {
            folder: (ids, self.named.get(folder, ())) for folder, ids in self.left.items() if ids
        }
        own = self.own_ids(at)
        if own:
            found[self.run.directory] = (own, self.run.depends_on)
        over = {run.directory for run, when, _ in self._listed(at)}
        stored = self.stored | {
            f"{self.run.directory}/chk-{each}": self.stored_at(each) for each in own
        }
        for folder, (ids, depends_on) in found.items():
            found_there = a_directory(
                *ids,
                job=folder.rpartition("/")[2],
                place=folder.rpartition("/")[0],
                at=at,
                flags=self.flags,
                depends_on=depends_on,
                was_over=folder in over,
                is_self_contained=self.is_full,
            )
            yield _with_store_times(found_there, stored)

    def _listed(self, at: float) -> list[tuple[Run, float, str]]:
        """Return the ended runs that the cluster lists: an application cluster went with its."""
        is_session = self.course is Course.SESSION
        return [each for each in self.ended if is_session and 0 <= at - each[1] < LISTED]

    def jobs(self, at: float) -> Iterator[SeenJob]:
        run, own = self.run, self.own_ids(at)
        yield SeenJob(
            job_id=run.job_id,
            by=self.rest,
            is_alive=True,
            status="RUNNING",
            started_at=T0 + timedelta(days=run.taken),
            directories=(run.directory,) if own and at - run.taken > self.interval else (),
            restored=run.restored,
            is_restored_from_savepoint=run.by_savepoint,
            stores_in=(run.directory,) if self.is_configured else (),
            needs=self._needs(own),
        )
        for old, _, status in self._listed(at):
            yield SeenJob(
                job_id=old.job_id,
                by=self.rest,
                is_alive=False,
                status=status,
                started_at=T0 + timedelta(days=old.taken),
                restored=old.restored,
                is_restored_from_savepoint=old.by_savepoint,
            )
        if self.resource:
            yield SeenJob(job_id=run.job_id, by=self.resource, is_alive=True)

    def _needs(self, own: Sequence[int]) -> tuple[str, ...]:
        """Return the directories that its checkpoints name, or that its origin lies in."""
        if own:
            return (self.run.directory, *self.run.depends_on)
        folder, _, name = (self.run.restored or "").rpartition("/")
        return (folder, *self.named.get(folder, ())) if name.startswith("chk-") else ()

    def reports(self, at: float) -> Iterator[SeenReport]:
        """Yield the checkpoints that REST shows completed and not discarded."""
        folder = self.run.directory
        for each in self.own_ids(at):
            if at - self.run.taken > self.interval:
                yield SeenReport(
                    job_id=self.run.job_id,
                    by=self.rest,
                    path=f"{folder}/chk-{each}",
                    directory=folder,
                    checkpoint_id=each,
                    triggered_at=T0 + timedelta(days=self.stored_at(each)),
                )


def _with_store_times(
    directory: RememberedDirectory, stored: dict[str, float]
) -> RememberedDirectory:
    checkpoints = tuple(
        each.model_copy(
            update={
                "stored_at": T0 + timedelta(days=stored[each.uri]),
                "sha256": sha256(f"{each.uri} {stored[each.uri]}".encode()).hexdigest(),
            }
        )
        for each in directory.checkpoints
    )
    return directory.model_copy(update={"checkpoints": checkpoints})


@dataclass
class Fleet:
    """Many slots, and one cycle's look at them."""

    slots: list[Slot]
    silent: str = ""  # a cluster that never answers

    def sighting(self, at: float) -> Sighting:
        for each in self.slots:
            each.pass_to(at)
        directories = [one for each in self.slots for one in each.directories(at)]
        answers = {each.rest: each.rest != self.silent for each in self.slots}
        jobs = [one for e in self.slots for one in e.jobs(at) if one.by != self.silent]
        return seen(
            at,
            *directories,
            jobs=tuple(jobs),
            others=tuple(one for each in self.slots for one in each.savepoints),
            stops={one: each.stops[one] for each in self.slots for one in each.savepoints},
            clusters=answers,
            places=self._empty_places({each.place for each in directories}),
            reports=tuple(
                one for each in self.slots if answers[each.rest] for one in each.reports(at)
            ),
        )

    def _empty_places(self, found: set[str]) -> tuple[SeenPlace, ...]:
        """Return the places that are searched in vain."""
        given = {each.place for each in self.slots}
        places = sorted(given - found)
        return tuple(SeenPlace(uri=uri, kind="extra_root", checkpoints=0) for uri in places)


def a_fleet(*, jobs: int, seed: int) -> Fleet:
    """Return a fleet of so many jobs, in the proportions of ``SHARES``."""
    random = Random(seed)
    wheel = [course for course, share in SHARES.items() for _ in range(share)]
    step = len(wheel) / jobs
    courses = [wheel[int(number * step)] for number in range(jobs)]
    return Fleet([_a_slot(number, course, random) for number, course in enumerate(courses)])


def _a_slot(number: int, course: Course, random: Random) -> Slot:
    session = f"http://session-{number % 4}:8081"
    return Slot(
        number=number,
        course=course,
        place=_place_of(number, course),
        rest=session if course is Course.SESSION else f"http://job-{number}:8081",
        random=random,
        resource=f"kubernetes:prod/flinkdeployments/job-{number}" if number % 3 == 0 else "",
        interval=random.choice((1, 5, 10, 60)) / (24 * 60),
        kept=random.choice((1, 1, 1, 3)),
        is_full=course in FULL,
        is_configured=number % 2 == 0,
    )


def _place_of(number: int, course: Course) -> str:
    """Return where a job's checkpoints go: one fixed id needs a place for each job."""
    if course is Course.FIXED_ID:
        return f"s3://bucket/fixed-{number}"
    return HA_PLACE if course is Course.LAST_STATE else ROOT
