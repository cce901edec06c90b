"""Put adapters behind the ports: for one storage root with the registry snapshots that it names,
and for what the storage roots of one configuration file read for each other.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
from platformdirs import user_state_path

from flinkstate.files.paths import overlap, resolved
from flinkstate.places.locations import Location, canonical
from orphangc import __version__
from orphangc.adapters.files.mount_table import device_of
from orphangc.adapters.open import NAMING, open_state_files, open_storage
from orphangc.adapters.rows.earlier_storage import EarlierStorage
from orphangc.adapters.rows.resumable_listing import ListingIdentity, ResumableListing
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.adapters.storage_options import storage_options
from orphangc.app.config.in_world import in_world
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.engines import LOCAL, EngineChoice
from orphangc.app.wiring.searched_places import searched_beside, storage_search
from orphangc.collect.checkpoints.spooled_objects import contents_of
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.collect.listing.shared_listings import SharedListings
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.expired_checkpoints import ExpiredMetadata, copies_folder, copy_name
from orphangc.collect.observe.exporter_folder import ExporterFolder, archived_ends, is_job_folder
from orphangc.collect.observe.observation import Environment, read_checkpoint_at
from orphangc.collect.observe.searching import NOTHING_READ, BaseSearch
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.state.discovery_memory import read_memories
from orphangc.collect.state.store import RootState
from orphangc.collect.world.recalling import Recalled, recalled
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.discovery.discovered_facts import Discovery
from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.one_spelling import spelled_once, spellings
from orphangc.core.discovery.remembered_facts import united
from orphangc.core.exporter.registry_format import MAX_SNAPSHOT_BYTES, read_snapshot
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.codes import Guard
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId, ObjectKey, StoredObject
from orphangc.core.times.instants import shifted
from orphangc.core.world.known_states import KnownState
from orphangc.errors import RefusedError, SettingsError, UnreadableSnapshotError
from orphangc.ports import ClusterClient, EarlierListing, HaMetadata, Progress, StateFiles, Storage
from orphangc.ports.engine import Engine

REST_TIMEOUT = timedelta(seconds=30)
_STREAMS = 32


def state_place(settings: StorageRootSettings) -> Location:
    """Return the state location of a storage root; by default below this user's state folder."""
    if settings.state_location is not None:
        return settings.state_location
    digest = hashlib.sha256(str(resolved(settings.location)).encode()).hexdigest()[:16]
    return canonical(str(user_state_path("orphangc") / digest))


def state_of(settings: StorageRootSettings) -> RootState:
    """Return the state of a storage root; ``SettingsError`` if one contains the other."""
    root, place = settings.location, state_place(settings)
    if overlap(root, place):
        raise SettingsError(f"state {place} and storage root {root} contain each other: --state")
    return RootState(open_state_files(place), root)


@dataclass(frozen=True, slots=True)
class CycleStart:
    """What a cycle of a storage root starts from: settings, state, and the memory in that state."""

    settings: StorageRootSettings
    state: RootState
    before: Recalled


def start_of(settings: StorageRootSettings, known: Sequence[KnownState] = ()) -> CycleStart:
    """Return what a cycle starts from, or raise ``StorageUnreachableError``."""
    state = state_of(settings)
    return CycleStart(settings, state, recalled(state, known))


def ends_of(settings: StorageRootSettings, running: Collection[JobId]) -> list[EndRecord]:
    """Return what exporters, JobResultStores and archives record of ended jobs (R34).

    Args:
        running: Jobs that Flink shows alive; no exporter is asked for their end.

    Raises:
        StorageUnreachableError: A place cannot be listed or read.
    """
    found = [end for uri in settings.job_archives for end in archived_ends(open_storage(uri))]
    for folder in open_exports(settings.registry):
        ended = (folder.end(job_id) for job_id in folder.jobs() if job_id not in running)
        found += [end for end in ended if end is not None]
    return found


def open_exports(sources: Sequence[str]) -> list[ExporterFolder]:
    """Return the sources that exporters write into, or raise ``StorageUnreachableError``."""
    read = partial(contents_of, max_bytes=MAX_SNAPSHOT_BYTES)
    found = [
        ExporterFolder(open_storage(place), partial(open_state_files, place), read)
        for place in map(canonical, sources)
        if place.name in open_storage(place.parent).folder("").folders
    ]
    return [each for each in found if each.jobs()]


