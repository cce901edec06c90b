"""A registry snapshot derived from checkpoints, and from a running job if Flink answers.

It knows no more than these checkpoints: it protects, and proves nothing more (R14).
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import Location
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    IssuedCheckpoint,
    RegistryEntries,
    RegistryEntry,
    RegistrySnapshot,
    RestoredCheckpoint,
    RetainedCheckpoint,
)
from orphangc.core.model.types import JobId, Mode
from orphangc.errors import RefusedError


@dataclass(slots=True)
class _Used:
    created: int
    last_used: int


def derive_snapshot(
    job_id: JobId,
    checkpoints: Sequence[Checkpoint],
    *,
    directory: Location,
    facts: JobFacts | None,
    sizes: Mapping[str, int],
    taken_at: datetime,
) -> tuple[RegistrySnapshot, list[RegistryEntry]]:
    """Return a snapshot of source ``derived``, and its entries: the files that checkpoints name.

    ``created`` is the oldest retained checkpoint that refers to a file, for its true creator is
    not in the name. The sequence is the time in microseconds: it rises from export to export.

    Args:
        sizes: Bytes of what is stored below the directory, by path.
        taken_at: Aware UTC, before the checkpoints were listed.

    Raises:
        RefusedError: A checkpoint's state is in a layout that checkpoints cannot prove (R2), or
            the job has no checkpoint at all.
    """
    if not checkpoints:
        raise RefusedError(f"no checkpoint of job {job_id} below {directory}: nothing to export")
    for checkpoint in checkpoints:
        if checkpoint.unproven_layout is not None:
            layout = checkpoint.unproven_layout
            raise RefusedError(f"{checkpoint.folder} holds {layout}: not exported (R2)")
    started = "" if facts is None or facts.incarnation is None else facts.incarnation
    entries = _entries(checkpoints, directory, sizes)
    snapshot = RegistrySnapshot(
        source=Mode.DERIVED,
        flink_version=None if facts is None else facts.flink_version,
        job_id=job_id,
        jm_epoch=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{directory}#{started}")),
        sequence=int(taken_at.timestamp() * 1_000_000),
        nonce=None,
        taken_at=taken_at,
        checkpoint_dir=str(directory),
        max_concurrent=None if facts is None else facts.max_concurrent,
        retained=tuple(map(_retained, checkpoints)),
        issued=_issued(facts),
        restored=_restored(facts),
        entries=RegistryEntries(entries),
    )
    return snapshot, entries


def _retained(checkpoint: Checkpoint) -> RetainedCheckpoint:
    return RetainedCheckpoint(
        id=checkpoint.checkpoint_id,
        is_savepoint=bool(checkpoint.is_savepoint),
        path=str(checkpoint.folder),
    )


def _issued(facts: JobFacts | None) -> tuple[IssuedCheckpoint, ...]:
    if facts is None:
        return ()
    pending = (each for each in facts.checkpoints if each.id in facts.in_progress_ids)
    return tuple(IssuedCheckpoint(id=each.id, at=each.triggered_at) for each in pending)


def _restored(facts: JobFacts | None) -> tuple[RestoredCheckpoint, ...]:
    if facts is None or facts.restored is None or facts.restored.external_path is None:
        return ()
    shown = facts.restored
    return (RestoredCheckpoint(id=shown.id, path=shown.external_path or "", mode=None),)


def _entries(
    checkpoints: Sequence[Checkpoint], directory: Location, sizes: Mapping[str, int]
) -> list[RegistryEntry]:
    used: dict[str, _Used] = {}
    for checkpoint in checkpoints:
        for folder, names in checkpoint.files.items():
            inside = directory.key_of(folder)
            prefix = str(folder) if inside is None else inside
            for name in names:
                path = f"{prefix}/{name}" if prefix else name
                entry = used.setdefault(
                    path, _Used(checkpoint.checkpoint_id, checkpoint.checkpoint_id)
                )
                entry.created = min(entry.created, checkpoint.checkpoint_id)
                entry.last_used = max(entry.last_used, checkpoint.checkpoint_id)
    return [
        RegistryEntry(path, EntryKind.FILE, sizes.get(path), each.created, each.last_used)
        for path, each in sorted(used.items())
    ]
