"""Puts adapters behind the ports for one storage root."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from platformdirs import user_state_path

from orphangc.adapters.flink_rest import FlinkRest
from orphangc.adapters.plan_files import ArrowSpool
from orphangc.adapters.storages import open_state_files, open_storage
from orphangc.core.evidence import Root as Checkpoint
from orphangc.core.model import ObjectKey
from orphangc.core.registry import MAX_SNAPSHOT_BYTES, read_snapshot
from orphangc.core.settings import StorageRootSettings
from orphangc.core.snapshot import RegistrySnapshot
from orphangc.core.uris import Location, canonical
from orphangc.errors import RefusedError, SettingsError, UnreadableSnapshotError
from orphangc.ports import Progress
from orphangc.runs.observe import Outside
from orphangc.runs.roots import RootReader
from orphangc.runs.state import RootState
from orphangc.shell.clock import now

__all__ = [
    "REST_TIMEOUT",
    "Root",
    "absolute",
    "check_outside",
    "load_snapshots",
    "located",
    "opened",
    "parent_of",
    "roots_now",
    "state_of",
]

REST_TIMEOUT = timedelta(seconds=30)


def parent_of(place: Location) -> Location:
    """Return the folder that a place lies in."""
    path = place.path.rpartition("/")[0] or "/"
    return Location(place.scheme, place.authority, path)


def default_state(root: Location) -> Location:
    """Return where the state of a root is kept if nobody says: this user's own state folder."""
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    return canonical(str(user_state_path("orphangc") / digest))


def _resolved(place: Location) -> Location:
    """Return where a local place really lies: a link is only another spelling."""
    if place.scheme != "file":
        return place
    return canonical(str(Path(place.path).resolve()))


def check_outside(root: str, places: Sequence[Path]) -> None:
    """Make sure that nothing is going to be written below the storage root, which is Flink's.

    Raises:
        SettingsError: A place lies there.

    """
    for place in places:
        if _resolved(canonical(root)).contains(_resolved(canonical(str(place.absolute())))):
            raise SettingsError(f"{place} lies inside the storage root {root}: choose another")


def state_of(settings: StorageRootSettings) -> RootState:
    """Return the state of a storage root.

    Raises:
        SettingsError: The default state folder lies inside the storage root, or around it.

    """
    root = canonical(settings.root)
    place = canonical(settings.state) if settings.state else default_state(root)
    if _resolved(root).contains(_resolved(place)) or _resolved(place).contains(_resolved(root)):
        raise SettingsError(f"state {place} and storage root {root} contain each other: --state")
    return RootState(open_state_files(place), root)


def load_snapshots(sources: Sequence[str]) -> list[RegistrySnapshot]:
    """Return the registry snapshots of all sources: a file each, or all files of a folder.

    Raises:
        RefusedError: One is damaged, partial, or not there: its job's liveness is
            unknown, and with it everybody's.
        StorageUnreachableError: The place cannot be listed or read.

    """
    return [snapshot for source in sources for snapshot in _load(canonical(source))]


def _load(place: Location) -> Iterator[RegistrySnapshot]:
    storage = open_storage(parent_of(place))
    keys = [ObjectKey(place.name)]
    folder = storage.folder("")
    if place.name in folder.folders:
        storage = open_storage(place)
        keys = [each.key for each in storage.folder("").objects]
        if not keys:
            raise RefusedError(f"no registry snapshot in {place}; nothing was planned")
    for key in keys:
        data = storage.read(key, max_bytes=MAX_SNAPSHOT_BYTES)
        if data is None:
            raise RefusedError(f"no registry snapshot {place}; nothing was planned")
        try:
            yield read_snapshot(data)
        except UnreadableSnapshotError as err:
            where = place if place.name == key else place.child(key)
            raise RefusedError(f"{where}: {err}; nothing was planned") from err


def located(uri: str) -> Location:
    """Return the place that an argument names: a URI, or a path from here.

    Raises:
        SettingsError: It names none.

    """
    try:
        return canonical(absolute(uri))
    except ValueError as err:
        raise SettingsError(str(err)) from err


@dataclass(frozen=True, slots=True)
class Root:
    """One storage root, ready for a cycle."""

    settings: StorageRootSettings
    outside: Outside


@contextmanager
def opened(settings: StorageRootSettings, progress: Progress) -> Iterator[Root]:
    """Open everything that a cycle of one storage root asks.

    Raises:
        StorageUnreachableError: The storage root or an extra root cannot be reached.
        SettingsError: A scheme is unknown.

    """
    with ArrowSpool() as spool:
        outside = Outside(
            storage=open_storage(settings.root),
            extra=[open_storage(uri) for uri in settings.extra_roots],
            registries=[
                FlinkRest(url, timeout=REST_TIMEOUT, now=now) for url in settings.flink_rest
            ],
            snapshots=lambda: load_snapshots(settings.registry),
            open_storage=open_storage,
            spool=spool,
            wait=time.sleep,
            progress=progress,
        )
        yield Root(settings, outside)


def absolute(uri: str) -> str:
    """Return a local path as an absolute one; leave a URI as it is, and an empty text too."""
    return uri if not uri or ":" in uri.partition("/")[0] else str(Path(uri).absolute())


def roots_now(settings: StorageRootSettings) -> list[Checkpoint]:
    """Return every root below the storage root and the extra roots, read now.

    Raises:
        RefusedError: One of them cannot be read.

    """
    reader = RootReader(settings.aliases, settings.acknowledged)
    found = [reader.collect(open_storage(uri)) for uri in (settings.root, *settings.extra_roots)]
    for read in found:
        for broken in read.unreadable:
            raise RefusedError(f"cannot read {broken.uri}: {broken.reason}")
    return [root for read in found for root in read.roots]
