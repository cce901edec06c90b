"""Put adapters behind the ports for one storage root."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
from platformdirs import user_state_path

from flinkstate.files.paths import overlap, resolved
from flinkstate.places.checkpoint_names import checkpoint_id_of
from flinkstate.places.locations import UNREADABLE, Location, canonical
from orphangc import __version__
from orphangc.adapters.files.mount_table import device_of, mount_of, mounts_below
from orphangc.adapters.files.translate import one_line
from orphangc.adapters.files.unopened_storage import UnopenedStorage
from orphangc.adapters.flink.exporter_folder import ExporterFolder, is_job_folder
from orphangc.adapters.flink.job_archives import archived_ends
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.adapters.rows.resumable_listing import ListingIdentity, ResumableListing
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.adapters.storage_options import storage_options
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.engine_choice import LOCAL, EngineChoice
from orphangc.app.wiring.proofs import with_proof
from orphangc.collect.checkpoints.spooled_objects import contents_of
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.expired_checkpoints import (
    ExpiredMetadata,
    copies_folder,
    copy_name,
)
from orphangc.collect.observe.observation import Environment, read_checkpoint_at
from orphangc.collect.observe.searching import NOTHING_READ, BaseSearch
from orphangc.collect.observe.storage_search import StorageSearch
from orphangc.collect.state.read_checkpoints import ReadCheckpoints
from orphangc.collect.state.store import RootState
from orphangc.collect.world.bound_roots import bound_roots
from orphangc.collect.world.memory_files import read_memory
from orphangc.collect.world.recalling import outside_directories, recalled
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.exporter.registry_format import MAX_SNAPSHOT_BYTES, read_snapshot
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.memory.lost_facts import STORAGE
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.codes import Guard, SearchScope
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId, ObjectKey, Scope
from orphangc.core.times.instants import shifted
from orphangc.core.world.storages import storage_of
from orphangc.errors import (
    OrphanGcError,
    RefusedError,
    SettingsError,
    StorageUnreachableError,
    UnreadableSnapshotError,
)
from orphangc.ports import ClusterClient, HaMetadata, Progress, Storage
from orphangc.ports.engine import Engine

REST_TIMEOUT = timedelta(seconds=30)
_STREAMS = 32
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "FSSPEC_S3_ENDPOINT_URL")
"""Environment variables that make a URI mean another storage."""


def default_state(root: Location) -> Location:
    """Return the default state location of a storage root: below this user's state folder."""
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    return canonical(str(user_state_path("orphangc") / digest))


def state_place(settings: StorageRootSettings) -> Location:
    """Return the state location of a storage root."""
    return canonical(settings.state) if settings.state else default_state(canonical(settings.root))


def state_of(settings: StorageRootSettings) -> RootState:
    """Return the state of a storage root.

    Raises:
        SettingsError: The default state folder is inside the storage root, or contains it.
    """
    root = canonical(settings.root)
    place = state_place(settings)
    if overlap(root, place):
        raise SettingsError(f"state {place} and storage root {root} contain each other: --state")
    return RootState(open_state_files(place), root)


def load_snapshots(sources: Sequence[str]) -> list[RegistrySnapshot]:
    """Return the registry snapshots of all sources; a source is a file, or a folder of files.

    Files of exporters are in subfolders, which ``open_exports`` reads.

    Raises:
        RefusedError: A snapshot is damaged, partial, or absent: the liveness of its job is unknown,
            and so is that of every other job.
        StorageUnreachableError: The place cannot be listed or read.
    """
    return [snapshot for source in sources for snapshot in _load(canonical(source))]


def _load(place: Location) -> Iterator[RegistrySnapshot]:
    storage = open_storage(place.parent)
    keys, folder = [ObjectKey(place.name)], storage.folder("")
    if place.name in folder.folders:
        storage = open_storage(place)
        folder = storage.folder("")
        keys = [each.key for each in folder.objects]
        if not keys and not any(map(is_job_folder, folder.folders)):
            raise RefusedError(
                f"no registry snapshot in {place}; nothing was planned", guard=Guard.REGISTRY
            )
    listed = {each.key: each for each in folder.objects}
    for key in keys:
        data = contents_of(storage, key, listed.get(key), max_bytes=MAX_SNAPSHOT_BYTES)
        if data is None:
            raise RefusedError(
                f"no registry snapshot {place}; nothing was planned", guard=Guard.REGISTRY
            )
        try:
            yield read_snapshot(data)
        except UnreadableSnapshotError as err:
            where = place if place.name == key else place.child(key)
            raise RefusedError(
                f"{where}: {err}; nothing was planned", guard=Guard.REGISTRY
            ) from err


