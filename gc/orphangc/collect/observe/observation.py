"""Gather the facts of one cycle, in the only order that is safe (R11, R14).

First registry snapshots (E1), REST and latest completed id (L0), then the listings of whole
storages (``storage_search``), then checkpoint names (S0), then checkpoints (S1), then the listing,
then a nonce and the snapshots that repeat it (E2), then checkpoints again (S2), then REST once
more, later than Flink's cache, then checkpoints in those storages. What S1 and S2 show together is
protected; a checkpoint that existed all the time proves that nothing hid from both. For an exported
registry, E2 proves it.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Self, TypeVar

from flinkstate.layouts.format_versions import MAGIC
from flinkstate.places.checkpoint_names import METADATA_NAME, metadata_folder
from flinkstate.places.locations import Location
from orphangc.collect.listing.noted_names import metadata_objects
from orphangc.collect.observe.checkpoints import (
    CheckpointReader,
    CheckpointScan,
    CheckpointsRead,
    hidden_above,
    scan_checkpoints,
)
from orphangc.collect.observe.expired_checkpoints import ExpiredMetadata, quarantined_checkpoints
from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.collect.observe.exporters import ExporterHandshake, SeenExports, start_handshake
from orphangc.collect.observe.reported import Answers, Named
from orphangc.collect.observe.searching import NO_SCAN, NOTHING_READ, BaseSearch
from orphangc.collect.observe.storage_search import (
    FoundInStorage,
    Gone,
    ListedStorage,
    StorageSearch,
    read_beside,
)
from orphangc.collect.state.read_checkpoints import Contents
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker, markers_in
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId, ObjectKey, StoredObject
from orphangc.core.world.known_world import Searched
from orphangc.errors import OrphanGcError, RegistryUnavailableError
from orphangc.ports import (
    ClusterClient,
    FactsSource,
    HaMetadata,
    Progress,
    Storage,
    StoreTime,
    Waiter,
)
from orphangc.ports.engine import Engine, Listed, ListingHints

_SAMPLE = 4096
_WORTH_A_HINT = 16
"""Minimum number of names in one folder that say something about its key space."""

_FactsT = TypeVar("_FactsT")

_LATER = 1.0
"""Seconds beyond the age of a cached answer: it must be surely older than the new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Everything outside that a cycle asks, by the settings of one storage root.

    Attributes:
        reader: Remembers every checkpoint that was read, so that only new ones are read again.
        siblings: Other storage roots, searched like ``extra``; one of them may be unreachable.
        remembered: Job directories outside all of these in which an earlier cycle found
            checkpoints; each of them may be gone.
        quarantined: Checkpoints whose ``_metadata`` is in quarantine, also by another storage root
            that overlaps with this one.
        with_hidden: Storage root, if it has what no listing shows, and if that is wanted.
        with_folders: Storage root, if its folders are real, so that empty ones stay.
        search: Searches storages whole; ``None`` if the named places alone are searched.
    """

    settings: StorageRootSettings
    reader: CheckpointReader
    storage: Storage
    extra: Sequence[Storage]
    clusters: Sequence[ClusterClient]
    snapshots: Callable[[], Sequence[RegistrySnapshot]]
    open_storage: Callable[[Location], Storage]
    engine: Engine
    wait: Waiter
    progress: Progress
    exporters: Callable[[], Sequence[ExporterFolder]] = tuple
    ends: Callable[[Collection[JobId]], Sequence[EndRecord]] = lambda _: ()
    with_hidden: Storage | None = None
    with_folders: Storage | None = None
    ha: Sequence[HaMetadata] = ()
    siblings: Sequence[Storage] = ()
    remembered: Sequence[Storage] = ()
    device_of: Callable[[Location], str | None] = lambda _: None
    quarantined: Sequence[ExpiredMetadata] = ()
    released: Sequence[ExpiredMetadata] = ()
    search: StorageSearch | None = None

    @property
    def bases(self) -> tuple[Storage, ...]:
        """Return all storages that are searched for checkpoints, the collected one first."""
        return (self.storage, *self.extra, *self.siblings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Facts of a cycle by some settings; scans are in the order of ``Environment.bases``.

    Attributes:
        time: The store's clock before anything was listed.
        time_after: The store's clock after everything was read.
        before: Answers before the listing.
        after: Answers after the listing.
        answers: All of them, and all registry snapshots, those before the listing first.
        at_start: Scan of checkpoint names at the start (S0).
        first: Checkpoints that were read before the listing (S1).
        second: Checkpoints that were read after the listing (S2).
        quarantined: Folders of the checkpoints whose ``_metadata`` is in quarantine.
        listed: Result of the listing between S1 and S2.
        unreached: Reason by location of the siblings that could not be searched.
    """

    settings: StorageRootSettings
    time: StoreTime
    time_after: StoreTime
    before: Answers
    after: Answers
    answers: Answers
    at_start: tuple[CheckpointScan, ...]
    first: tuple[CheckpointsRead, ...]
    second: tuple[CheckpointsRead, ...]
    elsewhere: tuple[Checkpoint, ...]
    elsewhere_unreadable: tuple[UnreadableCheckpoint, ...]
    exported: Mapping[JobId, Exported]
    listed: Listed
    unreached: Mapping[Location, str] = field(default_factory=dict)
    exports: tuple[SeenExports, ...] = ()
    ends: tuple[EndRecord, ...] = ()
    quarantined: frozenset[Location] = frozenset()
    storages: tuple[FoundInStorage, ...] = ()

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return every checkpoint of S1, S2 and reported places, each once."""
        read = [
            checkpoint for part in (*self.first, *self.second) for checkpoint in part.checkpoints
        ]
        unique = {
            (checkpoint.folder, checkpoint.sha256): checkpoint
            for checkpoint in (
                *read,
                *self.elsewhere,
                *(each for found in self.storages for each in found.checkpoints),
            )
        }
        return tuple(unique.values())

    def searched(self, environment: Environment) -> tuple[Searched, ...]:
        """Return every place and storage that was searched."""
        storages = (each for each in self.storages if each.problem is None)
        return (*(base.location for base in environment.bases), *storages)

    def expiries(self, environment: Environment) -> tuple[ExpiryMarker, ...]:
        """Return what expiries left in any place that was searched, by the second listing."""
        parts: list[tuple[Location, Sequence[StoredObject]]] = [
            (base.location, read.scan.expiries)
            for base, read in zip(environment.bases, self.second, strict=True)
        ]
        parts += [(found.location, found.markers) for found in self.storages]
        return markers_in(parts)

    @property
    def closed(self) -> frozenset[str]:
        """Return the keys of folders of the storage root that no scan looks into: links."""
        return frozenset((*self.first[0].scan.closed, *self.second[0].scan.closed))

    @property
    def unreadable(self) -> tuple[UnreadableCheckpoint, ...]:
        """Return every unreadable checkpoint, each place once."""
        parts = [each for part in (*self.first, *self.second) for each in part.unreadable]
        parts += [each for found in self.storages for each in found.unreadable]
        by_uri = {each.uri: each for each in (*parts, *self.elsewhere_unreadable)}
        return tuple(by_uri.values())


def observe(environment: Environment) -> Observation:
    """Return the facts of one cycle, or raise ``StorageUnreachableError``."""
    settings = environment.settings
    time = environment.storage.now()
    snapshots = list(environment.snapshots())
    handshake = _begun_handshake(environment)
    before = _asked(environment, snapshots)
    searching = _Searching.begun(environment, before.places())
    search = search_of(environment)
    at_start = search.ask(scan_checkpoints, NO_SCAN)
    environment.progress("roots", 0)
    collect = partial(environment.reader.collect, engine=environment.engine)
    read = partial(search.ask, collect, NOTHING_READ)
    first = read()
    listed = _list(environment, first[0])
    exported = _ask_exporters(environment, handshake, before.clusters, time=time)
    snapshots += [each for each in environment.snapshots() if each not in snapshots]
    snapshots += [each for answer in exported.values() for each in answer.snapshots]
    second = read()
    after = _asked_again(environment, before.clusters)
    both, parts = _both(before, after, snapshots), (*first, *second)
    elsewhere, unreadable = _read_elsewhere(environment, both, first=first, second=second)
    return Observation(
        settings=settings,
        time=time,
        time_after=environment.storage.now(),
        before=before,
        after=after,
        answers=both,
        at_start=at_start,
        first=first,
        second=second,
        elsewhere=elsewhere,
        elsewhere_unreadable=unreadable,
        exported=exported,
        exports=handshake.seen,
        ends=tuple(environment.ends(_running_in(both.clusters))),
        listed=listed,
        unreached=search.unreached,
        quarantined=frozenset(each.folder for each in environment.quarantined),
        storages=searching.contents(both, read=parts, listed=listed, elsewhere=elsewhere),
    )


def _asked(environment: Environment, snapshots: Iterable[RegistrySnapshot] = ()) -> Answers:
    clusters, errors = _ask(environment.clusters)
    ha, ha_errors = _ask(environment.ha)
    return Answers(
        settings=environment.settings,
        clusters=clusters,
        snapshots=tuple(snapshots),
        ha=ha,
        errors=errors | ha_errors,
    )


def _asked_again(environment: Environment, before: Sequence[ClusterFacts]) -> Answers:
    """Return later answers, Flink's each newer than its cache: than what was listed (R11)."""
    if before:
        environment.wait(max(each.cache_seconds for each in before) + _LATER)
    return _asked(environment)


