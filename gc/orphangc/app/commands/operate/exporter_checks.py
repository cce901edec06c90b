"""Checks of ``doctor`` for the exporters inside JobManagers."""

from __future__ import annotations

from functools import partial

from flinkstate.places.locations import canonical
from orphangc.adapters.flink.exporter_folder import ExporterFolder
from orphangc.app.commands.health import Check, CheckStatus
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import open_exports
from orphangc.collect.observe.exporter_files import newest
from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId
from orphangc.errors import UnreadableSnapshotError


def exporter_checks(settings: StorageRootSettings) -> dict[str, Check]:
    """Return a check for each job that has a folder for its exporter.

    Raises:
        StorageUnreachableError: A registry folder cannot be listed.
    """
    return {
        f"exporter {job_id}": partial(_exporter, folder, job_id, settings)
        for folder in open_exports(settings.registry)
        for job_id in folder.jobs()
    }


def _exporter(
    folder: ExporterFolder, job_id: JobId, settings: StorageRootSettings
) -> tuple[CheckStatus, str]:
    """Return the age of the newest snapshot, and whether a nonce can be written beside it."""
    if any(
        canonical(root).contains(folder.location) for root in (settings.root, *settings.extra_roots)
    ):
        return CheckStatus.BAD, f"{folder.location} is inside a storage root: export elsewhere"
    try:
        found = newest(folder, job_id)
    except UnreadableSnapshotError as err:
        return CheckStatus.BAD, str(err)
    if found is None:
        return CheckStatus.WARNING, "it has written no snapshot yet"
    snapshot = found[1]
    age = now() - snapshot.taken_at
    message = (
        f"snapshot {snapshot.sequence} of epoch {snapshot.jm_epoch} is"
        f" {age.total_seconds():.0f} s old, {len(snapshot.entries)} entries"
    )
    if settings.is_declared_ended(job_id):
        return CheckStatus.GOOD, f"{message}; the job is declared ended"
    if age > REGISTRY_MAX_AGE:
        return CheckStatus.BAD, f"{message}: the exporter has stopped"
    if -age > settings.clock_skew:
        return CheckStatus.BAD, f"{message}: the JobManager's clock is ahead"
    folder.check_writable(job_id)
    return CheckStatus.GOOD, f"{message}; nonces can be written"
