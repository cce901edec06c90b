"""``registry export`` and ``registry show``."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from flinkstate.files.paths import located
from flinkstate.places.checkpoint_names import is_job_id
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.open import open_storage
from orphangc.adapters.rows.plan_directory import check_writable, write_atomically
from orphangc.app.config.validate import check_outside, settings_from
from orphangc.app.render.text_table import text_table
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import REST_TIMEOUT
from orphangc.collect.checkpoints.export_registry import derive_snapshot
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.exporter.registry_format import MAX_SNAPSHOT_BYTES, read_snapshot, write_snapshot
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, oldest_retained
from orphangc.core.model.types import JobId, ObjectKey
from orphangc.errors import (
    RefusedError,
    SettingsError,
    StorageUnreachableError,
    UnreadableSnapshotError,
)


def export_snapshot(
    values: Mapping[str, Any], *, job: str, out: Path, flink_rest: str | None
) -> dict[str, Any]:
    """Write a derived snapshot and return its contents.

    Raises:
        SettingsError: The job id is invalid, or the file exists or cannot be written.
        RefusedError: A checkpoint cannot be read, or the job has none.
    """
    if not is_job_id(job):
        raise SettingsError(f"--job {job!r} is no job id of 32 lower-case hex digits")
    settings = settings_from(values)
    check_outside(settings, [out])
    check_writable(out)
    if out.exists():
        raise SettingsError(f"{out} exists and is left as it is: give a new file")
    storage = open_storage(settings.location)
    taken_at = storage.now().now or now()
    facts = _facts(flink_rest, JobId(job))
    read = CheckpointReader(settings.aliases).collect(storage)
    if read.unreadable:
        first = read.unreadable[0]
        raise RefusedError(f"{first.problem}; nothing was exported")
    own = [each for each in read.checkpoints if each.job_id == job and each.directory is not None]
    directory = (own[0].directory if own else None) or storage.location
    prefix = storage.location.key_of(directory) or ""
    start = len(prefix) + 1 if prefix else 0
    snapshot, entries = derive_snapshot(
        JobId(job),
        sorted(own, key=lambda each: each.checkpoint_id),
        directory=directory,
        facts=facts,
        sizes={
            row["key"][start:]: row["size"]
            for batch in storage.objects(prefix)
            for row in batch.select(["key", "size"]).to_pylist()
            if row["size"] is not None
        },
        taken_at=taken_at,
    )
    data = write_snapshot(snapshot, entries, compress=out.suffix == ".gz")
    write_atomically(out, data)
    return _document(read_snapshot(data))


def _facts(url: str | None, job_id: JobId) -> JobFacts | None:
    if url is None:
        return None
    facts = FlinkRest(url, timeout=REST_TIMEOUT).observe().jobs.get(job_id)
    if facts is None:
        raise RefusedError(f"Flink does not know job {job_id}; nothing was exported")
    return facts


def show_snapshot(file: str) -> dict[str, Any]:
    """Return the contents of a snapshot.

    Raises:
        UnreadableSnapshotError: The snapshot is damaged, partial, or of an unknown form.
        StorageUnreachableError: The snapshot does not exist.
        SettingsError: The argument names no place.
    """
    place = located(file)
    data = open_storage(place.parent).read(ObjectKey(place.name), max_bytes=MAX_SNAPSHOT_BYTES)
    if data is None:
        raise StorageUnreachableError(f"{place} does not exist")
    try:
        return _document(read_snapshot(data))
    except UnreadableSnapshotError as err:
        raise UnreadableSnapshotError(f"{place}: {err}") from err


def _document(snapshot: RegistrySnapshot) -> dict[str, Any]:
    return {
        "source": snapshot.source,
        "flink_version": snapshot.flink_version,
        "job_id": snapshot.job_id,
        "jm_epoch": snapshot.jm_epoch,
        "sequence": snapshot.sequence,
        "nonce": snapshot.nonce,
        "taken_at": snapshot.taken_at.isoformat(),
        "checkpoint_dir": snapshot.checkpoint_dir,
        "max_concurrent": snapshot.max_concurrent,
        "settings": asdict(snapshot.settings),
        "oldest_retained_checkpoint_id": oldest_retained(snapshot),
        "retained_checkpoint_ids": [each.id for each in snapshot.retained],
        "issued_checkpoint_ids": [each.id for each in snapshot.issued],
        "entries": len(snapshot.entries),
        "kinds": {kind.value: count for kind, count in snapshot.entries.counts.items()},
    }


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(v)}" for name, v in value.items() if v is not None)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def snapshot_tables(document: dict[str, Any]) -> list[RenderableType]:
    """Return the contents of a snapshot as a table."""
    rows = ((name, _shown(value)) for name, value in document.items())
    return [text_table(("field", "value"), rows)]
