"""The commands around scheduled runs: ``run``, and what the daemon asks child processes for."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import structlog
from rich.console import RenderableType

from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.console.exit import shielded
from orphangc.app.render.reason_groups import ByKind, by_kind
from orphangc.app.render.sentences.next_steps import after_run
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.runner.plan_store import KeptPlans
from orphangc.app.runner.run_root import exit_code_of_all, run_root
from orphangc.app.telemetry.logs import configure_logs
from orphangc.app.telemetry.metrics_push import push, write_textfile
from orphangc.app.wiring.compose import is_versioned, state_of
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.app.wiring.sharing import shared_in_pass
from orphangc.collect.state.history import kept_record, newest_records
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.model.types import Action, Outcome
from orphangc.errors import OrphanGcError

log = structlog.get_logger()

_SHOWN = 50


def run_configured(
    configuration: Configuration, roots: Sequence[ScheduledRoot], *, is_child: bool = False
) -> tuple[list[RunRecord], int]:
    """Run some storage roots of a configuration once, in order; return records and exit code.

    Args:
        is_child: Whether the daemon started this process: it stops when the daemon dies, and leaves
            metrics to the daemon.
    """
    records: list[RunRecord] = []
    with shielded() as signals, shared_in_pass(roots, configuration.plans_folder) as sharing:
        if is_child:
            _end_with_stdin()
        for root in roots:
            plans = KeptPlans.of(configuration.plans_folder, root.root, configuration.keep_plans)
            record = run_root(root, plans, signals, sharing)
            records.append(record)
            if not is_child:
                push(configuration.metrics, root, record)
            if signals.exit_code is not None:
                break
        if not is_child:
            write_textfile(configuration, records)
        code = signals.exit_code
    return records, exit_code_of_all(records) if code is None else code


def loaded(config: Path, *, is_remembered: bool = False, is_child: bool = False) -> Configuration:
    """Return the configuration of a file, completed by what is discovered, and log as it says."""
    configuration = load_and_discover(config, is_remembered=is_remembered).configuration
    configure_logs(configuration.log, takes_others=True, is_daemon=is_child)
    return configuration


def _end_with_stdin() -> None:
    def watch() -> None:
        while os.read(0, 1024):
            pass
        log.warning("daemon.gone")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def known_records(roots: Iterable[ScheduledRoot]) -> dict[str, Any]:
    """Return the newest records of each storage root, or why they cannot be read."""
    found: dict[str, Any] = {}
    for root in roots:
        try:
            records = _shown(newest_records(state_of(root)))
        except OrphanGcError as err:
            found[root.root] = {"error": str(err), "records": []}
        else:
            documents = [each.model_dump(mode="json") for each in records]
            found[root.root] = {"error": None, "records": documents}
    return found


def _shown(records: Iterator[RunRecord]) -> list[RunRecord]:
    """Return the newest records, and the newest plan's: it says what is known of jobs."""
    found = list(islice(records, _SHOWN))
    if all(each.plan_id is None for each in found):
        found += islice((each for each in records if each.plan_id is not None), 1)
    return found


def keep_records(roots: Iterable[ScheduledRoot], text: str) -> list[RunRecord]:
    """Write records for runs that left none, or were killed; ``OrphanGcError`` if that fails."""
    known = {each.root: each for each in roots}
    records = [RunRecord.model_validate(each) for each in json.loads(text)]
    return [kept_record(state_of(known[each.root]), each) for each in records]


def record_tables(records: Sequence[RunRecord]) -> list[RenderableType]:
    """Return the results of runs as a table."""
    rows = (
        (
            *(each.root, each.result, each.effective_mode),
            _orphaned(each),
            "" if each.tombstones is None else f"{each.tombstones.objects:,}",
            f"{each.swept_objects(Action.DELETE, Outcome.DONE):,}",
        )
        for each in records
    )
    columns = ("storage root", "result", "mode", "orphans", "tombstones", "deleted")
    reasons = ((each, each.error or each.effective_mode_reason) for each in records)
    lines = [f"{each.result}: {each.root}: {why}" for each, why in reasons if why]
    lines += filter(None, map(_verdict, records))
    return [text_table(columns, rows), *(as_text(line) for line in lines)]


def interrupted(records: Sequence[RunRecord]) -> str:
    """Return what interrupted runs did, in a sentence."""
    done = sum(each.swept_objects(Action.DELETE, Outcome.DONE) for each in records)
    return (
        f"{done:,} objects were deleted, and every run that began is on record; the next run goes"
        " on with the rest"
    )


def steps_after(
    records: Sequence[RunRecord], roots: Sequence[ScheduledRoot], config: Path
) -> Iterator[str]:
    """Yield what comes after the runs: the next one, how to undo, and the rows of all objects."""
    deleted = {each.root for each in records if each.has_deleted}
    return after_run(
        records,
        config,
        {each.root: each.quarantine_period for each in roots},
        [each.root for each in roots if each.root in deleted and is_versioned(each)],
    )


def _verdict(record: RunRecord) -> str:
    """Return of how many jobs nothing can be deleted, and why; "" if there are none."""
    found = record.blocked
    if found is None:
        return ""
    word = "blocked" if found.are_all else "partly blocked"
    return (
        f"{word}: {record.root}: nothing can be deleted of {found.jobs} of {found.of_jobs} jobs;"
        f" {found.code}: {found.message}"
    )


def _orphaned(record: RunRecord) -> str:
    if record.plan_id is None:
        return ""
    found = ByKind(kinds=by_kind(record.amounts)).orphaned
    return f"{found.objects:,} ({found.bytes:,} B)"
