"""Checks of ``doctor`` for what a bucket itself does to Flink's files and to the state location."""

from __future__ import annotations

from functools import partial

from orphangc.app.commands.operate.health import Check, CheckStatus
from orphangc.core.documents.bucket_settings import dangers, effects
from orphangc.core.model.locations import Location, canonical
from orphangc.core.model.settings import StorageRootSettings


def bucket_checks(settings: StorageRootSettings) -> dict[str, Check]:
    """Return the checks of the buckets of a storage root and its state location, by name."""
    root = canonical(settings.root)
    state = None if settings.state is None else canonical(settings.state)
    found: dict[str, Check] = {}
    if root.scheme == "s3":
        found["bucket"] = partial(_bucket, root, "Flink's files")
    if state is not None and state.scheme == "s3":
        found["bucket of the state"] = partial(_bucket, state, "tombstones and memory")
    return found


def _bucket(location: Location, whose: str) -> tuple[CheckStatus, str]:
    from orphangc.adapters.s3.bucket_reader import (  # noqa: PLC0415 - loads the client of S3
        bucket_settings,
    )

    found = bucket_settings(location)
    prefix = f"{location.path[1:]}/" if location.path != "/" else ""
    warned, other = [*dangers(found, prefix, whose)], [*effects(found, prefix)]
    if warned:
        return CheckStatus.WARNING, "; ".join((*warned, *other))
    if found.unread:
        rights = ", ".join(found.unread)
        return CheckStatus.NOTE, "; ".join((f"not looked at without {rights}", *other))
    said = other or ["no lifecycle rule and no Object Lock acts on it"]
    return CheckStatus.GOOD, "; ".join(said)
