"""Checks of ``doctor`` for scheduled runs: the folder of plans, the lock, the Pushgateway."""

from __future__ import annotations

import uuid
from functools import partial
from http import HTTPStatus
from pathlib import Path

import httpx

from orphangc.app.commands.health import Check, CheckStatus
from orphangc.app.config.configuration import Configuration
from orphangc.app.runner.locking import lock_folder
from orphangc.app.wiring.clock import is_dead
from orphangc.app.wiring.compose import state_of
from orphangc.collect.state.lock import holder_of
from orphangc.core.model.settings import StorageRootSettings, without_credentials
from orphangc.errors import SettingsError

_TIMEOUT_SECONDS = 10.0


def checks_of_root(settings: StorageRootSettings) -> dict[str, Check]:
    """Return the checks of one storage root, by name."""
    return {"lock": partial(_lock, settings)}


def checks_of_all(configuration: Configuration) -> dict[str, Check]:
    """Return the checks that concern no single storage root, by name."""
    checks: dict[str, Check] = {"plans": partial(_plans, configuration.plans_folder)}
    url = configuration.metrics.pushgateway
    if url is not None:
        checks["pushgateway"] = partial(_pushgateway, url)
    return checks


def _lock(settings: StorageRootSettings) -> tuple[CheckStatus, str]:
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
