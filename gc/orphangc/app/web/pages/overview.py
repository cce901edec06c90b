"""The contents of the status page, from the whole status."""

from __future__ import annotations

from typing import Any

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render.reason_groups import ReasonKind
from orphangc.app.render.shown_names import PLACE_NAMES
from orphangc.app.render.stops import Fate, fate_of
from orphangc.app.status.status_store import Status
from orphangc.app.web.jobs_and_runs import all_runs, job_names, known_jobs
from orphangc.app.web.page_templates import Tone, relative_time
from orphangc.app.web.pages.attention import needs_of, setup_of
from orphangc.app.web.pages.page_view import (
    RootView,
    Stored,
    cost_text,
    due_days,
    job_rows,
    root_view,
    stored_in,
    sustained_counts,
)
from orphangc.core.groups import grouped
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, Outcome
from orphangc.core.world.known_world import united_world

_RUNS_SHOWN = 12


def status_context(status: Status, http: HttpSettings) -> dict[str, Any]:
    """Return the values for the template of the status page."""
    needs = needs_of(status)
    acts = [need for need in needs if not need.advice.waits]
    waits = [need for need in needs if need.advice.waits]
    roots = [root_view(root) for root in status.roots]
    plans = [root.newest_plan for root in status.roots if root.newest_plan is not None]
    stored = stored_in("All that is stored", (each for plan in plans for each in plan.amounts))
    swept = sum(plan.swept_bytes(Action.DELETE, Outcome.DONE) for plan in plans)
    left = max(0, stored.orphaned.bytes - swept)
    cost = cost_text(left, http)
    only_reports = all(view.mode is RunMode.REPORT for view in roots)
    blocked = sum(fate_of(job) is Fate.BLOCKED for root in status.roots for job in root.jobs)
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
        "tone": Tone.STOP if acts else "idle" if only_reports or blocked or not plans else Tone.GO,
        "lead": " ".join(_sentences(status, roots, stored, swept=swept, cost=cost)),
        "sections": _sections(
            acts=bool(acts), next=only_reports, waits=bool(waits), world=world is not None
        ),
        "roots": roots,
        "plans": plans,
        "modes": {view.mode for view in roots},
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
        "sustained": sustained_counts(jobs),
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
    status: Status, roots: list[RootView], stored: Stored, *, swept: int, cost: str
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


def _found(stored: Stored, swept: int, cost: str) -> str:
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


def _doubts(stored: Stored, unread: int, roots: int) -> list[str]:
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
    if all(view.mode is RunMode.REPORT for view in roots):
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