def _both(before: Answers, after: Answers, snapshots: Iterable[RegistrySnapshot]) -> Answers:
    return replace(
        before,
        clusters=(*before.clusters, *after.clusters),
        snapshots=tuple(snapshots),
        ha=(*before.ha, *after.ha),
        errors={**after.errors, **before.errors},
    )


@dataclass(frozen=True, slots=True)
class _Searching:
    """A search of whole storages that was begun: they are listed, and nothing of them is read."""

    environment: Environment
    search: StorageSearch | None
    listings: Mapping[Location, ListedStorage]

    @classmethod
    def begun(cls, environment: Environment, named: Iterable[Named]) -> Self:
        if environment.search is None:
            return cls(environment, None, {})
        search = replace(
            environment.search, reader=environment.reader, progress=environment.progress
        )
        return cls(environment, search, search.listings(named))

    def contents(
        self,
        answers: Answers,
        *,
        read: Sequence[CheckpointsRead],
        listed: Listed,
        elsewhere: Sequence[Checkpoint],
    ) -> tuple[FoundInStorage, ...]:
        environment, search = self.environment, self.search
        if search is None:
            return ()
        places = [base.location for base in environment.bases] * 2
        parts = [*zip(places, read, strict=True)]
        scanned = [e for place, part in parts if place == search.own for e in part.scan.metadata]
        self._share(search.own, listed, scanned)
        found = search.contents(
            self.listings,
            answers.places(),
            read=[*(each for part in read for each in part.checkpoints), *elsewhere],
            links=environment.engine.links(),
            seen={
                place.child(folder): stored
                for place, part in parts
                for folder, stored in part.scan.metadata.items()
            },
        )
        return (*found, *search.absent(answers.homes(), found, parts))

    def _share(self, root: Location | None, listed: Listed, scanned: Iterable[str]) -> None:
        """Let other storage roots of the run know what the whole listing of this one shows."""
        is_whole = self.environment.storage.earlier is None and not listed.is_resumed
        shared = self.environment.reader.shared
        if shared is not None and root is not None and is_whole:
            engine = self.environment.engine
            shared.listings.note_own(
                root, listed.objects, engine.metadata_objects(), scanned, links=engine.links()
            )


