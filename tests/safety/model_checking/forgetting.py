"""What cycles remember, explored: a person hides a checkpoint that an earlier cycle has seen.

A job with retention on cancellation runs, is stopped with a savepoint, or cancelled with or without
one, and starts again: empty or from the savepoint, under the same id or another one. The cycles are
the real ``compared``. Each step takes a day, so clocks agree; one checkpoint is retained.

Some cycle sees a second run before it ends: what a run of the same id wrote that no cycle saw looks
like what the run before it wrote, and subsumes that.

And nothing is hidden: a job is redeployed in some course, again and again, JobManagers restart, and
cycles run at any time, so that each run is seen by one. Then none asks a person anything.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import RememberedCheckpoint, RememberedDirectory, WorldMemory
from orphangc.core.memory.sighting import (
    SeenJob,
    SeenPlace,
    SeenReport,
    Sighting,
    StoppingSavepoint,
)
from safety.model_checking.explorer import Explored, explore
from unit.core.memory.memory_builders import JOB, NEXT, REST, RETAINED, ROOT, T0

LAST_DAY = 8


class Course(StrEnum):
    """How a job is redeployed."""

    SAVEPOINT = "stop with a savepoint, start from it"
    SAVEPOINT_CLAIM = "stop with a savepoint, claim it"
    SESSION = "stop with a savepoint in a session cluster, which lists it for a while"
    STATELESS = "cancel, Flink deletes; start empty"
    STATELESS_RETAINED = "cancel, checkpoints stay; start empty"
    FIXED_ID = "cancel, Flink deletes; start empty under the same id"
    CLAIM = "cancel, claim the newest checkpoint, an incremental one"
    CLAIM_FULL = "cancel, claim the newest checkpoint, a full one that a cycle has seen"
    NO_CLAIM = "cancel, start from the newest checkpoint without a claim"


SAVING = frozenset({Course.SAVEPOINT, Course.SAVEPOINT_CLAIM, Course.SESSION})
FULL = frozenset({Course.CLAIM_FULL, Course.SAVEPOINT_CLAIM})
"""Courses whose checkpoints need no file outside their own folders."""
DELETING = frozenset({Course.STATELESS, Course.FIXED_ID})
"""Courses whose jobs have no retention on cancellation, as is Flink's default."""
_EVERY_END = ("CANCELED", "FAILED", "FINISHED", "SUBSUMED", "SUSPENDED")


class Stored(NamedTuple):
    """A checkpoint that Flink has not deleted."""

    job: str
    number: int
    at: int
    is_hidden: bool = False
    depends_on: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        return f"{ROOT}/{self.job}"

    @property
    def uri(self) -> str:
        return f"{self.directory}/chk-{self.number}"


class Saved(NamedTuple):
    job: str
    number: int
    at: int
    is_of_a_stop: bool

    @property
    def uri(self) -> str:
        return f"{ROOT}/savepoint-{self.job[:6]}-{self.at:012x}"


class Run(NamedTuple):
    job: str
    began: int
    following: int = 1
    origin: str | None = None
    is_seen: bool = False
    claimed: str | None = None  # what it deletes once it has a checkpoint of its own
    depends_on: tuple[str, ...] = ()  # directories in which its checkpoints name files
    taken: int = -1  # day on which another JobManager went on with it


class State(NamedTuple):
    """Everything at one moment."""

    day: int = 0
    runs: int = 1
    run: Run | None = Run(JOB, 0)
    stored: tuple[Stored, ...] = ()
    saved: tuple[Saved, ...] = ()
    known: frozenset[tuple[str, int, int]] = frozenset()
    memory: WorldMemory = WorldMemory()
    lost: str | None = None
    listed: Run | None = None  # the run before, as long as its cluster lists it


def explored(*, remembers: bool = True) -> Explored:
    return explore([State()], lambda state: _steps(state, remembers=remembers), lambda s: s.lost)


def redeployed(course: Course, *, is_shown: bool = True) -> Explored:
    """Return what a job's redeploys lead to: wrong is a cycle that asks a person something.

    REST may not show what a job was restored from.
    """
    return explore(
        [State()], lambda state: _redeploys(state, course, is_shown=is_shown), lambda s: s.lost
    )


