"""Search storages whole: every ``_metadata`` in them counts, whatever names its folder (R3a, R4).

A storage is listed before the cycle looks at the storage root's own checkpoints, for it may take
minutes, in which these come and go; what was found is read after them. A listing shows no one
moment either, so each directory of a job in it is looked at again, once it is listed. What was
listed and is gone unread, and was not replaced beside, may live on in a folder that the listing had
passed: then the storage is listed again, and one that goes on changing is unreadable (R6).

A job elsewhere that claims a checkpoint which was read is seen by the next run. No file that it
needs is deleted before: what is deleted was an orphan in an earlier run too, and no checkpoint
comes to need an orphan. For the same reason the storage roots of one run share a listing.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

from flinkstate.files.paths import resolved
from flinkstate.places.checkpoint_names import METADATA_NAME, checkpoint_id_of, metadata_folder
from flinkstate.places.locations import UNREADABLE, Location, named_place
from orphangc.collect.listing.shared_listings import SharedListings
from orphangc.collect.listing.storage_metadata import ListedMetadata
from orphangc.collect.observe.checkpoints import CheckpointReader, CheckpointsRead, is_of_checkpoint
from orphangc.collect.observe.reported import A_PIN, Named, places_of_files, why_unread
from orphangc.collect.state.read_checkpoints import Contents, ReadCheckpoints
from orphangc.core.decision.evidence import Checkpoint, NoCheckpoint, UnreadableCheckpoint
from orphangc.core.model.naming import job_id_of
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import Progress, Storage

_THREADS = 16
_ATTEMPTS = 5
_LISTINGS = 3
_MOST_NAMES = 3
_MOUNTS = "the table of mounts"
_HIDDEN = (
    "another file system is mounted over this folder, and hides what is in it: mount that one"
    " elsewhere, or name it with --extra-root if it belongs there"
)

_UNLISTED = (
    "; let this account list all of it, leave out with --search-except what holds no checkpoint, or"
)
_PLACES_ALONE = f"{_UNLISTED} search the named places alone with --search places"
_SCAN_ALONE = f"{_UNLISTED} name it with --extra-root, which lists folders of checkpoints alone"
_EARLIER = "an earlier cycle"
_NAMED_BEFORE = (
    "; nothing names it any more: if its name was mistyped, or it is gone for good, leave it out"
    " with --search-except {}"
)
_ABSENT = (
    "on this machine there is no such folder, or nothing of Flink's in it, as in a mount point"
    " without its mount: mount it, say with --alias what its path means, or state with --empty-root"
    " {} that no checkpoint is there"
)
_TWO_NAMES = (
    "it may be the storage of {} under another name, by which no pin there keeps a file and no job"
    " is known again: name both as Flink does, with account or name service, or say with --alias"
    " what it means"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInStorage:
    """What the search of one storage found.

    Attributes:
        named_by: A few of what names it.
        is_named_by_files_alone: Whether nothing but paths in checkpoints names it: they may spell
            another place.
        left_out: Prefixes that are stated to hold no checkpoint.
        keys: Number of listed keys; ``None`` if it could not be searched to its end.
        checkpoints: Checkpoints that no other search of the cycle read.
        tables: Number of Parquet's summary files.
        directories: Job directories that its listing shows.
        changed_at: Newest store time of what it lists in each of them.
    """

    location: Location
    named_by: tuple[str, ...] = ()
    is_named_by_files_alone: bool = False
    left_out: tuple[Location, ...] = ()
    keys: int | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    unreadable: tuple[UnreadableCheckpoint, ...] = ()
    tables: int = 0
    markers: tuple[StoredObject, ...] = ()
    directories: tuple[Location, ...] = ()
    changed_at: Mapping[Location, datetime] = field(default_factory=dict)
    problem: str | None = None

    @property
    def traces(self) -> tuple[Location, ...]:
        """Return the places of what it holds of Flink's."""
        unread = (named_place(each.uri) for each in self.unreadable)
        return (*self.directories, *(each.folder for each in self.checkpoints), *unread)

    def contains(self, place: Location) -> bool:
        """Return whether a place was searched with it."""
        return (
            self.problem is None
            and self.location.contains(place)
            and not any(each.contains(place) for each in self.left_out)
        )


