"""The contents of the status page, from the whole status: what needs a person comes first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render.advice import TROUBLES, Advice
from orphangc.app.render.reason_groups import Bar, ReasonKind
from orphangc.app.render.shown_names import PLACE_NAMES, JobNames
from orphangc.app.render.stops import Fate, Stop, fate_of, stops
from orphangc.app.status.status_store import RootStatus, Status
from orphangc.app.web.jobs_and_runs import all_runs, is_outdated, job_names, known_jobs
from orphangc.app.web.page_templates import RESULT_TEXT, relative_time, span_text
from orphangc.app.web.pages.page_view import (
    RootView,
    cost_text,
    due_days,
    job_rows,
    root_view,
    stored_in,
)
from orphangc.core.documents.run_record import RunRecord, RunResult
from orphangc.core.groups import grouped
from orphangc.core.model.codes import MEMORY_CONDITIONS, Condition, Guard
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, Outcome
from orphangc.core.world.known_world import united_world

_RUNS_SHOWN = 12


def status_context(status: Status, http: HttpSettings) -> dict[str, Any]:
    """Return the values for the template of the status page."""
    needs = needs_of(status)
    acts, waits = ([each for each in needs if each.advice.waits is it] for it in (False, True))
    roots = [root_view(root) for root in status.roots]
    plans = [root.newest_plan for root in status.roots if root.newest_plan is not None]
    stored = stored_in("All that is stored", (each for plan in plans for each in plan.amounts))
    swept = sum(plan.swept_bytes(Action.DELETE, Outcome.DONE) for plan in plans)
    left = max(0, stored.orphaned.bytes - swept)
    cost = cost_text(left, http)
    only_reports = all(view.status.mode is RunMode.REPORT for view in roots)
    blocked = sum(fate_of(job) is Fate.BLOCKED for root in status.roots for job in root.jobs)
    is_idle = only_reports or blocked or not plans
    jobs, worlds = job_rows(status), [each.world for each in plans if each.world is not None]
    world = united_world(worlds) if worlds else None
    runs, of_root = all_runs(status), grouped(jobs, lambda row: row.root)
    return {
        "status": status,
        "linked": frozenset(known_jobs(status)),
        "names": job_names(status),
        "acts": acts,
        "waits": waits,
        "setup": setup_of(status),
        "blocked": blocked,
        "tone": Fate.REFUSED if acts else "idle" if is_idle else Fate.CLEAR,
        "lead": " ".join(_sentences(status, roots, stored, swept=swept, cost=cost)),
        "sections": _sections(
            acts=bool(acts), next=only_reports, waits=bool(waits), world=world is not None
        ),
        "roots": roots,
        "plans": plans,
        "modes": {view.status.mode for view in roots},
        "only_reports": only_reports,
        "RunMode": RunMode,
        "world": world,
        "place_names": PLACE_NAMES,
        "stored": stored,
        "cost": cost,
        "http": http,
        "left": left,
        "swept": swept,
        "jobs": jobs,
        "job_groups": [each for root in status.roots if (each := of_root.get(root.settings.root))],
        "sustained": Counter({row.job_id: row.sustained for row in jobs if row.job_id}.values()),
        "due": due_days((plan.tombstones for plan in plans), status.now.date()),
        "next_run_at": _next_run_at(status),
        "running": [root for root in status.roots if root.running_since is not None],
        "runs": runs[:_RUNS_SHOWN],
        "runs_kept": len(runs),
    }


def _next_run_at(status: Status) -> Any:
    starts = (root.next_run_at for root in status.roots if root.next_run_at is not None)
    return min(starts, default=None)


def _sentences(
    status: Status, roots: list[RootView], stored: Bar, *, swept: int, cost: str
) -> list[str]:
    unread = sum(root.newest_plan is None for root in status.roots)
    if unread == len(roots):
        return [_first_run(status)]
    return [_found(stored, swept, cost), *_doubts(stored, unread, len(roots)), _done(roots)]


def _first_run(status: Status) -> str:
    if not status.roots:
        return "No storage root is known yet: none is configured, and discovery has found none."
    unread = next((root for root in status.roots if root.unread is not None), None)
    if unread is not None:
        return f"What earlier runs found is not shown yet: {unread.settings.root}: {unread.unread}."
    is_running = any(root.running_since is not None for root in status.roots)
    starts = _next_run_at(status)
    if is_running:
        begin = "The first run is going on: it"
    elif starts is not None:
        begin = f"The first run starts {relative_time(starts, status.now)}: it"
    else:
        begin = "The first run"
    return (
        f"{begin} lists what is stored, reads every checkpoint, and reports which files no"
        f" checkpoint needs. Nothing is changed or deleted by it, whatever the mode."
    )


def _found(stored: Bar, swept: int, cost: str) -> str:
    """Return the present numbers: the plan's, minus what its own sweep has deleted."""
    whole, orphaned = stored.total.bytes - swept, max(0, stored.orphaned.bytes - swept)
    if not stored.total.objects:
        return "Nothing is stored."
    if not orphaned:
        return f"No orphan is known among {human_bytes(whole)}."
    return (
        f"{human_bytes(orphaned)} of {human_bytes(whole)} belong to no checkpoint any more:"
        f" {cost} a month."
    )


def _doubts(stored: Bar, unread: int, roots: int) -> list[str]:
    sentences = []
    refused = stored.kinds[ReasonKind.REFUSED].bytes
    if refused:
        sentences.append(f"{human_bytes(refused)} cannot be judged, and are kept.")
    if unread:
        has = "has" if unread == 1 else "have"
        of_them = counted(roots, "storage root")
        sentences.append(f"{unread} of {of_them} {has} never been read.")
    return sentences


def _done(roots: list[RootView]) -> str:
    deleted = sum(view.deleted.bytes for view in roots)
    if deleted:
        return f"{human_bytes(deleted)} have been deleted so far."
    if all(view.status.mode is RunMode.REPORT for view in roots):
        return "So far orphangc has only looked: it changes and deletes nothing until you say so."
    return "Nothing has been deleted so far."


def _sections(**present: bool) -> list[tuple[str, str]]:
    every = (
        ("acts", "needs", "What needs you"),
        ("next", "next", "How to go on"),
        ("", "stored", "What is stored"),
        ("waits", "waits", "Waiting"),
        ("", "roots", "Storage roots"),
        ("world", "world", "What was searched"),
        ("", "jobs", "Jobs"),
        ("", "due", "Tombstones"),
        ("", "runs", "Last runs"),
    )
    return [(anchor, title) for name, anchor, title in every if not name or present[name]]


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
    def tone(self) -> Fate:
        """Return the fate whose mark and colour it has."""
        return Fate.BLOCKED if self.advice.waits else Fate.REFUSED

    @property
    def jobs(self) -> int:
        """Return the number of its jobs."""
        return len({(place.root, place.job) for place in self.places if place.job})


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
        if root.mode is RunMode.REPORT:
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
    all_stops = [stop for stop in found if not (_is_setup(stop) and root.mode is RunMode.REPORT)]
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
    advice = Advice(f"The last run: {words.title}", words.text, waits=passes)
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