def _running_in(answers: Iterable[ClusterFacts]) -> frozenset[JobId]:
    shown = [facts for cluster in answers for facts in cluster.jobs.values()]
    return frozenset(each.job_id for each in shown if not each.is_globally_terminal)


def search_of(environment: Environment) -> BaseSearch:
    """Return what asks all bases, of which the siblings may be out of reach."""
    siblings = [base for base in environment.bases if base in environment.siblings]
    own = [base for base in environment.bases if base not in environment.siblings]
    return BaseSearch(own, siblings)


@dataclass(frozen=True, slots=True)
class RememberedContents:
    """Contents of the remembered directories, and those that cannot be searched."""

    found: tuple[Checkpoint | UnreadableCheckpoint, ...]
    unreached: Mapping[Location, str]


def remembered_checkpoints(environment: Environment) -> RememberedContents:
    """Return the checkpoints of every remembered directory.

    One that cannot be searched, or is gone, ends no run: the memory's own conditions block.
    """
    search = BaseSearch([], environment.remembered)
    found: list[Checkpoint | UnreadableCheckpoint] = []
    for read in search.ask(environment.reader.collect, NOTHING_READ):
        found += [*read.checkpoints, *read.unreadable]
    return RememberedContents(tuple(found), search.unreached)


def _begun_handshake(environment: Environment) -> ExporterHandshake:
    """Ask every exporter for a new snapshot, and wait for none of them."""
    return start_handshake(
        environment.exporters(),
        bases=[base.location for base in environment.bases],
        aliases=environment.settings.aliases,
        wait=environment.wait,
        clock=environment.storage.now,
    )


