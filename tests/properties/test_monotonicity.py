"""Hiding what an earlier cycle has seen never deletes what would not have been deleted otherwise.

Each example is a small fleet on disk, collected by whole commands: two jobs below the storage
root, a job elsewhere that claimed files of the first, and a savepoint folder that holds a copy of
a checkpoint of the second. After the cycle that saw all of it, some of it is hidden.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.helpers import AT_ONCE, DAY, Bed, Job, flink, metadata, write
from cli.own_environment import own_surroundings
from orphangc.app.wiring import compose
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.model.codes import Condition
from support.rest_server import RestServer, listing

__all__ = ["own_surroundings"]

COPY = "savepoint-000000-0123456789ab"
MARGINS = ("--closed-world", "--max-delete-share", "1", *AT_ONCE)


@dataclass
class Fleet:
    """A storage root, what refers to it from outside, and what is live of it."""

    bed: Bed
    is_claimer_running: bool
    live: set[Path] = field(default_factory=set)
    of_chk_9: set[Path] = field(default_factory=set)
    server: RestServer | None = None
    extra: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def made(cls, folder: Path, stack: ExitStack, *, is_claimer_running: bool) -> Fleet:
        fleet = cls(Bed(folder), is_claimer_running)
        fleet.extra = {name: folder / name for name in ("elsewhere", "savepoints")}
        fleet._fill()
        if is_claimer_running:
            fleet.server = stack.enter_context(RestServer(fleet._answers()))
        return fleet

    def _fill(self) -> None:
        first, second, claimer = self.bed.job(1), self.bed.job(2), self.claimer
        for job in (first, second):
            for _ in range(2):
                job.shared()
            for number in (7, 8):
                job.checkpoint(number, self._live(job))
        self.of_chk_9 = {self._live(first)}
        claimer.checkpoint(9, *self.of_chk_9, claimer.shared(), age=15 * DAY)
        claimer.checkpoint(10, self._live(first), claimer.shared(), age=14 * DAY)
        bystander = self.bed.job(4, below=self.extra["elsewhere"])
        bystander.checkpoint(2, bystander.shared())
        copy = self.extra["savepoints"] / COPY / "_metadata"
        write(copy, metadata(3, [self._live(second)]), 20 * DAY)

    def _live(self, job: Job) -> Path:
        """Return a new file of a job that something refers to."""
        path = job.shared()
        self.live.add(path)
        return path

    @property
    def claimer(self) -> Job:
        return self.bed.job(3, below=self.bed.folder / "elsewhere")

    def _answers(self) -> dict:
        return dict(flink(self.claimer, completed=10))

    def cycle(self, *options: str) -> set[Path]:
        """Plan and sweep with deletion; return what is gone of ``shared/``."""
        before = set(self.bed.root.rglob("shared/*"))
        ended = [f"{number:032x}" for number in (1, 2, 4)]
        ended += [] if self.is_claimer_running else [self.claimer.id]
        given = [*MARGINS, *options, *(part for each in ended for part in ("--ended-job", each))]
        for place in self.extra.values():
            given += ["--extra-roots", str(place)]
        if self.server is not None:
            given += ["--flink-rest", self.server.url]
        plan = self.bed.plan(*given)
        if plan.ran.code == 0:
            self.bed.sweep(plan, "--delete")
        return before - set(self.bed.root.rglob("shared/*"))


Hiding = Callable[[Fleet], None]


def _forget_place(name: str) -> Hiding:
    return lambda fleet: fleet.extra.pop(name, None) and None


def _take_away(*parts: str) -> Hiding:
    def hide(fleet: Fleet) -> None:
        path = fleet.bed.folder.joinpath(*parts)
        if path.exists():
            shutil.move(path, fleet.bed.folder / f"hidden-{'-'.join(parts)}")

    return hide


def _silence(fleet: Fleet) -> None:
    fleet.server = None


def _forget_jobs(fleet: Fleet) -> None:
    if fleet.server is not None:
        fleet.server.routes.update(listing())


HIDINGS: dict[str, Hiding] = {
    "the claimer's storage is not named": _forget_place("elsewhere"),
    "the savepoints are not named": _forget_place("savepoints"),
    "the claimer's directory": _take_away("elsewhere", f"{3:032x}"),
    "all of the claimer's storage": _take_away("elsewhere"),
    "an old checkpoint of the claimer": _take_away("elsewhere", f"{3:032x}", "chk-9"),
    "the newest checkpoint of the claimer": _take_away("elsewhere", f"{3:032x}", "chk-10"),
    "the copy": _take_away("savepoints", COPY),
    "an own checkpoint": _take_away("checkpoints", f"{1:032x}", "chk-7"),
    "the newest own checkpoint": _take_away("checkpoints", f"{2:032x}", "chk-8"),
    "the cluster": _silence,
    "the cluster's jobs": _forget_jobs,
}


SUBSUMED = "an old checkpoint of the claimer"
"""Flink removes it in its normal course while the job runs, so nothing is lost with it then."""


def lost(hidden: list[str], *, is_claimer_running: bool) -> set[str]:
    """Return what a cycle deletes with something hidden, and would not have deleted without."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        fleet = Fleet.made(Path(folder), stack, is_claimer_running=is_claimer_running)
        assert not fleet.cycle(), "the first cycle only lays tombstones"
        for name in hidden:
            HIDINGS[name](fleet)
        gone = fleet.cycle() | fleet.cycle()
        subsumed = fleet.of_chk_9 if is_claimer_running and SUBSUMED in hidden else set()
        return {path.name for path in (gone & fleet.live) - subsumed}


def test_what_nothing_refers_to_goes_where_nothing_is_hidden() -> None:
    """Without this the property would hold of a collector that does nothing."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        fleet = Fleet.made(Path(folder), stack, is_claimer_running=True)
        fleet.cycle()
        assert len(fleet.cycle()) == 4
        assert all(path.exists() for path in fleet.live)


@settings(max_examples=8)
@given(
    st.lists(st.sampled_from(sorted(HIDINGS)), min_size=1, max_size=3, unique=True), st.booleans()
)
def test_hiding_deletes_nothing_more(hidden: list[str], is_claimer_running: bool) -> None:  # noqa: FBT001
    """Whatever an earlier cycle has seen: places, clusters, jobs, checkpoints, several at once."""
    assert not lost(hidden, is_claimer_running=is_claimer_running)


@pytest.mark.parametrize(
    ("condition", "hidden"),
    [
        (Condition.PLACE_LOST, "the claimer's storage is not named"),
        (Condition.JOB_DIRECTORY_EMPTIED, "the claimer's directory"),
        (Condition.CHECKPOINT_NOT_FOUND, "an own checkpoint"),
    ],
    ids=str,
)
def test_without_its_condition_something_hidden_is_lost(monkeypatch, condition, hidden) -> None:
    """Each kind of memory is needed by itself, where no storage is searched whole."""
    monkeypatch.setattr(compose, "storage_search", lambda *_: None)
    monkeypatch.setitem(CONDITIONS, condition, lambda *_: None)
    assert lost([hidden], is_claimer_running=False)


@pytest.mark.parametrize("hidden", sorted(HIDINGS))
@pytest.mark.parametrize(
    "is_claimer_running",
    [
        pytest.param(True, marks=pytest.mark.ci, id="running"),
        pytest.param(False, marks=pytest.mark.nightly, id="ended"),
    ],
)
def test_hiding_one_thing_deletes_nothing_more(hidden: str, is_claimer_running: bool) -> None:  # noqa: FBT001
    assert not lost([hidden], is_claimer_running=is_claimer_running)
