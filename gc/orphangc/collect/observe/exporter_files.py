"""Reading what an exporter inside a JobManager wrote last."""

from __future__ import annotations

from flinkstate.buffers import Buffer
from orphangc.core.exporter.registry_format import read_snapshot
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, epoch_in
from orphangc.core.model.types import JobId, Mode
from orphangc.errors import UnreadableSnapshotError
from orphangc.ports import ExporterChannel

_TRIES = 3
"""An exporter removes its oldest snapshots; the newest is gone only if it is very fast."""


def _parsed(data: Buffer, job_id: JobId) -> RegistrySnapshot:
    """Return the snapshot in an exporter's folder of a job.

    Raises:
        UnreadableSnapshotError: It is damaged, belongs to another job, or is not an exporter's.
    """
    snapshot = read_snapshot(data)
    if snapshot.job_id != job_id:
        raise UnreadableSnapshotError(f"it is of job {snapshot.job_id}, and lies in {job_id}")
    if snapshot.source is not Mode.REGISTRY:
        raise UnreadableSnapshotError(f"it is a {snapshot.source} one, not an exporter's")
    return snapshot


def _named(name: str, snapshot: RegistrySnapshot) -> RegistrySnapshot:
    """Return the snapshot if its name spells its epoch: rivals are recognised by names alone.

    Raises:
        UnreadableSnapshotError: The name spells another epoch, or none.
    """
    if epoch_in(name) != snapshot.jm_epoch:
        raise UnreadableSnapshotError(
            f"it is of epoch {snapshot.jm_epoch}, and its name spells"
            f" {epoch_in(name) or 'none'}: snapshot-<13 digits>-<epoch>-<sequence>.jsonl"
        )
    return snapshot


def newest(exports: ExporterChannel, job_id: JobId) -> tuple[str, RegistrySnapshot] | None:
    """Return name and content of a job's newest snapshot, ``None`` if there is none.

    Raises:
        UnreadableSnapshotError: It is not one whole snapshot of the job.
        StorageUnreachableError: The folder cannot be listed or read.
    """
    for _ in range(_TRIES):
        names = exports.names(job_id)
        if not names:
            return None
        data = exports.read(job_id, names[-1])
        if data is not None:
            return names[-1], parsed_at(exports, job_id, names[-1], data)
    raise UnreadableSnapshotError(f"{_place(exports, job_id)}: each newest one vanishes")


def parsed_at(exports: ExporterChannel, job_id: JobId, name: str, data: Buffer) -> RegistrySnapshot:
    """Return the snapshot of a name.

    Raises:
        UnreadableSnapshotError: It is not one whole snapshot of the job; the message says where.
    """
    try:
        return _named(name, _parsed(data, job_id))
    except UnreadableSnapshotError as err:
        raise UnreadableSnapshotError(f"{_place(exports, job_id)}/{name}: {err}") from err


def _place(exports: ExporterChannel, job_id: JobId) -> str:
    return f"{exports.location}/{job_id}/snapshots"