def _ask_exporters(
    environment: Environment,
    handshake: ExporterHandshake,
    before: Iterable[ClusterFacts],
    *,
    time: StoreTime,
) -> Mapping[JobId, Exported]:
    shown = [each for cluster in before for each in cluster.jobs.items()]
    running = {job_id for job_id, facts in shown if not facts.is_globally_terminal}
    over = {job_id for job_id, _ in shown} - running
    if handshake.jobs:
        environment.progress("registry", 0)
    return handshake.complete(
        ended=lambda job_id: environment.settings.is_declared_ended(job_id) or job_id in over,
        bases=[base.location for base in environment.bases],
        now=time.now or time.local,
        patience=environment.settings.registry_wait,
    )


def _ask(clusters: Sequence[FactsSource[_FactsT]]) -> tuple[tuple[_FactsT, ...], dict[str, str]]:
    """Return the facts of all sources, and the errors of the others: they block all jobs."""
    facts, errors = [], {}
    for cluster in clusters:
        try:
            facts.append(cluster.observe())
        except RegistryUnavailableError as err:
            errors[cluster.uri] = str(err)
    return tuple(facts), errors


def _list(environment: Environment, known: CheckpointsRead) -> Listed:
    base = environment.storage.location
    most: dict[str, Collection[str]] = {}
    for checkpoint in known.checkpoints:
        for folder, names in checkpoint.files.items():
            key = base.key_of(folder)
            if key is not None and len(names) > len(most.get(key, ())):
                most[key] = names
    worth = {key: names for key, names in most.items() if len(names) >= _WORTH_A_HINT}
    hints = ListingHints(
        directories=tuple(sorted(known.scan.directories)),
        names={key: tuple(islice(names, _SAMPLE)) for key, names in worth.items()},
        counts={key: len(names) for key, names in worth.items()},
    )
    return environment.engine.list_all(environment.storage, hints, environment.progress)


def _read_elsewhere(
    environment: Environment,
    answers: Answers,
    *,
    first: Sequence[CheckpointsRead],
    second: Sequence[CheckpointsRead],
) -> tuple[tuple[Checkpoint, ...], tuple[UnreadableCheckpoint, ...]]:
    """Return checkpoints that no scan shows: reported, remembered, in quarantine, hidden."""
    reported = reported_checkpoints(
        answers,
        reader=environment.reader,
        open_storage=environment.open_storage,
        read={checkpoint.folder for part in (*first, *second) for checkpoint in part.checkpoints},
    )
    found = (
        *reported,
        *remembered_checkpoints(environment).found,
        *quarantined_checkpoints(environment.quarantined, environment.reader),
        *_read_hidden(environment, [first[0].scan, second[0].scan]),
    )
    return (
        tuple(each for each in found if isinstance(each, Checkpoint)),
        tuple(each for each in found if isinstance(each, UnreadableCheckpoint)),
    )


