"""Checks of ``doctor`` for what a bucket itself does to Flink's files and to the state location."""

from __future__ import annotations

from functools import partial

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.open import open_storage
from orphangc.app.commands.health import Check, CheckStatus
from orphangc.core.documents.bucket_settings import dangers, effects
from orphangc.core.model.settings import StorageRootSettings

_BUCKETS = frozenset({"s3", "abfs", "gs"})
"""Schemes of buckets with settings that can be read; see ``Storage.bucket_settings``."""


def bucket_checks(settings: StorageRootSettings) -> dict[str, Check]:
    """Return the checks of the buckets of a storage root and its state location, by name."""
    root = canonical(settings.root)
    state = None if settings.state is None else canonical(settings.state)
    found: dict[str, Check] = {}
    if root.scheme in _BUCKETS:
        found["bucket"] = partial(_bucket, root, "Flink's files")
    if state is not None and state.scheme in _BUCKETS:
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
