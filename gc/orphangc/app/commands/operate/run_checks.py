"""Checks of ``doctor`` for what runs need: lock, plans, Pushgateway, and exporters."""

from __future__ import annotations

import uuid
from functools import partial
from http import HTTPStatus
from pathlib import Path

import httpx

from flinkstate.places.locations import Location
from orphangc.adapters.flink.exporter_folder import ExporterFolder
from orphangc.adapters.open import BUCKETS, open_storage
from orphangc.app.commands.health import Check, CheckStatus
from orphangc.app.config.configuration import Configuration
from orphangc.app.runner.held_plan import lock_folder
from orphangc.app.wiring.clock import is_dead, now
from orphangc.app.wiring.compose import open_exports, state_of
from orphangc.collect.observe.exporter_files import newest
from orphangc.collect.state.lock import holder_of
from orphangc.core.documents.bucket_settings import dangers, effects
from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE
from orphangc.core.model.settings import StorageRootSettings, without_credentials
from orphangc.core.model.types import JobId
from orphangc.errors import SettingsError, UnreadableSnapshotError

_TIMEOUT_SECONDS = 10.0


def checks_of_all(configuration: Configuration) -> dict[str, Check]:
    """Return the checks that concern no single storage root, by name."""
    checks: dict[str, Check] = {"plans": partial(_plans, configuration.plans_folder)}
    url = configuration.metrics.pushgateway
    if url is not None:
        checks["pushgateway"] = partial(_pushgateway, url)
    return checks


def lock_health(settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    """Return whether the lock of a storage root is free, or who holds it."""
    state = state_of(settings)
    holder = holder_of(state.files, lock_folder(state))
    if holder is None:
        return CheckStatus.GOOD, "the lock is free"
    who = f"process {holder.pid} on {holder.host}"
    if is_dead(holder):
        return (
            CheckStatus.GOOD,
            f"{who} has ended without giving the lock back: the next run takes it",
        )
    return (
        CheckStatus.WARNING,
        f"{who} holds the lock: a run goes on, or died less than 30 minutes ago",
    )


def _plans(folder: Path) -> tuple[CheckStatus, str]:
    """Try to write to the folder; the configuration checks that it is outside the storage roots."""
    probe = folder / f"doctor-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as err:
        raise SettingsError(f"plans cannot be written to {folder}: {err.strerror}") from err
    return CheckStatus.GOOD, f"{folder} can be written"


def _pushgateway(url: str) -> tuple[CheckStatus, str]:
    """Request its page; runs work without a Pushgateway, so the worst result is a warning."""
    shown = without_credentials(url)
    try:
        answer = httpx.get(f"{url.rstrip('/')}/-/ready", timeout=_TIMEOUT_SECONDS)
    except httpx.HTTPError as err:
        return CheckStatus.WARNING, f"{shown} does not answer: {type(err).__name__}"
    if answer.status_code != HTTPStatus.OK:
        return CheckStatus.WARNING, f"{shown} answers {answer.status_code}"
    return CheckStatus.GOOD, f"{shown} is ready"


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
    if any(each.contains(folder.location) for each in settings.own_places):
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


def bucket_checks(settings: StorageRootSettings) -> dict[str, Check]:
    """Return the checks of the buckets of a storage root and its state location, by name."""
    root, state = settings.location, settings.state_location
    found: dict[str, Check] = {}
    if root.scheme in BUCKETS:
        found["bucket"] = partial(_bucket, root, "Flink's files")
    if state is not None and state.scheme in BUCKETS:
        found["bucket of the state"] = partial(_bucket, state, "tombstones and memory")
    return found


def _bucket(location: Location, whose: str) -> tuple[CheckStatus, str]:
    found = open_storage(location).bucket_settings()
    if found is None:
        return CheckStatus.NOTE, "its settings cannot be read"
    prefix = f"{location.path[1:]}/" if location.path != "/" else ""
    warned, other = [*dangers(found, prefix, whose)], [*effects(found, prefix)]
    if warned:
        return CheckStatus.WARNING, "; ".join((*warned, *other))
    if found.unread:
        other.insert(0, f"not looked at without {', '.join(found.unread)}")
    if found.unread or found.unseen:
        return CheckStatus.NOTE, "; ".join((*other, *found.unseen))
    said = other or ["no lifecycle rule and no retention acts on it"]
    return CheckStatus.GOOD, "; ".join(said)
