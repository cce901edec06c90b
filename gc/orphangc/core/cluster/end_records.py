"""Records in which Flink says that a job is over: evidence of its end that outlives the JobManager.

R34: the exporter's record (E1), an entry of the JobResultStore (E3), an archive for the history
server (E4). A record that is absent or cannot be read proves nothing, so it is no error.

Source: Flink 1.15-2.3, ``FileSystemJobResultStore`` (``<job id>.json``, ``<job id>_DIRTY.json``
before the cleanup is done), ``JobResultSerializer``, ``FsJsonArchivist``; both are written for
globally terminal jobs only (``Dispatcher.jobReachedTerminalState``).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from flinkstate.places.checkpoint_names import is_job_id
from orphangc.core.cluster.job_facts import GLOBALLY_TERMINAL
from orphangc.core.model.types import JobId

_ENDING = ".json"
_APPLICATION_STATUS = {"SUCCEEDED": "FINISHED", "CANCELED": "CANCELED", "FAILED": "FAILED"}


class EndFile(NamedTuple):
    """A file that may be such a record, with its store time."""

    name: str
    data: bytes
    modified_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRecord:
    """One record of the end of a run of a job.

    Attributes:
        status: Final status, as Flink's REST API spells it.
        at: Store time of the record.
        directory: Job directory of that run, ``None`` if the record does not say.
        is_of_newest_run: Whether no JobManager is known that began after that run (E1 only).
    """

    job_id: JobId
    uri: str
    status: str
    at: datetime
    directory: str | None = None
    is_of_newest_run: bool = False


def exported_end(
    job_id: JobId,
    files: Iterable[EndFile],
    *,
    folder: str,
    owners: Mapping[str, datetime | None],
    newest_epoch: str | None,
) -> EndRecord | None:
    """Return the newest end that the exporters of a job wrote (E1), ``None`` if there is none.

    Args:
        files: Files of its ``ended/``.
        folder: URI of that folder.
        owners: Store times of the files in its ``owners/``, by name.

    Source: ``deploy/flink-plugin``, ``EndOfJob``, ``OwnerMarkers``.
    """
    known = [
        (each.modified_at, each.name, fields)
        for each in files
        if each.modified_at is not None and (fields := _exported_fields(job_id, each)) is not None
    ]
    if not known:
        return None
    at, name, fields = max(known, key=lambda each: each[:2])
    epoch = name.removesuffix(_ENDING)
    directory = fields.get("checkpoint_dir")
    return EndRecord(
        job_id=job_id,
        uri=f"{folder}/{name}",
        status=str(fields["status"]),
        at=at,
        directory=directory if isinstance(directory, str) else None,
        is_of_newest_run=_is_newest(epoch, at, owners, newest_epoch),
    )


def _exported_fields(job_id: JobId, file: EndFile) -> dict[str, object] | None:
    fields = _object(file.data)
    is_one = (
        fields.get("format") == "orphangc-ended"
        and fields.get("version") == 1
        and fields.get("job_id") == job_id
        and f"{fields.get('epoch')}{_ENDING}" == file.name
        and fields.get("status") in GLOBALLY_TERMINAL
    )
    return fields if is_one else None


def _is_newest(
    epoch: str, at: datetime, owners: Mapping[str, datetime | None], newest_epoch: str | None
) -> bool:
    """Return whether no other JobManager has exported the job since; only store times count.

    The newest snapshot is of that run, and no other run marked that it lives after the record.
    """
    others = [time for name, time in owners.items() if name.rpartition(".")[0] != epoch]
    if any(time is None or time >= at for time in others):
        return False
    return newest_epoch in {None, epoch}


def stored_end(file: EndFile, folder: str) -> EndRecord | None:
    """Return the end that a file of a JobResultStore (E3) or of an archive (E4) states."""
    job_id = file.name.removesuffix(_ENDING)
    if file.modified_at is None or not is_job_id(job_id):
        return None
    is_result = file.name != job_id
    status = (_result_of if is_result else _archived_of)(_object(file.data), job_id)
    if status not in GLOBALLY_TERMINAL:
        return None
    uri = f"{folder}/{file.name}"
    return EndRecord(job_id=JobId(job_id), uri=uri, status=status, at=file.modified_at)


def is_stored_end(name: str) -> bool:
    """Return whether a file of this name may state an end; one with ``_DIRTY`` never does."""
    return is_job_id(name.removesuffix(_ENDING))


def _result_of(fields: dict[str, object], job_id: str) -> str:
    result = fields.get("result")
    if not isinstance(result, dict) or result.get("id") != job_id:
        return ""
    return _APPLICATION_STATUS.get(str(result.get("application-status")), "")


def _archived_of(fields: dict[str, object], job_id: str) -> str:
    parts = fields.get("archive")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and part.get("path") == f"/jobs/{job_id}":
            details = _object(str(part.get("json")).encode())
            return str(details.get("state")) if details.get("jid") == job_id else ""
    return ""


def _object(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
