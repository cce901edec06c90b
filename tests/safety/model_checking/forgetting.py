"""What cycles remember, explored: a person hides a checkpoint that an earlier cycle has seen.

A job with retention on cancellation runs, is stopped with a savepoint, or cancelled with or without
one, and starts again: empty or from the savepoint, under the same id or another one. The cycles are
the real ``compared``. Each step takes a day, so clocks agree; one checkpoint is retained.

Some cycle sees a second run before it ends: what a run of the same id wrote that no cycle saw looks
like what the run before it wrote, and subsumes that.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import RememberedCheckpoint, RememberedDirectory, WorldMemory
from orphangc.core.memory.sighting import SeenJob, SeenPlace, Sighting, StoppingSavepoint
from safety.model_checking.explorer import Explored, explore
from unit.core.memory.memory_builders import JOB, NEXT, REST, RETAINED, ROOT, T0

LAST_DAY = 8


class Stored(NamedTuple):
    """A checkpoint that Flink has not deleted."""

    job: str
    number: int
    at: int
    is_hidden: bool = False

    @property
    def directory(self) -> str:
        return f"{ROOT}/{self.job}"


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


def explored(*, remembers: bool = True) -> Explored:
    return explore([State()], lambda state: _steps(state, remembers=remembers), lambda s: s.lost)


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


def _sighting(state: State) -> Sighting:
    directories = tuple(
        RememberedDirectory(
            uri=f"{ROOT}/{job}",
            job_id=job,
            place=ROOT,
            checkpoints=tuple(_checkpoint(each, state.day) for each in own),
        )
        for job in (JOB, NEXT)
        if (own := [e for e in state.stored if e.job == job and not e.is_hidden])
    )
    folders = {one.uri for each in directories for one in each.checkpoints}
    folders |= {each.uri for each in state.saved}
    return Sighting(
        at=_at(state.day),
        root=ROOT,
        places=(SeenPlace(uri=ROOT, kind="storage_root", checkpoints=len(folders) + 1),),
        directories=directories,
        present=frozenset(folders),
        jobs=() if state.run is None else (_job(state.run, state),),
        clusters={REST: True},
        stops={
            each.uri: StoppingSavepoint(checkpoint_id=each.number, stored_at=_at(each.at))
            for each in state.saved
            if each.is_of_a_stop
        },
    )


def _checkpoint(stored: Stored, day: int) -> RememberedCheckpoint:
    return RememberedCheckpoint(
        uri=f"{stored.directory}/chk-{stored.number}",
        checkpoint_id=stored.number,
        seen_at=_at(day),
        deleted_on=RETAINED,
        stored_at=_at(stored.at),
        sha256=f"{stored.job} {stored.at}",
    )


def _job(run: Run, state: State) -> SeenJob:
    has_completed = any(e.job == run.job and e.at > run.began for e in state.stored)
    return SeenJob(
        job_id=run.job,
        by=REST,
        is_alive=True,
        status="RUNNING",
        started_at=_at(run.began),
        directories=(f"{ROOT}/{run.job}",) if has_completed else (),
        restored=run.origin,
        is_restored_from_savepoint=run.origin is not None,
    )
