"""What needs a person, and what to do about it: the first part of the status page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from flinkstate.text.shown_text import counted
from orphangc.app.render.advice import TROUBLES, Advice
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Fate, Stop, stops
from orphangc.app.status.status_store import RootStatus, Status
from orphangc.app.web.jobs_and_runs import is_outdated, job_names
from orphangc.app.web.page_templates import RESULT_TEXT, Tone, span_text
from orphangc.core.documents.run_record import RunRecord, RunResult
from orphangc.core.model.codes import MEMORY_CONDITIONS, Condition, Guard
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, Outcome

_PATIENCE = 2
"""Number of consecutive runs with a problem that may pass by itself, before a person must act."""

_PASSING = frozenset({RunResult.LOCKED, RunResult.INTERRUPTED, RunResult.MISSED})

_ALARMS = MEMORY_CONDITIONS | {Condition.HALTED, Condition.REVIVED}
"""Conditions that matter in every mode: a file in use was taken for an orphan, or something that
earlier cycles saw has disappeared. The message of the latter gives the command.
"""

_ORDER = (
    "not_ready",
    "undiscovered",
    Condition.HALTED,
    Condition.REVIVED,
    Guard.PARSER_DISAGREEMENT,
    "missing",
    Guard.DAMAGED_LATEST_ROOT,
    Guard.UNREADABLE_ROOT,
    RunResult.UNREACHABLE,
    RunResult.FAILED,
    RunResult.SOME_DELETES_FAILED,
    "old",
)
"""Order of problems: possible losses, then what stops everything; then the order of discovery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPlace:
    """Place of a problem; ``job``, its name for people, and ``run_id`` if there is one."""

    root: str
    message: str
    job: str = ""
    job_id: str = ""
    run_id: str | None = None


@dataclass(slots=True, kw_only=True)
class AttentionNeed:
    """One problem, with all its places."""

    code: str
    advice: Advice
    places: list[AttentionPlace]

    @property
    def tone(self) -> Tone:
        """Return the tone of its mark."""
        return Tone.WAIT if self.advice.waits else Tone.STOP

    @property
    def jobs(self) -> int:
        """Return the number of its jobs."""
        return len({(place.root, place.job) for place in self.places if place.job})


def mode_of(root: RootStatus) -> RunMode:
    """Return the modes of runs, as far as known before the first run."""
    if root.settings.mode is not None:
        return root.settings.mode
    return RunMode.REPORT if root.newest is None else root.newest.mode


def needs_of(status: Status) -> list[AttentionNeed]:
    """Return all problems, the most urgent first; a problem of many storage roots once."""
    names, found = job_names(status), []
    for code, message in (
        ("not_ready", status.not_ready),
        ("undiscovered", status.discovery_problem),
    ):
        if message is not None:
            found.append(_trouble(code, AttentionPlace(root="", message=message)))
    found += (need for root in status.roots for need in _of_root(root, status, names))
    return _gathered(found)


def setup_of(status: Status) -> list[AttentionNeed]:
    """Return what would stop deletion, for storage roots whose runs only report."""
    found, names = [], job_names(status)
    for root in status.roots:
        if mode_of(root) is RunMode.REPORT:
            found += [_stop_need(root, stop) for stop in stops(root.jobs, names) if _is_setup(stop)]
    return _gathered(found)


def _gathered(needs: Iterable[AttentionNeed]) -> list[AttentionNeed]:
    together: dict[tuple[str, Advice], AttentionNeed] = {}
    for need in needs:
        first = together.setdefault((need.code, need.advice), need)
        if first is not need:
            first.places += need.places
    return sorted(together.values(), key=lambda need: (need.advice.waits, _rank(need.code)))


def _rank(code: str) -> int:
    return _ORDER.index(code) if code in _ORDER else len(_ORDER)


def _of_root(root: RootStatus, status: Status, names: JobNames) -> Iterator[AttentionNeed]:
    plan = root.newest_plan
    found = stops(root.jobs, names)
    all_stops = [
        stop for stop in found if not (_is_setup(stop) and mode_of(root) is RunMode.REPORT)
    ]
    yield from (_stop_need(root, stop) for stop in all_stops if stop.code in _ALARMS)
    if plan is not None and plan.missing_objects:
        message = f"{counted(plan.missing_objects, 'file')} cannot be seen"
        yield _trouble("missing", _place(root, plan, message))
    yield from _of_newest(root)
    if plan is not None and is_outdated(plan, root, status):
        message = f"the newest plan is {span_text(status.now - plan.started_at)} old"
        yield _trouble("old", _place(root, plan, message))
    yield from (_stop_need(root, stop) for stop in all_stops if stop.code not in _ALARMS)
    for warning in () if plan is None else plan.warnings:
        yield _trouble("doubt", _place(root, plan, names.in_text(warning)))


def _of_newest(root: RootStatus) -> Iterator[AttentionNeed]:
    run = root.newest
    if run is None:
        return
    has_stops = any(stop.fate is Fate.REFUSED for stop in stops(run.jobs))
    is_done = run.result in {RunResult.DONE, RunResult.BLOCKED}  # its stops are shown job by job
    if not is_done and not (run.result is RunResult.REFUSED and has_stops):
        yield _result_need(root, run)
    if run.stopped is not None:
        yield _trouble("stopped", _place(root, run, run.stopped))


def _result_need(root: RootStatus, run: RunRecord) -> AttentionNeed:
    words = RESULT_TEXT[run.result]
    streak = len(list(takewhile(lambda each: each.result is run.result, root.records)))
    failed = run.swept_objects(Action.DELETE, Outcome.FAILED)
    message = run.error or (f"{counted(failed, 'object')} could not be deleted" if failed else "")
    if streak > 1:
        message = f"{message} ({streak} times in a row)" if message else f"{streak} times in a row"
    passes = run.result in _PASSING and streak < _PATIENCE
    advice = Advice(f"The last run: {words.label}", words.advice, waits=passes)
    return AttentionNeed(code=run.result, advice=advice, places=[_place(root, run, message)])


def _trouble(code: str, place: AttentionPlace) -> AttentionNeed:
    return AttentionNeed(code=code, advice=TROUBLES[code], places=[place])


def _place(root: RootStatus, run: RunRecord | None, message: str) -> AttentionPlace:
    run_id = None if run is None else run.run_id
    return AttentionPlace(root=root.settings.root, message=message, run_id=run_id)


def _is_setup(stop: Stop) -> bool:
    """Return whether it stops only deletion, which is not enabled yet."""
    return stop.fate is Fate.BLOCKED and stop.code not in _ALARMS and not stop.advice.waits


def _stop_need(root: RootStatus, stop: Stop) -> AttentionNeed:
    places = [
        replace(_place(root, root.newest_plan, e.message), job=e.name, job_id=e.job_id)
        for e in stop.jobs
    ]
    return AttentionNeed(code=stop.code, advice=stop.advice, places=places)