@dataclass(frozen=True, slots=True)
class StorageNames:
    """What names a storage.

    Attributes:
        by: Checkpoints, clusters, resources, settings; each once and in order.
        are_files_alone: Whether they are nothing but paths of files in checkpoints.
    """

    by: Mapping[str, None] = field(default_factory=dict)
    are_files_alone: bool = True


@dataclass(frozen=True, slots=True)
class ListedStorage:
    """A storage with its listing; nothing of it is read yet.

    Attributes:
        storage: The storage; ``None`` if it could not be listed.
    """

    found: FoundInStorage
    storage: Storage | None
    metadata: ListedMetadata


@dataclass(slots=True, kw_only=True)
class StorageSearch:
    """Searches the storages of all places that anything names.

    Attributes:
        is_whole: Whether a storage is searched around each named place; otherwise that place alone,
            and what paths in checkpoints name has its own rule (``outside_path``).
        named: Places of the settings, and what names each.
        scanned: Places that other searches of the cycle cover.
        roots: The storage root and its extra roots, which all that names them must spell alike.
        known: Storages that an earlier cycle searched, or had to.
        storage_of: Returns the storage of a place; ``None`` if here is nothing in such a place.
        remembered: What earlier cycles read; ``None`` if each ``_metadata`` is read.
        target_of: Returns the folder that a link of a storage leads to, ``None`` if it leads to
            none; raises ``StorageUnreachableError`` if that cannot be seen.
        folder_around: Returns the nearest folder that is there, at or around a place.
        mounts_below: Returns the folders of a storage that other file systems hide.
        left_out: Prefixes that are stated to hold no checkpoint.
        is_empty: Returns whether exactly this place is stated to hold no checkpoint.
        own: The storage root that the cycle lists itself; ``None`` if it lists none.
        reader: Remembers every checkpoint that was read, also by other searches of the cycle.
    """

    named: Sequence[Named]
    storage_of: Callable[[Location], Location | None]
    open_storage: Callable[[Location], Storage]
    own: Location | None
    is_whole: bool = True
    scanned: Sequence[Location] = ()
    roots: Sequence[Location] = ()
    known: Sequence[Location] = ()
    left_out: Sequence[Location] = ()
    is_empty: Callable[[Location], bool] = lambda _: False
    folder_around: Callable[[Location], Location] = lambda place: place
    remembered: ReadCheckpoints | None = None
    target_of: Callable[[Location], Location | None] = lambda _: None
    mounts_below: Callable[[Location], Iterable[Location]] = lambda _: ()
    reader: CheckpointReader = field(default_factory=CheckpointReader)
    progress: Progress = lambda *_: None

    def listings(self, named: Iterable[Named]) -> dict[Location, ListedStorage]:
        """Return the listing of each storage that is known before anything else is read.

        Args:
            named: Places that clusters, snapshots and HA stores name.
        """
        wanted = _by_storage(
            (
                *self._storages([*self.named, *named], (), ()),
                *((each, _EARLIER, False) for each in self.known),
            )
        )
        return {place: self._listed_storage(place, names) for place, names in wanted.items()}

    def contents(
        self,
        listings: Mapping[Location, ListedStorage],
        named: Iterable[Named],
        *,
        read: Sequence[Checkpoint],
        links: Iterable[str],
        seen: Mapping[Location, StoredObject],
    ) -> tuple[FoundInStorage, ...]:
        """Return what every storage holds; one that names another one leads to it.

        Args:
            links: Keys of links that the listing of the storage root shows.
            seen: Each ``_metadata`` that was read, by its folder.
        """
        found: dict[Location, FoundInStorage] = {}
        named = tuple(named)
        strong, waiting, all_named = [*named], dict(listings), list[Named]()
        weak = [*places_of_files(read)] if self.is_whole else []
        if self.own is not None:
            strong += self._linked(self.own, links, found)
        while True:
            for place, listed in waiting.items():
                found[place] = self._read_all(listed, seen)
                strong += self._linked(place, listed.metadata.links, found)
                weak += places_of_files(found[place].checkpoints) if self.is_whole else ()
            all_named += (*strong, *weak)
            wanted = _by_storage(self._storages(strong, weak, found.values()))
            if not wanted:
                found |= {each.location: each for each in self._under_another_name(named, found)}
                found |= _named_by_more(found.values(), all_named)
                return (*found.values(), *self._hidden(found))
            strong, weak = [], []
            waiting = {place: self._listed_storage(place, names) for place, names in wanted.items()}

    def _hidden(self, storages: Iterable[Location]) -> Iterator[FoundInStorage]:
        """Yield the folders of storages that no listing shows: a mount hides what is in them.

        One that the settings name, or a place in it, belongs there.
        """
        meant = {self.storage_of(place) for place, _ in self.named}
        for folder in sorted({e for s in storages for e in self.mounts_below(s)} - meant, key=str):
            if not any(each.contains(folder) for each in self.left_out):
                yield FoundInStorage(location=folder, named_by=(_MOUNTS,), problem=_HIDDEN)

    def _under_another_name(
        self, named: Iterable[Named], found: Mapping[Location, FoundInStorage]
    ) -> Iterator[FoundInStorage]:
        """Yield the named places that may be in the storage root or an extra root, or around it.

        Each name of one storage is another place to everything that compares places.
        """
        for place, by in named:
            near = (e for e in self.roots if place.may_be_around(e) or e.may_be_around(place))
            twin = next((each for each in near if each.authority != place.authority), None)
            if twin is not None and not any(each.contains(place) for each in self.left_out):
                searched = found.get(place) or FoundInStorage(location=place, named_by=(by,))
                yield replace(searched, problem=searched.problem or _TWO_NAMES.format(twin))

    def absent(
        self,
        homes: Iterable[Named],
        found: Sequence[FoundInStorage],
        parts: Iterable[tuple[Location, CheckpointsRead]],
    ) -> tuple[FoundInStorage, ...]:
        """Return the local ones of some homes of checkpoints that were searched and are not there.

        Nothing of Flink's is in them: a mount point without its mount may hold a file, and may be
        in a storage that is searched. What such a storage does not have is no mount point, but the
        folder around it may be one.

        Args:
            parts: Scans of the bases, by the place of each.
        """
        local = {place: by for place, by in homes if place.scheme == "file"}
        wanted = {resolved(place): (place, by) for place, by in local.items()}
        bases = [(resolved(base), part.scan) for base, part in parts] if wanted else []
        traces = {base for base, _ in bases}
        searched = [*(base for base, _ in bases), *(e.location for e in found if not e.problem)]
        there = {here: self.folder_around(here) for here in wanted}
        there = {e: at if any(s.contains(at) for s in searched) else e for e, at in there.items()}
        folders = ((base, [*s.directories, *(at for at, _ in s.readable)]) for base, s in bases)
        traces |= {base.child(each) for base, keys in folders for each in keys}
        traces |= {place for each in found for place in each.traces} if wanted else set()
        covered = [*self.left_out, *(each.location for each in found if each.problem is not None)]
        return tuple(
            FoundInStorage(location=here, named_by=(by,), problem=_ABSENT.format(place))
            for here, (place, by) in wanted.items()
            if not any(map(there[here].contains, traces))
            and not (self.is_empty(place) or self.is_empty(here))
            and not any(each.contains(here) for each in covered)
        )

    def _storages(
        self, strong: Iterable[Named], weak: Iterable[Named], found: Iterable[FoundInStorage]
    ) -> Iterator[tuple[Location, str, bool]]:
        """Yield the storages that are still to be searched, with what names each.

        A place with nothing in it is one too, which cannot be searched: where what names it runs,
        it may be mounted. Those of the settings have rules of their own, and what checkpoints
        alone name may spell another place.
        """
        known = [*(each.location for each in found), *self.scanned]
        given = {place for place, _ in self.named}
        for is_weak, names in ((False, strong), (True, weak)):
            for place, by in names:
                if any(each.contains(place) for each in known):
                    continue
                storage = self.storage_of(place)
                if storage is None and not is_weak and place not in given:
                    storage = place
                if storage == place and self.is_empty(place):  # says nothing of what is beside it
                    continue
                if storage is None or any(each.contains(storage) for each in known):
                    continue
                if not any(each.contains(storage) and each != storage for each in self.left_out):
                    yield storage, by, is_weak

    def _listed_storage(self, place: Location, names: StorageNames) -> ListedStorage:
        found = FoundInStorage(
            location=place,
            named_by=tuple(list(names.by)[:_MOST_NAMES]),
            is_named_by_files_alone=names.are_files_alone,
            left_out=tuple(each for each in self.left_out if place.contains(each)),
        )
        return self._list(found)

    def _list(self, found: FoundInStorage) -> ListedStorage:
        if found.location in found.left_out:
            return ListedStorage(replace(found, keys=0), None, ListedMetadata())
        if self.storage_of(found.location) is None:
            is_read = found.location.scheme != UNREADABLE
            problem = _ABSENT.format(found.location) if is_read else why_unread(found.location)
            return ListedStorage(replace(found, problem=problem), None, ListedMetadata())
        try:
            storage = self.open_storage(found.location)
            metadata = self._listed(storage, found.left_out)
        except OrphanGcError as err:
            lift = _PLACES_ALONE if self.is_whole else _SCAN_ALONE
            if found.named_by == (_EARLIER,):
                lift = _NAMED_BEFORE.format(found.location)
            problem = f"{err}{lift}"
            return ListedStorage(replace(found, problem=problem), None, ListedMetadata())
        return ListedStorage(found, storage, metadata)

    def _read_all(
        self, listed: ListedStorage, seen: Mapping[Location, StoredObject]
    ) -> FoundInStorage:
        contents: list[Contents] = []
        for number in range(_LISTINGS):
            if listed.storage is None:
                return listed.found
            read, directories = self._read_listed(listed.storage, listed.metadata, seen)
            contents += [each for each in read if not isinstance(each, Gone)]
            gone = [each for each in read if isinstance(each, Gone)]
            if not gone:
                break
            if number == _LISTINGS - 1:
                contents += [each.as_unreadable() for each in gone]
                break
            place = listed.found.location
            seen = {
                **seen,
                **{place.child(metadata_folder(e.key)): e for e in listed.metadata.objects},
            }
            if self.reader.shared is not None:
                self.reader.shared.listings.forget(place, listed.found.left_out)
            listed = self._list(listed.found)
        return replace(
            listed.found,
            keys=listed.metadata.keys,
            checkpoints=tuple(each for each in contents if isinstance(each, Checkpoint)),
            unreadable=tuple(each for each in contents if isinstance(each, UnreadableCheckpoint)),
            tables=sum(isinstance(each, NoCheckpoint) and each.is_table for each in contents),
            markers=listed.metadata.markers,
            directories=directories,
            changed_at={
                listed.found.location.child(directory): at
                for directory, at in listed.metadata.changed_at.items()
            },
        )

    def _read_listed(
        self, storage: Storage, metadata: ListedMetadata, seen: Mapping[Location, StoredObject]
    ) -> tuple[list[Contents | Gone], tuple[Location, ...]]:
        """Return what a storage holds, and the folders in it that are surely a job's.

        Where the name of one is no job id, ``chk-<n>`` in it alone says so: other programs write
        ``shared``, too.
        """
        new = [each for each in metadata.objects if not _is_seen(storage.location, each, seen)]
        known, reader = frozenset(each.key for each in metadata.objects), self.reader
        with ThreadPoolExecutor(_THREADS) as pool:
            read: list[Sequence[Contents | Gone]] = [
                *pool.map(lambda each: self._read(storage, each, known), new)
            ]
            unlisted = [
                *pool.map(
                    lambda each: _read_unlisted(storage, each, reader, is_known=known.__contains__),
                    metadata.directories,
                )
            ]
        places = map(storage.location.child, metadata.directories)
        directories = (
            place
            for place, (_, has_folders) in zip(places, unlisted, strict=True)
            if has_folders or job_id_of(place)
        )
        read += (contents for contents, _ in unlisted)
        return [each for some in read for each in some], tuple(directories)

    def _read(
        self, storage: Storage, listed: StoredObject, known: Collection[ObjectKey]
    ) -> Sequence[Contents | Gone]:
        """Return what one ``_metadata`` is; if it is gone, what is beside its folder now."""
        reader = self.reader
        if self.remembered is None:
            found = reader.contents(storage, metadata_folder(listed.key), listed)
        else:
            changed = storage.last_change(listed.key)
            found = self.remembered.contents(
                str(storage.location.child(listed.key)),
                replace(listed, etag=f"{listed.etag} {changed}" if changed else listed.etag),
                lambda: reader.contents(storage, metadata_folder(listed.key), listed),
            )
        if found is None:
            return read_beside(storage, listed.key, reader, known)
        is_flinks = is_of_checkpoint(metadata_folder(listed.key), storage.location.name)
        if isinstance(found, UnreadableCheckpoint) and found.sha256 and not is_flinks:
            left_out = shlex.join(["--search-except", found.uri])
            lift = f"if another program wrote it, leave it out with {left_out}"
            return [replace(found, reason=f"{found.reason}; {lift}")]
        return [found]

    def _linked(
        self, place: Location, links: Iterable[str], found: dict[Location, FoundInStorage]
    ) -> Iterator[Named]:
        for link in map(place.child, links):
            if any(each.contains(link) for each in self.left_out):
                continue
            name = f"the link {link}"
            try:
                target = self.target_of(link)
            except StorageUnreachableError as err:
                found[link] = FoundInStorage(location=link, named_by=(name,), problem=str(err))
                continue
            if target is not None and not place.contains(target):
                yield target, name

    def _listed(self, storage: Storage, left_out: tuple[Location, ...]) -> ListedMetadata:
        """Return every ``_metadata`` of a storage, without those of the storage root itself.

        What another storage root of the same run listed is not listed again.
        """
        place, own = storage.location, self.own
        aside = (*left_out, *([own] if own else []))
        shared = SharedListings() if self.reader.shared is None else self.reader.shared.listings
        first, others = shared.others.get((place, left_out), (None, ListedMetadata()))
        if first is None or (first != own and first not in shared.own):
            others = shared.listed_beside(storage, aside, self.progress)
            shared.others[place, left_out] = (own or place, others)
            first = own
        shown = shared.own_in(place, first)
        keys_aside = [key for each in aside if (key := place.key_of(each)) is not None]
        return others.with_those_of(shown).outside(keys_aside)