def with_proof(storage: Storage, open_state: Callable[[], StateFiles]) -> Storage:
    """Return a storage that counts as tested if the state location holds a proof of it (R27).

    A proof by another version of orphangc or of the storage's client proves nothing.

    Args:
        open_state: Opens the state location, which no tested storage needs.

    Raises:
        StorageUnreachableError: The state location cannot be read.
    """
    if storage.is_tested:
        return storage
    from orphangc.collect.state.storage_proof import read_proof  # noqa: PLC0415 - rarely used

    proof = read_proof(open_state(), storage.location)
    if proof is not None and proof.is_of(storage.location, __version__, storage.client):
        storage.is_tested, storage.proof = True, proof.words(now())
    return storage


def _storage_root(
    settings: StorageRootSettings, state: StateFiles, *, is_planning: bool
) -> Storage:
    shows_all = is_planning and settings.inventory is None
    storage = open_storage(settings.location, state=state.location, shows_all=shows_all)
    storage = with_proof(storage, lambda: state)
    if settings.inventory is None or not is_planning:
        return storage
    from orphangc.adapters.s3_inventory.inventory import open_inventory  # noqa: PLC0415 - rarely used

    return open_inventory(
        settings.inventory,
        storage,
        max_age=settings.inventory_max_age,
        clock_skew=settings.clock_skew,
    )


@contextmanager
def opened(
    start: CycleStart,
    progress: Progress,
    *,
    shared: SharedCheckpoints | None = None,
    listing: Path | Callable[[Storage], Storage] | None = None,
    engine: EngineChoice = LOCAL,
    is_planning: bool = False,
) -> Iterator[Environment]:
    """Open the adapters that a cycle of one storage root needs.

    Args:
        shared: What the storage roots of one pass read for each other.
        listing: Folder that keeps a listing which ends early, or what gives an earlier one.
        is_planning: Whether an inventory may replace the listing, and what is hidden is counted.

    Raises:
        StorageUnreachableError, SettingsError: A root cannot be reached, or has an unknown scheme.
    """
    state, before = start.state, start.before
    settings = with_discoveries(start.settings, state.files)
    memory, shows_all = before.memory, is_planning and settings.inventory is None
    root = _storage_root(settings, state.files, is_planning=is_planning)
    siblings, remembered = searched_beside(settings, state, memory, root)
    storage = listing(root) if callable(listing) else root
    hides = root.has_hidden and (is_planning or settings.abort_uploads)
    with _engine(storage, engine if storage is root else LOCAL, shows_all and listing) as lister:
        yield Environment(
            settings=settings,
            reader=CheckpointReader.of(settings, shared),
            storage=storage,
            extra=[open_storage(uri, shows_all=shows_all) for uri in settings.extra_roots],
            siblings=siblings,
            remembered=remembered,
            search=storage_search(settings, state, memory, siblings),
            device_of=device_of,
            quarantined=[*quarantined_in(state, memory), *quarantined_near(state.root, before)],
            released=released_in(state, memory),
            clusters=flink_clusters(settings),
            ha=ha_metadata(settings),
            snapshots=partial(load_snapshots, settings.registry, {}),
            exporters=partial(open_exports, settings.registry),
            ends=partial(ends_of, settings),
            open_storage=open_storage,
            engine=lister,
            wait=time.sleep,
            progress=progress,
            with_hidden=root if hides else None,
            with_folders=root if root.has_folders else None,
        )


def with_discoveries(settings: StorageRootSettings, files: StateFiles) -> StorageRootSettings:
    """Return settings with what earlier cycles of a state location discovered (decision 25).

    A run that asks nothing of what they asked, and a plan of before, know none of it.
    """
    memories = read_memories([files])
    aliases = spellings(memories.before.resources, [settings.root], real=resolved)
    before = spelled_once(memories.before, aliases)
    return in_world(
        settings,
        world_of_discovery(
            united(Discovery(unclear=memories.problems), before),
            acknowledged={each.what for each in before.acknowledged},
        ),
    )