def ends_of(settings: StorageRootSettings, running: Collection[JobId]) -> list[EndRecord]:
    """Return what exporters, JobResultStores and archives record of ended jobs (R34).

    Args:
        running: Jobs that Flink shows alive; no exporter is asked for their end.

    Raises:
        StorageUnreachableError: A place cannot be listed or read.
    """
    found = [end for uri in settings.job_archives for end in archived_ends(canonical(uri))]
    for folder in open_exports(settings.registry):
        ended = (folder.end(job_id) for job_id in folder.jobs() if job_id not in running)
        found += [end for end in ended if end is not None]
    return found


def open_exports(sources: Sequence[str]) -> list[ExporterFolder]:
    """Return which of the sources are folders that exporters write into.

    Raises:
        StorageUnreachableError: A place cannot be listed.
    """
    places = [canonical(source) for source in sources]
    folders = [place for place in places if place.name in _folders_beside(place)]
    read = partial(contents_of, max_bytes=MAX_SNAPSHOT_BYTES)
    opened_ones = [ExporterFolder(place, read) for place in folders]
    return [each for each in opened_ones if each.jobs()]


def _folders_beside(place: Location) -> tuple[str, ...]:
    return open_storage(place.parent).folder("").folders


@dataclass(frozen=True, slots=True)
class WiredRoot:
    """Adapters of one storage root, ready for a cycle."""

    settings: StorageRootSettings
    environment: Environment


def _storage_root(settings: StorageRootSettings, *, is_planning: bool) -> Storage:
    """Return the storage root, with the inventory that replaces its listing, if one does."""
    root, state = canonical(settings.root), state_place(settings)
    shows_all = is_planning and settings.inventory is None
    storage = with_proof(open_storage(root, state=state, shows_all=shows_all), state)
    if settings.inventory is None or not is_planning:
        return storage
    from orphangc.adapters.s3_inventory.inventory import (  # noqa: PLC0415 - rarely used
        open_inventory,
    )

    return open_inventory(
        settings.inventory,
        storage,
        max_age=settings.inventory_max_age,
        clock_skew=settings.clock_skew,
    )


@contextmanager
def opened(
    settings: StorageRootSettings,
    progress: Progress,
    *,
    listing: Path | None = None,
    engine: EngineChoice = LOCAL,
    is_planning: bool = False,
    memory: WorldMemory | None = None,
    earlier: Callable[[Storage], Storage] | None = None,
) -> Iterator[WiredRoot]:
    """Open the adapters that a cycle of one storage root needs.

    Args:
        listing: Folder that keeps the listing, so that an interrupted one can be resumed; ``None``
            for a temporary listing.
        is_planning: Whether an inventory may replace the listing, and what a listing does not show
            is counted.
        earlier: Returns the storage root with an earlier listing, which this process reads
            whatever the engine; ``None``: it is listed.

    Raises:
        StorageUnreachableError: The storage root or an extra root cannot be reached.
        SettingsError: A scheme is unknown.
    """
    shows_all = is_planning and settings.inventory is None
    storage = _storage_root(settings, is_planning=is_planning)
    if is_planning and settings.inventory is not None:
        listing = None  # a listing never resumes an inventory, nor an inventory a listing
    state = state_of(settings)
    seen = recalled(state).memory if memory is None else memory
    siblings, remembered = _searched_beside(settings, storage, seen)
    hides = storage.has_hidden and (is_planning or settings.abort_uploads)
    extras, folders = storage if hides else None, storage if storage.has_folders else None
    if earlier is not None:
        storage, listing, engine = earlier(storage), None, LOCAL
    opening = _spark_engine(storage, engine) if engine.is_spark else _local_engine(storage, listing)
    with opening as lister:
        environment = Environment(
            storage=storage,
            extra=[open_storage(uri, shows_all=shows_all) for uri in settings.extra_roots],
            siblings=siblings,
            remembered=remembered,
            device_of=device_of,
            quarantined=[*quarantined_in(state, seen), *quarantined_beside(state)],
            released=released_in(state, seen),
            clusters=flink_clusters(settings),
            snapshots=lambda: load_snapshots(settings.registry),
            exporters=lambda: open_exports(settings.registry),
            ends=partial(ends_of, settings),
            open_storage=open_storage,
            engine=lister,
            wait=time.sleep,
            progress=progress,
            extras=extras,
            folders=folders,
            ha=ha_metadata(settings),
            search=storage_search(settings, siblings, seen),
        )
        yield WiredRoot(settings, environment)