def reported_checkpoints(
    answers: Answers,
    *,
    reader: CheckpointReader,
    open_storage: Callable[[Location], Storage],
    read: Collection[Location],
) -> list[Checkpoint | UnreadableCheckpoint]:
    """Return the checkpoints of all reported folders but those in ``read`` (R4), wherever they are.

    A report that names no place is an unreadable one. One that does not answer is none where the
    operator states of just that place that it holds no checkpoint: what is stated of a prefix
    around it, Flink contradicts.
    """
    places, unusable = answers.reported()
    found: list[Checkpoint | UnreadableCheckpoint] = [*unusable]
    for place in (each for each in places if each not in read):
        is_stated = answers.settings.is_empty(place)
        found += read_checkpoint_at(open_storage, reader, place, is_stated_empty=is_stated)
    return found


def read_checkpoint_at(
    open_storage: Callable[[Location], Storage],
    reader: CheckpointReader,
    place: Location,
    *,
    is_stated_empty: bool = False,
) -> Iterable[Checkpoint | UnreadableCheckpoint]:
    """Yield the checkpoint at a reported place; a place without one yields nothing.

    The place is a checkpoint's folder, or a metadata file of any name: Flink restores from both
    (1.15-2.3, ``AbstractFsCheckpointStorageAccess.resolveCheckpointPointer``), and so a file that
    begins as Flink's metadata is one. A place that does not answer is unreadable: it may contain
    a checkpoint, so all is refused.

    Args:
        is_stated_empty: Whether the operator states that it holds none: then only what is found
            there contradicts.
    """
    top = Location(place.scheme, place.authority, "/")
    path = place.path.lstrip("/")
    try:
        storage = open_storage(top)
        within = ObjectKey(f"{path}/{METADATA_NAME}".lstrip("/"))
        inside, itself = storage.stat([within, ObjectKey(path)])
        beginning = None if itself is None else storage.part(itself.key, start=0, size=4)
        is_metadata = int.from_bytes(beginning or b"", "big") == MAGIC
    except OrphanGcError as err:
        if not is_stated_empty:
            option = shlex.join(["--empty-root", str(place)])
            reason = f"{err}; if it is gone for good, state with {option} that it holds none"
            yield UnreadableCheckpoint(uri=f"{place}/{METADATA_NAME}", reason=reason, sha256="")
        return
    if inside is not None and (found := reader.read(storage, path, inside)) is not None:
        yield found
    if itself is not None and is_metadata:
        found = reader.read(storage, path.rpartition("/")[0], itself)
        if isinstance(found, Checkpoint):
            # the folder may have a checkpoint of its own: no two have one place
            yield replace(found, folder=place, directory=None, job_id=JobId(""))
        elif found is not None:
            yield replace(found, uri=str(place))


def _read_hidden(
    environment: Environment, scans: Sequence[CheckpointScan]
) -> Iterable[Checkpoint | UnreadableCheckpoint]:
    """Yield the checkpoints in folders that a scan does not enter, where the listing shows any.

    The listing may be older than the scans, so these folders are listed again. For one that is gone
    now, those beside it are read; without any it is unreadable (R6). Elsewhere the scans show what
    is there now.
    """
    storage, name = environment.storage, environment.storage.location.name
    scanned = {each.key for scan in scans for each in scan.metadata.values()}
    objects = {each.key: each for each in environment.engine.metadata_objects()}
    for hidden in sorted({above for key in objects if (above := hidden_above(key, name))}):
        for batch in storage.objects(hidden):
            objects |= {each.key: each for each in metadata_objects(batch)}
    for key in sorted(objects.keys() - scanned):
        found = environment.reader.contents(storage, metadata_folder(key), objects[key])
        beside: Sequence[Contents | Gone] = ()
        if found is None and hidden_above(key, name):
            beside = read_beside(storage, key, environment.reader, objects.keys())
        for each in (found, *beside):
            if isinstance(each, Gone):
                yield each.as_unreadable()
            elif isinstance(each, Checkpoint | UnreadableCheckpoint):
                yield each
