"""What later processes read of runs: their records, and the checks of the command."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

import structlog
from pydantic import TypeAdapter, ValidationError

from orphangc.collect.state.store import RootState
from orphangc.core.documents.run_record import (
    RUN_ID_TIME,
    Phase,
    RunRecord,
    RunResult,
    Totals,
    run_id_at,
    totals_after,
)
from orphangc.core.documents.self_sustained_record import RememberedUsageCheck, merged
from orphangc.core.model.joined_facts import joined
from orphangc.core.model.types import JobId
from orphangc.core.times.instants import EARLIEST, from_pattern, shifted

log = structlog.get_logger()

_CHECKS = TypeAdapter(tuple[RememberedUsageCheck, ...])
_TICK = timedelta(microseconds=1)
_KEPT = 200
_NEWEST_READ = 5
"""Number of records that give the totals: one may have been written at the same time as
another, or by a machine whose clock is behind."""


def later_run_id(state: RootState, run_id: str, plans: Iterable[str] = ()) -> str:
    """Return a run's id, later than that of every run before it, by whatever clock.

    Records and plans sort by it: what a clock that was ahead has dated is not the newest for ever.

    Args:
        plans: Ids of the runs whose plans are kept.

    Raises:
        StorageUnreachableError: The state location cannot be listed.
    """
    at, _, token = run_id.partition("-")
    known = (from_pattern(e.partition("-")[0], RUN_ID_TIME) for e in (*plans, *_names(state)))
    newest = max((each for each in known if each is not None), default=EARLIEST)
    later = run_id_at(shifted(newest, _TICK), token)
    return run_id if at >= later.partition("-")[0] else later


def newest_records(state: RootState) -> Iterator[RunRecord]:
    """Yield a storage root's records, newest first, or raise ``StorageUnreachableError``."""
    for name in reversed(_names(state)):
        data = state.files.read(f"{state.folder}/records/{name}")
        if data is None:
            continue  # removed since: it was an old one
        try:
            yield RunRecord.model_validate_json(data)
        except ValidationError:  # by a newer version, maybe
            log.warning("record.unreadable", name=name, location=str(state.files.location))


def _names(state: RootState) -> list[str]:
    return [n for n in state.files.names(f"{state.folder}/records") if n.endswith(".json")]


def has_planned(state: RootState) -> bool:
    """Return whether some run of the storage root has made a plan before."""
    return any(
        phase.phase is Phase.PLAN and phase.result is RunResult.DONE
        for record in newest_records(state)
        for phase in record.phases
    )


def checks_before(state: RootState) -> dict[str, tuple[RememberedUsageCheck, ...]]:
    """Return the remembered checks of each job, by job id, from its newest record."""
    found: dict[str, tuple[RememberedUsageCheck, ...]] = {}
    for _, record in zip(range(_NEWEST_READ), newest_records(state), strict=False):
        for job in record.jobs:
            if job.looks:
                found.setdefault(job.job_id, job.looks)
    return found


def totals_so_far(state: RootState) -> Totals:
    """Return the totals of all runs before."""
    totals = Totals()
    for _, record in zip(range(_NEWEST_READ), newest_records(state), strict=False):
        totals = joined(totals, record.totals)
    return totals


def kept_record(state: RootState, record: RunRecord) -> RunRecord:
    """Write a record with its totals, or raise ``StorageUnreachableError``; the oldest ones go."""
    totals = totals_after(totals_so_far(state), record)
    kept = record.model_copy(update={"totals": totals})
    data = (kept.model_dump_json(indent=1) + "\n").encode()
    state.files.write(f"{state.folder}/records/{kept.run_id}.json", data)
    for name in _names(state)[:-_KEPT]:
        state.files.remove(f"{state.folder}/records/{name}")
    return kept


def checks_of_job(state: RootState, job_id: JobId) -> tuple[RememberedUsageCheck, ...]:
    """Return the newest check of each place, or raise ``StorageUnreachableError``."""
    data = state.files.read(_checks_name(state, job_id))
    kept: tuple[RememberedUsageCheck, ...] = ()
    if data is not None:
        try:
            kept = _CHECKS.validate_json(data)
        except ValidationError:  # by a newer version, maybe: the count starts again
            log.warning("looks.unreadable", job_id=job_id, location=str(state.files.location))
    return merged(checks_before(state).get(job_id, ()), kept)


def keep_checks(state: RootState, job_id: JobId, looks: Sequence[RememberedUsageCheck]) -> None:
    """Write checks; of two that are written at once one is lost, which costs one more."""
    state.bind()
    state.files.write(
        _checks_name(state, job_id), _CHECKS.dump_json(tuple(looks), indent=1) + b"\n"
    )


def _checks_name(state: RootState, job_id: JobId) -> str:
    return f"{state.folder}/looks/{job_id}.json"
