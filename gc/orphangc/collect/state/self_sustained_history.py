"""Earlier checks of one job: those of scheduled runs, and those of the command."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from pydantic import TypeAdapter, ValidationError

from orphangc.collect.state.history import checks_before
from orphangc.collect.state.store import RootState
from orphangc.core.documents.self_sustained_record import RememberedUsageCheck, merged
from orphangc.core.model.types import JobId

log = structlog.get_logger()

_CHECKS = TypeAdapter(tuple[RememberedUsageCheck, ...])


def checks_of_job(state: RootState, job_id: JobId) -> tuple[RememberedUsageCheck, ...]:
    """Return the newest check of each place, by a run or by the command.

    Raises:
        StorageUnreachableError: The state location cannot be read.
    """
    data = state.files.read(_name(state, job_id))
    kept: tuple[RememberedUsageCheck, ...] = ()
    if data is not None:
        try:
            kept = _CHECKS.validate_json(data)
        except ValidationError:  # by a newer version, maybe: the count starts again
            log.warning("looks.unreadable", job_id=job_id, location=str(state.files.location))
    return merged(checks_before(state).get(job_id, ()), kept)


def keep_checks(state: RootState, job_id: JobId, looks: Sequence[RememberedUsageCheck]) -> None:
    """Write checks; of two that are written at once one is lost, which costs one more.

    Raises:
        StorageUnreachableError: They could not be written.
    """
    state.bind()
    state.files.write(_name(state, job_id), _CHECKS.dump_json(tuple(looks), indent=1) + b"\n")


def _name(state: RootState, job_id: JobId) -> str:
    return f"{state.folder}/looks/{job_id}.json"