def quarantined_near(root: Location, before: Recalled) -> list[ExpiredMetadata]:
    """Return what other storage roots of the state location have in quarantine near this one.

    One storage root may be a folder of another: then files that this one collects belong to
    checkpoints that only the memory of that one knows.
    """
    found = (each for beside in before.beside for each in quarantined_in(*beside))
    return [e for e in found if any(overlap(root, at) for at in (e.root, e.folder))]


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


def flink_clusters(settings: StorageRootSettings) -> list[ClusterClient]:
    """Return the clients of the Flink clusters; without one, no HTTP client is loaded."""
    if not settings.flink_rest:
        return []
    from orphangc.adapters.flink.flink_rest import FlinkRest  # noqa: PLC0415

    return [FlinkRest(url, timeout=REST_TIMEOUT) for url in settings.flink_rest]


def ha_metadata(settings: StorageRootSettings) -> list[HaMetadata]:
    """Return the sources of jobs that have not ended; ``SettingsError`` without their extra."""
    namespaces, ensembles = map(dict.fromkeys, (settings.kubernetes_ha, settings.zookeeper_ha))
    if not namespaces and not ensembles:
        return []
    from orphangc.adapters.flink.ha_metadata import KubernetesHa, ZooKeeperHa  # noqa: PLC0415

    return [
        *(KubernetesHa(each, timeout=REST_TIMEOUT) for each in namespaces),
        *(ZooKeeperHa(each, timeout=REST_TIMEOUT) for each in ensembles),
    ]


@contextmanager
def _engine(storage: Storage, choice: EngineChoice, listing: object) -> Iterator[Engine]:
    if choice.is_spark:  # not for an earlier listing, which this process reads
        from orphangc.adapters.spark.spark_engine import opened_spark_engine  # noqa: PLC0415 - with Spark

        with opened_spark_engine(storage.location, choice.work) as engine:
            yield engine
        return
    kept = _kept_in(listing, storage) if isinstance(listing, Path) else None
    with ArrowSpool(kept) as spool, tempfile.TemporaryFile(prefix="orphangc-") as scratch:
        yield LocalEngine(spool, storage.location.name, streams=_STREAMS, scratch=scratch)


def _kept_in(folder: Path, storage: Storage) -> ResumableListing:
    named = sorted(each for each in os.environ.items() if each[0].startswith(NAMING))
    asked = f"{named}\n{sorted(storage_options(storage.location).items())}"
    identity = ListingIdentity(
        root=str(storage.location),
        tool_version=__version__,
        fingerprint=hashlib.sha256(asked.encode()).hexdigest(),
    )
    return ResumableListing(folder, identity, clock=lambda: storage.now().now)


def checkpoints_now(
    settings: StorageRootSettings, named: Iterable[Location] = ()
) -> list[Checkpoint]:
    """Return every checkpoint that a cycle of the storage root reads, in its present state.

    A sibling that is out of reach shows none; its condition blocks plans.

    Args:
        named: Folders of checkpoints that a plan has read, in any place.

    Raises:
        RefusedError: A checkpoint cannot be read.
        StorageUnreachableError: The storage root or an extra root cannot be searched.
    """
    start = start_of(settings)
    settings = with_discoveries(settings, start.state.files)
    reader = CheckpointReader.of(settings)
    own = [open_storage(each) for each in settings.own_places]
    siblings, remembered = searched_beside(settings, start.state, start.before.memory, own[0])
    answers = BaseSearch(own, [*siblings, *remembered]).ask(reader.collect, NOTHING_READ)
    read = [each for answer in answers for each in (*answer.checkpoints, *answer.unreadable)]
    found = {each.folder for each in read if isinstance(each, Checkpoint)}
    for place in named:
        if place not in found:
            read += read_checkpoint_at(open_storage, reader, place)
    for each in read:
        if isinstance(each, UnreadableCheckpoint):
            raise RefusedError(each.problem)
    return [each for each in read if isinstance(each, Checkpoint)]


def due_at(settings: StorageRootSettings) -> datetime | None:
    """Return when the object of the oldest tombstone may go, ``None`` without one."""
    batches = state_of(settings).tombstones().to_batches() if settings.state is not None else ()
    oldest = [at for batch in batches if (at := pc.min(batch["since"]).as_py()) is not None]
    return shifted(min(oldest), settings.quarantine_period) if oldest else None