def _redeploys(state: State, course: Course, *, is_shown: bool) -> Iterator[tuple[str, State]]:
    run, then = state.run, state._replace(day=state.day + 1)
    if state.day >= LAST_DAY or state.lost or run is None:
        return
    yield "cycle", _asking(then, course)
    new = Stored(run.job, run.following, then.day, depends_on=run.depends_on)
    left = tuple(e for e in state.stored if not _is_own(e, run) and run.claimed != e.uri)
    yield (
        "completes a checkpoint",
        then._replace(
            run=run._replace(
                following=run.following + 1,
                claimed=None,
                is_seen=run.is_seen and course is not Course.CLAIM_FULL,
            ),
            stored=(*left, new),
            saved=tuple(each for each in state.saved if each.uri != run.claimed),
        ),
    )
    own = [each for each in state.stored if _is_own(each, run)]
    if run.is_seen:
        again = run._replace(taken=then.day, origin=own[0].uri, is_seen=False)
        yield "another JobManager goes on", then._replace(run=again)
        after = _started_again(then, run, own[0], course)
        hidden = after._replace(run=after.run and after.run._replace(origin=None))
        yield course, after if is_shown else hidden


def _is_own(stored: Stored, run: Run) -> bool:
    return stored.job == run.job and stored.at > run.began


def _started_again(state: State, old: Run, newest: Stored, course: Course) -> State:
    new = Run(JOB if course is Course.FIXED_ID else f"{state.day:x}" * 32, state.day)
    if course in SAVING:
        saved = Saved(old.job, old.following, state.day, is_of_a_stop=True)
        claimed = saved.uri if course is Course.SAVEPOINT_CLAIM else None
        new = new._replace(origin=saved.uri, following=old.following + 1, claimed=claimed)
        state = state._replace(saved=(*state.saved, saved))
    elif course not in DELETING and course is not Course.STATELESS_RETAINED:
        new = new._replace(origin=newest.uri, following=old.following)
    if course in {Course.CLAIM, Course.CLAIM_FULL}:
        named = (newest.directory, *newest.depends_on) if course is Course.CLAIM else ()
        new = new._replace(claimed=newest.uri, depends_on=named)
    if course in SAVING | DELETING:
        state = state._replace(stored=tuple(e for e in state.stored if not _is_own(e, old)))
    return state._replace(run=new, listed=old if course is Course.SESSION else None)


def _asking(state: State, course: Course) -> State:
    """Return the state after a cycle, and what it asks."""
    done = compared(state.memory, _sighting(state, course))
    asked = [f"{each.condition} {each.what}" for each in done.facts]
    assert state.run is not None
    is_seen = any(_is_own(e, state.run) and e.at > state.run.taken for e in state.stored)
    run = state.run._replace(is_seen=is_seen)
    return state._replace(run=run, memory=done.memory, listed=None, lost=", ".join(asked) or None)


def _steps(state: State, *, remembers: bool) -> Iterator[tuple[str, State]]:
    if state.day >= LAST_DAY or state.lost:
        return
    then = state._replace(day=state.day + 1)
    yield "cycle", _cycle(then, remembers=remembers)
    if not any(each.is_hidden for each in state.stored):
        for each in state.stored:
            if (each.job, each.number, each.at) in state.known:
                rest = tuple(one for one in state.stored if one != each)
                hidden = (*rest, each._replace(is_hidden=True))
                yield f"chk-{each.number} is hidden", then._replace(stored=hidden)
    yield from _ends(then) if state.run is not None else _starts(then)


def _ends(state: State) -> Iterator[tuple[str, State]]:
    run = state.run
    assert run is not None
    others = tuple(e for e in state.stored if (e.job, e.at >= run.began) != (run.job, True))
    new = Stored(run.job, run.following, state.day)
    others_then = tuple(e for e in others if (e.job, e.number) != (new.job, new.number))
    following = run._replace(following=run.following + 1)
    yield "completes a checkpoint", state._replace(run=following, stored=(*others_then, new))
    if state.runs > 1 and not run.is_seen:
        return
    yield "is cancelled", state._replace(run=None)
    if not state.saved:
        for is_stop in (True, False):
            saved = (Saved(run.job, run.following, state.day, is_stop),)
            if is_stop:
                after = state._replace(run=None, stored=others, saved=saved)
                yield "is stopped with a savepoint", after
            else:
                yield "writes a savepoint", state._replace(run=following, saved=saved)