def _named_by_more(
    found: Iterable[FoundInStorage], all_named: Sequence[Named]
) -> dict[Location, FoundInStorage]:
    """Return the storages of pins that something else names too, which is known only later."""
    return {
        each.location: replace(each, named_by=(A_PIN, by))
        for each in found
        if each.named_by == (A_PIN,)
        for place, by in all_named
        if by != A_PIN and each.location.contains(place)
    }


def _by_storage(found: Iterable[tuple[Location, str, bool]]) -> dict[Location, StorageNames]:
    wanted: dict[Location, StorageNames] = {}
    for storage, by, is_by_file in found:
        around = next((each for each in wanted if each.contains(storage)), storage)
        inner = [each for each in wanted if storage.contains(each) and each != around]
        names = [wanted.pop(each) for each in inner] + [wanted.get(around, StorageNames())]
        wanted[around] = StorageNames(
            by={**{name: None for each in names for name in each.by}, by: None},
            are_files_alone=is_by_file and all(each.are_files_alone for each in names),
        )
    return wanted


@dataclass(frozen=True, slots=True)
class Gone:
    """A ``_metadata`` that was listed, went before it was read, and was not replaced beside."""

    folder: Location

    def as_unreadable(self) -> UnreadableCheckpoint:
        """Return what stands for it once nothing else can be learnt of it."""
        reason = "it was listed, went before it was read, and nothing beside it took its place"
        return UnreadableCheckpoint(
            uri=f"{self.folder}/{METADATA_NAME}", reason=f"{reason}; run again", sha256=""
        )