def storage_search(
    settings: StorageRootSettings, siblings: Iterable[Storage], memory: WorldMemory
) -> StorageSearch | None:
    """Return what searches the storages of all named places, or these places alone.

    The settings' own places are scanned; where places alone are searched, no search repeats that.
    """
    places = [canonical(uri) for uri in (settings.root, *settings.extra_roots)]
    named = [(each, "the settings") for each in places if not settings.is_empty(each)]
    named += [(each.location, "another storage root") for each in siblings]
    scanned = [each for place, _ in named for each in (place, resolved(place))]
    known = [each for each in _storages_in(memory, settings) if not settings.is_empty(each)]
    is_whole = settings.search is SearchScope.STORAGE
    return StorageSearch(
        is_whole=is_whole,
        named=named if is_whole else (),
        scanned=() if is_whole else scanned,
        storage_of=storage_here if is_whole else place_here,
        open_storage=open_storage,
        own=resolved(canonical(settings.root)) if is_whole else None,
        known=[each for each in known if is_whole or not any(map(each.contains, scanned))],
        left_out=tuple(resolved(canonical(uri)) for uri in settings.search_except),
        is_empty=settings.is_empty,
        remembered=ReadCheckpoints(state_of(settings).files, __version__, settings.aliases, now),
        target_of=_linked_folder,
        mounts_below=mounts_below,
    )


def _storages_in(memory: WorldMemory, settings: StorageRootSettings) -> list[Location]:
    """Return the storages that earlier cycles searched, or had to; an alias says what one means."""
    found = (each.uri for each in memory.places if each.kind == STORAGE)
    return [canonical(uri, settings.aliases) for uri in found]


def storage_here(place: Location) -> Location | None:
    """Return the storage of a place; ``None`` if here is no such place."""
    here = place_here(place)
    return None if here is None else storage_of(here, mount_of(here))


def place_here(place: Location) -> Location | None:
    """Return a place; ``None`` for a local folder that is absent or empty, and for a text in which
    no place can be read.
    """
    if place.scheme == UNREADABLE:
        return None
    here = resolved(place)
    if here.scheme == "file" and Path(here.path).is_file():
        here = here.parent
    if here.scheme == "file" and _is_bare(Path(here.path)):
        return None
    return here