def is_versioned(settings: StorageRootSettings) -> bool:
    """Return whether a storage root keeps what is deleted."""
    return open_storage(settings.location, state=state_place(settings)).is_versioned


Read = dict[Location, tuple[StoredObject, RegistrySnapshot]]
"""Snapshots by file, with what the listing showed of it before it was read."""


def load_snapshots(sources: Sequence[str], read: Read) -> list[RegistrySnapshot]:
    """Return the registry snapshots of all sources; a source is a file, or a folder of files.

    Files of exporters are in subfolders, which ``open_exports`` reads.

    Args:
        read: What was read earlier, and afterwards also what is read now: a file that the listing
            shows unchanged is not read again, for millions of entries take seconds and memory.

    Raises:
        RefusedError: A snapshot is damaged, partial, or absent: the liveness of its job is unknown,
            and so is that of every other job.
        StorageUnreachableError: The place cannot be listed or read.
    """
    return [snapshot for source in sources for snapshot in _load(canonical(source), read)]


def _load(place: Location, read: Read) -> Iterator[RegistrySnapshot]:
    storage = open_storage(place.parent)
    keys, folder, at = [ObjectKey(place.name)], storage.folder(""), place.parent
    if place.name in folder.folders:
        storage, at = open_storage(place), place
        folder = storage.folder("")
        keys = [each.key for each in folder.objects]
        if not keys and not any(map(is_job_folder, folder.folders)):
            raise RefusedError(
                f"no registry snapshot in {place}; nothing was planned", guard=Guard.REGISTRY
            )
    listed = {each.key: each for each in folder.objects}
    for key in keys:
        file, shown = at.child(key), listed.get(key)
        known = read.get(file)
        if known is not None and shown is not None and shown.etag and known[0].is_same_as(shown):
            yield known[1]
            continue
        snapshot = _read(storage, key, shown, file)
        if shown is not None:
            read[file] = shown, snapshot
        yield snapshot


def _read(
    storage: Storage, key: ObjectKey, listed: StoredObject | None, file: Location
) -> RegistrySnapshot:
    data = contents_of(storage, key, listed, max_bytes=MAX_SNAPSHOT_BYTES)
    if data is None:
        raise RefusedError(
            f"no registry snapshot {file}; nothing was planned", guard=Guard.REGISTRY
        )
    try:
        return read_snapshot(data)
    except UnreadableSnapshotError as err:
        raise RefusedError(f"{file}: {err}; nothing was planned", guard=Guard.REGISTRY) from err


def shared_checkpoints() -> SharedCheckpoints:
    """Return room for the checkpoints of one pass over a configuration file; none is read yet."""
    return SharedCheckpoints(now)


@dataclass(frozen=True, slots=True)
class PassSharing:
    """What the runs of one pass share: a sweep never rests on what its plan was made from."""

    plans: SharedCheckpoints = field(default_factory=shared_checkpoints)
    sweeps: SharedCheckpoints = field(default_factory=shared_checkpoints)


@contextmanager
def shared_in_pass(roots: Iterable[StorageRootSettings], plans: Path) -> Iterator[PassSharing]:
    """Yield what the runs of some storage roots share, one after the other."""
    with ExitStack() as stack:

        def new_spool() -> ArrowSpool:
            try:
                plans.mkdir(parents=True, exist_ok=True)
            except OSError as err:
                raise SettingsError(f"{plans} cannot be written: {err.strerror}") from err
            return stack.enter_context(ArrowSpool(above=plans))

        listings = SharedListings(roots=[each.location for each in roots], new_spool=new_spool)
        yield PassSharing(plans=SharedCheckpoints(now, listings=listings))


def listed_in_pass(
    shared: SharedCheckpoints | None, root: Location
) -> Callable[[Storage], Storage] | None:
    """Return what gives a storage root the listing of an earlier one's search.

    ``None`` if there is none, or it is too old.
    """
    kept = None if shared is None else shared.listings.listing_of(root, now())
    if kept is None:
        return None
    earlier = EarlierListing(source=f"the search of {kept.place}", begun_at=kept.begun_at)
    return partial(EarlierStorage, earlier=earlier, rows=partial(kept.rows, root))