def read_beside(
    storage: Storage, key: ObjectKey, reader: CheckpointReader, known: Collection[ObjectKey]
) -> Sequence[Contents | Gone]:
    """Return the checkpoints beside the folder of a ``_metadata`` that is gone.

    A newer one of the same job has replaced it, mostly, in a folder that was listed before. One
    that is listed still, and cannot be read, is no evidence of its end (R6).

    Args:
        known: Keys of each ``_metadata`` that was listed with it.
    """
    folder = metadata_folder(key)
    for _ in range(_ATTEMPTS):
        listed = next((e for e in storage.folder(folder).objects if e.key == key), None)
        again = None if listed is None else reader.contents(storage, folder, listed)
        if again is not None:
            return [again]
        if listed is None:
            return _replacing(storage, folder, reader, known)
    return [_changing(storage, folder)]


def _replacing(
    storage: Storage, folder: str, reader: CheckpointReader, known: Collection[ObjectKey]
) -> Sequence[Contents | Gone]:
    """Return what took the place of a checkpoint: a later one, or one that no listing showed."""
    gone_id = checkpoint_id_of(folder.rpartition("/")[2])
    if gone_id is None:
        return [Gone(storage.location.child(folder))]

    def is_older(key: ObjectKey) -> bool:
        number = checkpoint_id_of(metadata_folder(key).rpartition("/")[2])
        return key in known and (number or 0) < gone_id

    beside, _ = _read_unlisted(storage, folder.rpartition("/")[0], reader, is_known=is_older)
    return beside or [Gone(storage.location.child(folder))]