def _is_bare(folder: Path) -> bool:
    """Return whether nothing is in a folder; what cannot be listed is left to its search."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _linked_folder(link: Location) -> Location | None:
    """Return the folder that a local link leads to; ``None`` if it is gone, or leads to a file.

    Raises:
        StorageUnreachableError: What it leads to cannot be seen; it may be a mount that is absent.
    """
    if link.scheme != "file":
        return None
    try:
        is_folder = stat.S_ISDIR(Path(link.path).stat().st_mode)
        target = resolved(link)
        target.path.encode()
    except (OSError, UnicodeEncodeError) as err:
        if "\\" not in link.path and not os.path.lexists(link.path):  # a name may be escaped
            return None
        raise StorageUnreachableError(
            f"it cannot be seen where this link leads ({one_line(err)}): remove it, or state with"
            " --search-except that no checkpoint is behind it"
        ) from err
    return target if is_folder else None


def quarantined_in(state: RootState, memory: WorldMemory) -> list[ExpiredMetadata]:
    """Return every ``_metadata`` that a memory has in quarantine, with what reads its copy."""
    return [_copy_of(state, each) for each in memory.expired if each.is_in_quarantine]


def released_in(state: RootState, memory: WorldMemory) -> list[ExpiredMetadata]:
    """Return every ``_metadata`` whose quarantine is over and of which a copy is still there.

    Raises:
        StorageUnreachableError: The state location cannot be listed.
    """
    released = [each for each in memory.expired if each.is_released]
    present = frozenset(state.files.names(copies_folder(state))) if released else ()
    copies = (_copy_of(state, each) for each in released)
    return [each for each in copies if f"{each.record.name}.metadata" in present]


def _copy_of(state: RootState, record: ExpiredCheckpoint) -> ExpiredMetadata:
    return ExpiredMetadata(record, state.root, partial(state.files.read, copy_name(state, record)))


def quarantined_beside(state: RootState) -> list[ExpiredMetadata]:
    """Return what other storage roots of the state location have in quarantine in this one.

    One storage root may be a folder of another: then files that this one collects belong to
    checkpoints that only the memory of that one knows.

    Raises:
        OrphanGcError: The memory of such a storage root cannot be read.
    """
    return [
        each
        for bound in bound_roots(state.files)
        if bound.root is not None and bound.root != state.root
        for other in (RootState(state.files, bound.root),)
        if state.files.names(copies_folder(other))
        for each in quarantined_in(other, read_memory(other).memory)
        if overlap(state.root, other.root) or overlap(state.root, each.folder)
    ]


def flink_clusters(settings: StorageRootSettings) -> list[ClusterClient]:
    """Return the clients of the Flink clusters; without one, no HTTP client is loaded."""
    if not settings.flink_rest:
        return []
    from orphangc.adapters.flink.flink_rest import FlinkRest  # noqa: PLC0415

    return [FlinkRest(url, timeout=REST_TIMEOUT, now=now) for url in settings.flink_rest]


def ha_metadata(settings: StorageRootSettings) -> list[HaMetadata]:
    """Return the sources of jobs that have not ended, each once.

    Raises:
        SettingsError: An extra is not installed.
    """
    namespaces = dict.fromkeys(settings.kubernetes_ha)
    ensembles = dict.fromkeys(settings.zookeeper_ha)
    found: list[HaMetadata] = []
    if namespaces:
        from orphangc.adapters.flink.kubernetes_ha import KubernetesHa  # noqa: PLC0415

        found += [KubernetesHa(each, timeout=REST_TIMEOUT) for each in namespaces]
    if ensembles:
        from orphangc.adapters.flink.zookeeper_ha import ZooKeeperHa  # noqa: PLC0415

        found += [ZooKeeperHa(each, timeout=REST_TIMEOUT) for each in ensembles]
    return found


def _searched_beside(
    settings: StorageRootSettings, storage: Storage, memory: WorldMemory
) -> tuple[list[Storage], list[Storage]]:
    """Return the siblings, and the directories outside all places that earlier cycles saw.

    Raises:
        StorageUnreachableError: The state location cannot be listed or read.
    """
    siblings = _siblings_of(settings, storage)
    known = [canonical(uri) for uri in (settings.root, *settings.extra_roots)]
    known += [storage.location for storage in siblings]
    if settings.search is SearchScope.STORAGE:
        known += _storages_in(memory, settings)
    remembered: list[Storage] = []
    for place in outside_directories(memory):
        _add_sibling(place, known, remembered)
    return siblings, remembered


def _siblings_of(settings: StorageRootSettings, storage: Storage) -> list[Storage]:
    """Return the other storage roots to search, each place once.

    These are those that the settings imply, those that the same state location serves, and places
    that are stated to be empty, where they can be reached: what they hold counts all the same.

    Raises:
        StorageUnreachableError: The state location cannot be listed or read.
    """
    known = [canonical(uri) for uri in (settings.root, *settings.extra_roots)]
    chosen: list[Storage] = []
    for place in (*settings.other_roots, *_around_job_directory(storage)):
        _add_sibling(place, known, chosen)
    for bound in bound_roots(state_of(settings).files):
        if bound.root is None:
            reason = f"no file of {bound.folder} says whose state it is: repair or remove it"
            chosen.append(UnopenedStorage(bound.folder, reason))
        else:
            _add_sibling(bound.root, known, chosen)
    for place in map(canonical, settings.empty_roots):
        _add_stated_empty(place, known, chosen)
    return chosen


def _add_stated_empty(place: Location, known: list[Location], chosen: list[Storage]) -> None:
    """Open a place that is stated to be empty, so that the statement is checked.

    Where it cannot be listed, that statement is all there is, and it is of exactly this place.
    """
    if _is_searched(place, known):
        return
    try:
        storage = open_storage(place)
        storage.folder("")
    except OrphanGcError:
        return
    known.append(place)
    chosen.append(storage)


def _around_job_directory(storage: Storage) -> list[Location]:
    """Return the parent of a storage root whose contents show that it is itself a job directory.

    With ``create-subdir=false`` its name is no job id, and jobs beside it may have claimed its
    checkpoints. The root folder of a machine holds no jobs.
    """
    root = storage.location
    if root.path == "/" or (root.scheme == "file" and root.parent.path == "/"):
        return []
    folders = storage.folder("").folders
    is_job_directory = any(
        name == Scope.SHARED or checkpoint_id_of(name) is not None for name in folders
    )
    return [root.parent] if is_job_directory else []


def _is_searched(place: Location, known: Iterable[Location]) -> bool:
    """Return whether a place is inside one that is searched already, whatever its spelling."""
    return any(resolved(each).contains(resolved(place)) for each in known)


def _add_sibling(place: Location, known: list[Location], chosen: list[Storage]) -> None:
    """Open a place, unless it is inside one that is searched already, whatever its spelling."""
    if _is_searched(place, known):
        return
    known.append(place)
    try:
        chosen.append(open_storage(place))
    except OrphanGcError as err:
        chosen.append(UnopenedStorage(place, str(err)))


def _spark_engine(storage: Storage, choice: EngineChoice) -> AbstractContextManager[Engine]:
    from orphangc.app.wiring.engines import opened_spark_engine  # noqa: PLC0415 - with Spark

    return opened_spark_engine(storage.location, choice.work)


@contextmanager
def _local_engine(storage: Storage, listing: Path | None) -> Iterator[Engine]:
    kept = None if listing is None else _kept_in(listing, storage)
    with ArrowSpool(kept) as spool, tempfile.TemporaryFile(prefix="orphangc-") as scratch:
        yield LocalEngine(spool, storage.location.name, streams=_STREAMS, scratch=scratch)


def _kept_in(folder: Path, storage: Storage) -> ResumableListing:
    """Return the folder that keeps the listing of a storage, by how this process reaches it."""
    asked = "\n".join(f"{name}={os.environ.get(name, '')}" for name in _ENDPOINTS)
    asked += f"\n{sorted(storage_options(storage.location).items())}"
    identity = ListingIdentity(
        root=str(storage.location),
        tool_version=__version__,
        fingerprint=hashlib.sha256(asked.encode()).hexdigest(),
    )
    return ResumableListing(folder, identity, clock=lambda: storage.now().now)


def roots_now(settings: StorageRootSettings, named: Iterable[Location] = ()) -> list[Checkpoint]:
    """Return every checkpoint that a cycle of the storage root reads, in its present state.

    A sibling that is out of reach shows none; its condition blocks plans.

    Args:
        named: Folders of checkpoints that a plan has read, in any place.

    Raises:
        RefusedError: A checkpoint cannot be read.
        StorageUnreachableError: The storage root or an extra root cannot be searched.
    """
    reader = CheckpointReader.of(settings)
    own = [open_storage(uri) for uri in (settings.root, *settings.extra_roots)]
    seen = recalled(state_of(settings)).memory
    siblings, remembered = _searched_beside(settings, own[0], seen)
    answers = BaseSearch(own, [*siblings, *remembered]).ask(reader.collect, NOTHING_READ)
    read = [each for answer in answers for each in (*answer.checkpoints, *answer.unreadable)]
    found = {each.folder for each in read if isinstance(each, Checkpoint)}
    for place in named:
        if place not in found:
            read += read_checkpoint_at(open_storage, reader, place)
    for each in read:
        if isinstance(each, UnreadableCheckpoint):
            raise RefusedError(f"cannot read {each.uri}: {each.reason}")
    return [each for each in read if isinstance(each, Checkpoint)]


def due_at(settings: StorageRootSettings) -> datetime | None:
    """Return when the object of the oldest tombstone may go, ``None`` without one."""
    batches = state_of(settings).tombstones().to_batches() if settings.state is not None else ()
    oldest = [at for batch in batches if (at := pc.min(batch["since"]).as_py()) is not None]
    return shifted(min(oldest), settings.quarantine_period) if oldest else None


def is_versioned(settings: StorageRootSettings) -> bool:
    """Return whether a storage root keeps what is deleted."""
    return open_storage(settings.root, state=state_place(settings)).is_versioned
