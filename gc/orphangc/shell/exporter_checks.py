"""``doctor``'s look at the exporters inside JobManagers."""

from __future__ import annotations

from functools import partial

from orphangc.adapters.exporter_folder import ExporterFolder
from orphangc.core.exported import REGISTRY_MAX_AGE
from orphangc.core.model import JobId
from orphangc.core.settings import StorageRootSettings
from orphangc.core.uris import canonical
from orphangc.errors import UnreadableSnapshotError
from orphangc.runs.newest import newest
from orphangc.shell.clock import now
from orphangc.shell.compose import open_exports
from orphangc.shell.health import Check, Health

__all__ = ["exporter_checks"]


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
) -> tuple[Health, str]:
    """Tell how old the newest snapshot is, and try whether a nonce could be written beside it."""
    if any(
        canonical(root).contains(folder.location) for root in (settings.root, *settings.extra_roots)
    ):
        return Health.BAD, f"{folder.location} lies inside a storage root: export elsewhere"
    try:
        found = newest(folder, job_id)
    except UnreadableSnapshotError as err:
        return Health.BAD, str(err)
    if found is None:
        return Health.WARNING, "it has written no snapshot yet"
    snapshot = found[1]
    age = now() - snapshot.taken_at
    message = (
        f"snapshot {snapshot.sequence} of epoch {snapshot.jm_epoch} is"
        f" {age.total_seconds():.0f} s old, {len(snapshot.entries)} entries"
    )
    if settings.is_declared_ended(job_id):
        return Health.GOOD, f"{message}; the job is declared ended"
    if age > REGISTRY_MAX_AGE:
        return Health.BAD, f"{message}: the exporter has stopped"
    if -age > settings.clock_skew:
        return Health.BAD, f"{message}: the JobManager's clock is ahead"
    folder.check_writable(job_id)
    return Health.GOOD, f"{message}; nonces can be written"