def _read_unlisted(
    storage: Storage,
    directory: str,
    reader: CheckpointReader,
    *,
    is_known: Callable[[ObjectKey], bool],
) -> tuple[list[Contents], bool]:
    """Return the checkpoints in ``chk-<n>`` of a directory that its listing did not show.

    And whether it has any such folder.

    A job has a checkpoint at each moment: the next one is complete before the last one goes. A
    look that finds a folder without ``_metadata`` may have come too late for this one and too early
    for the next, so the folders are looked at until the same ones are without twice (R12).
    """
    found: dict[ObjectKey, Contents] = {}
    before: tuple[list[ObjectKey], list[ObjectKey]] | None = None
    for _ in range(_ATTEMPTS):
        folders = storage.folder(directory).folders
        names = (each for each in folders if checkpoint_id_of(each) is not None)
        keys = [ObjectKey("/".join(filter(None, (directory, n, METADATA_NAME)))) for n in names]
        unread = [each for each in keys if not is_known(each) and each not in found]
        there = [each for each in storage.stat(unread) if each is not None]
        read = {
            each.key: reader.contents(storage, metadata_folder(each.key), each) for each in there
        }
        found |= {key: each for key, each in read.items() if each is not None}
        absent = [each for each in unread if each not in found]
        if not absent or before == (keys, absent):
            return [*found.values()], bool(keys)
        before = keys, absent
    return [*found.values(), _changing(storage, directory)], True


def _changing(storage: Storage, folder: str) -> UnreadableCheckpoint:
    uri = str(storage.location.child(folder)) if folder else str(storage.location)
    return UnreadableCheckpoint(uri=uri, reason="it changes while it is read", sha256="")


def _is_seen(place: Location, listed: StoredObject, seen: Mapping[Location, StoredObject]) -> bool:
    known = seen.get(place.child(metadata_folder(listed.key)))
    return known is not None and listed.has_identity and known.is_same_as(listed)