def _starts(state: State) -> Iterator[tuple[str, State]]:
    if state.runs > 1:
        return
    after = state._replace(runs=state.runs + 1)
    for job in (JOB, NEXT):
        yield f"{job[0]} starts empty", after._replace(run=Run(job, state.day))
        for each in state.saved:
            run = Run(job, state.day, each.number + 1, each.uri)
            yield f"{job[0]} starts from the savepoint", after._replace(run=run)


def _cycle(state: State, *, remembers: bool) -> State:
    """Return the state after a cycle, which deletes what no checkpoint needs that it knows of."""
    before = state.memory if remembers else WorldMemory()
    done = compared(before, _sighting(state))
    for each in state.stored:
        is_known = each.is_hidden and (each.job, each.number, each.at) in state.known
        if is_known and not any(fact.concerns([each.directory]) for fact in done.facts):
            return state._replace(lost=f"files of chk-{each.number} are deleted")
    shown = frozenset((e.job, e.number, e.at) for e in state.stored if not e.is_hidden)
    run = None if state.run is None else state.run._replace(is_seen=True)
    return state._replace(run=run, memory=done.memory, known=state.known | shown)


def _at(day: int) -> datetime:
    return T0 + timedelta(days=day)


def _sighting(state: State, course: Course | None = None) -> Sighting:
    shown = [each for each in state.stored if not each.is_hidden]
    directories = tuple(
        RememberedDirectory(
            uri=f"{ROOT}/{job}",
            job_id=job,
            place=ROOT,
            depends_on=own[0].depends_on,
            names=own[0].depends_on,
            checkpoints=tuple(_checkpoint(each, state.day, course) for each in own),
        )
        for job in dict.fromkeys(each.job for each in shown)
        if (own := [each for each in shown if each.job == job])
    )
    folders = {one.uri for each in directories for one in each.checkpoints}
    folders |= {each.uri for each in state.saved}
    jobs = () if state.run is None else (_job(state.run, state),)
    if state.listed is not None:
        over = {"is_alive": False, "status": "FINISHED", "directories": ()}
        jobs = (*jobs, replace(_job(state.listed, state), **over))
    return Sighting(
        at=_at(state.day),
        root=ROOT,
        places=(SeenPlace(uri=ROOT, kind="storage_root", checkpoints=len(folders) + 1),),
        directories=directories,
        present=frozenset(folders),
        jobs=jobs,
        clusters={REST: True},
        stops={
            each.uri: StoppingSavepoint(checkpoint_id=each.number, stored_at=_at(each.at))
            for each in state.saved
            if each.is_of_a_stop
        },
        reports=() if course is None or state.run is None else _reports(state.run, state),
    )


def _checkpoint(stored: Stored, day: int, course: Course | None) -> RememberedCheckpoint:
    return RememberedCheckpoint(
        uri=stored.uri,
        checkpoint_id=stored.number,
        seen_at=_at(day),
        deleted_on=_EVERY_END if course in DELETING else RETAINED,
        stored_at=_at(stored.at),
        sha256=f"{stored.job} {stored.at}",
        is_self_contained=course in FULL,
    )


def _job(run: Run, state: State) -> SeenJob:
    began = max(run.began, run.taken)
    has_completed = any(e.job == run.job and e.at > began for e in state.stored)
    return SeenJob(
        job_id=run.job,
        by=REST,
        is_alive=True,
        status="RUNNING",
        started_at=_at(began),
        directories=(f"{ROOT}/{run.job}",) if has_completed else (),
        restored=run.origin,
        is_restored_from_savepoint="/savepoint-" in (run.origin or ""),
        needs=(f"{ROOT}/{run.job}", *run.depends_on) if has_completed else (),
    )


def _reports(run: Run, state: State) -> tuple[SeenReport, ...]:
    """Return the checkpoints that REST shows completed and not discarded."""
    return tuple(
        SeenReport(
            job_id=run.job,
            by=REST,
            path=each.uri,
            directory=each.directory,
            checkpoint_id=each.number,
            triggered_at=_at(each.at),
        )
        for each in state.stored
        if each.job == run.job and each.at > max(run.began, run.taken)
    )
