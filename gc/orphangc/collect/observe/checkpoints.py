"""Find and read checkpoints: every ``_metadata`` below a storage root, or no plan at all."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Self

import numpy as np
import pyarrow as pa

from flinkstate.buffers import Buffer, let_go
from flinkstate.layouts.format_versions import MAGIC
from flinkstate.metadata.parser import ReferenceLot
from flinkstate.metadata.references import ReferenceFacts, pack_references
from flinkstate.places.checkpoint_names import (
    MAX_METADATA_BYTES,
    METADATA_NAME,
    checkpoint_id_of,
    may_be_metadata,
    metadata_folder,
)
from flinkstate.places.locations import Alias, Location, canonical
from flinkstate.text.shown_text import counted
from flinkstate.uuid_scan import uuid_lots
from flinkstate.values.metadata_values import HandleKind, MetadataFacts
from orphangc.collect.checkpoints.spooled_objects import LARGE, contents_of
from orphangc.collect.listing.noted_names import metadata_objects
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.state.read_checkpoints import Contents
from orphangc.core.columns.file_names import FileNames, NameColumns, PathColumns
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import words_of
from orphangc.core.decision.evidence import Checkpoint, NoCheckpoint, UnreadableCheckpoint
from orphangc.core.model.codes import NOT_FOLLOWED
from orphangc.core.model.job_folders import NUMBERED_FOLDERS, SHARED, scopes_where
from orphangc.core.model.naming import EXPIRY_MARKER, TEMPORARY, FilePlace, place_of_folder
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import DirectoryLayout, Scope, StoredObject
from orphangc.errors import StorageUnreachableError, UnreadableMetadataError
from orphangc.ports import Folder, Storage
from orphangc.ports.engine import Engine

_WINDOW = 2**20
_ATTEMPTS = 5
_THREADS = 16
_UNPROVEN = {
    HandleKind.SEGMENT: (DirectoryLayout.MERGED, "segments of merged files"),
    HandleKind.EMPTY_SEGMENT: (DirectoryLayout.MERGED, "segments of merged files"),
    HandleKind.DIRECTORY: (DirectoryLayout.MERGED, "directories of merged files"),
    HandleKind.CHANGELOG: (DirectoryLayout.CHANGELOG, "changelog state"),
    HandleKind.CHANGELOG_BYTES: (DirectoryLayout.CHANGELOG, "changelog state"),
    HandleKind.CHANGELOG_FILES: (DirectoryLayout.CHANGELOG, "changelog state"),
}
"""Layout in which such a handle shows that files were written, and what it refers to, in words."""
_WRITE_AHEAD_SINK = b"pending-checkpoints"
"""Name of the operator state in which a write-ahead sink keeps handles of its log (R37).

Source: Flink 1.13-2.3, ``GenericWriteAheadSink.initializeState``: ``_metadata`` spells the names of
operator states in modified UTF-8, which is ASCII here.
"""
_LEAST_PARQUET = 12
_PARQUET = (b"PAR1", b"PARE")
"""What a file of Parquet begins and ends with, the second one if its footer is encrypted: a summary
of a table is called ``_metadata`` too.

Source: the Parquet file format; Flink's ``_metadata`` begins with 0x4960672d.
"""
_NOT_ENTERED = scopes_where(lambda each: not each.is_entered)
_IN_SHARED = f"/{SHARED}/{NUMBERED_FOLDERS[Scope.FORST]}"


@dataclass(frozen=True, slots=True)
class CheckpointScan:
    """The checkpoints of one storage at one moment.

    Attributes:
        metadata: Each ``_metadata`` by the key of its folder.
        ids: Ids of the ``chk-<n>`` with a ``_metadata``, by job directory.
        shown: Ids of all ``chk-<n>``, by job directory.
        closed: Keys of folders that may contain checkpoints and cannot be listed, or that are in
            the place of a ``_metadata``.
        areas: Areas with a folder, by job directory.
        changed_at: Newest store time of the objects in the folders that were entered, by job
            directory.
        expiries: What expiries left in the folders that were entered (R44).
        aside: What may be a ``_metadata`` of another name, or is in a folder without a name.
    """

    metadata: dict[str, StoredObject] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    ids: dict[str, frozenset[int]] = field(default_factory=dict)
    shown: dict[str, frozenset[int]] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)
    areas: dict[str, set[Scope]] = field(default_factory=dict)
    changed_at: dict[str, datetime] = field(default_factory=dict)
    expiries: list[StoredObject] = field(default_factory=list)
    aside: list[StoredObject] = field(default_factory=list)

    @property
    def readable(self) -> list[tuple[str, StoredObject]]:
        """Return each object that is read, with the key of the folder that it makes a checkpoint.

        In a bucket an object may have the name of a folder: both of them make it one.
        """
        aside = ((metadata_folder(each.key), each) for each in self.aside)
        return [*aside, *self.metadata.items()]

    @property
    def counts(self) -> str:
        """Return how many job directories and checkpoints there are."""
        jobs = counted(len(self.directories), "job directory", "job directories")
        return f"{jobs}, {counted(len(self.metadata), 'checkpoint')}"


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def scan_checkpoints(storage: Storage, *, is_listed: bool = True) -> CheckpointScan:
    """Return every ``_metadata`` and the job directories, or raise ``StorageUnreachableError``.

    Level by level, all of a level at once; areas of a job that contain no checkpoint of Flink's
    are left out (``_is_left_out``). A small storage shows all its levels at once.

    Args:
        is_listed: Whether the same cycle lists each of its objects, so that a ``_metadata`` in such
            an area is found all the same.
    """
    name, found, level, folders = storage.location.name, CheckpointScan(), [""], {""}
    folder_of = storage.all_folders() or storage.folder
    with ThreadPoolExecutor(_THREADS) as pool:
        while level:
            listings = [*zip(level, pool.map(folder_of, level), strict=True)]
            for folder, listed in listings:
                if listed.has_nameless:
                    _add_nameless(found, storage.nameless(folder))
            level = [
                each
                for folder, listed in listings
                for each in _entered(found, folder, listed, name, is_listed=is_listed)
            ]
            folders.update(level)
    found.ids.update(_ids(found.metadata, name))
    found.shown.update(_ids(folders, name))
    return found


def _entered(
    found: CheckpointScan, folder: str, listed: Folder, name: str, *, is_listed: bool
) -> Iterator[str]:
    """Take what is in a folder into account; yield the folders in it that are entered next.

    Args:
        name: Base name of the storage root.
    """
    _add_objects(found, folder, listed.objects, name)
    may_skip = is_listed or any(
        checkpoint_id_of(each) is not None for each in (*listed.folders, *listed.closed)
    )
    found.closed.extend(
        key
        for key in (_join(folder, each) for each in listed.closed)
        # no listing enters a link either
        if is_listed or not _is_left_out(place_of_folder(key, name), may_skip=may_skip)
    )
    if METADATA_NAME in listed.folders and is_of_checkpoint(folder, name):
        found.closed.append(_join(folder, METADATA_NAME))
    for key in (_join(folder, each) for each in listed.folders):
        place = place_of_folder(key, name)
        if place.job_directory is not None and place.scope is not Scope.OTHER:
            found.directories.add(place.job_directory)
            found.areas.setdefault(place.job_directory, set()).add(place.scope)
        if not _is_left_out(place, may_skip=may_skip):
            yield key


def _add_objects(
    found: CheckpointScan, folder: str, objects: Sequence[StoredObject], name: str
) -> None:
    for each in objects:
        if metadata_folder(each.key) == folder:
            found.metadata[folder] = each
        elif may_be_metadata(f"{name}/{each.key}"):  # itself perhaps of a checkpoint
            found.aside.append(each)
    left = _join(folder, EXPIRY_MARKER), _join(folder, TEMPORARY)
    found.expiries.extend(each for each in objects if each.key.startswith(left))
    directory = place_of_folder(folder, name).job_directory
    times = [each.modified_at for each in objects if each.modified_at is not None]
    if directory is not None and times:
        found.changed_at[directory] = max([*times, found.changed_at.get(directory, times[0])])


def _add_nameless(found: CheckpointScan, batches: Iterable[pa.RecordBatch]) -> None:
    """Take each ``_metadata`` in a folder without a name: a person's copy, for Flink writes none.

    Source: Flink 1.8-2.3, ``org.apache.flink.core.fs.Path``: of several slashes it leaves one.
    """
    for batch in batches:
        found.aside.extend(metadata_objects(batch))


def is_of_checkpoint(folder: str, root_name: str) -> bool:
    """Return whether Flink writes a ``_metadata`` directly into a folder of this name."""
    place = place_of_folder(folder, root_name)
    return place.scope in {Scope.EXCLUSIVE, Scope.SAVEPOINT} and not place.inner


def _is_left_out(place: FilePlace, *, may_skip: bool) -> bool:
    """Return whether a folder is an area of a job that contains no checkpoint.

    ``shared/`` and ``taskowned/`` may also be what an operator calls a folder, below a folder that
    only looks like a job id: they may be skipped if ``chk-<n>`` beside them shows a job of Flink's,
    or if each object is listed anyway. Below one that was entered every folder is.
    """
    if place.scope not in _NOT_ENTERED or not place.job_id or place.inner:
        return False
    return may_skip or place.scope is Scope.CHANGELOG


def hidden_above(key: str, root_name: str) -> str:
    """Return the outermost folder at or above a key that a scan may leave out, "" for none."""
    parts = key.split("/")
    above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    left_out = (e for e in above if _is_left_out(place_of_folder(e, root_name), may_skip=True))
    return next(left_out, "")


def _ids(folders: Iterable[str], root_name: str) -> dict[str, frozenset[int]]:
    ids: dict[str, set[int]] = {}
    for folder in folders:
        place = place_of_folder(folder, root_name)
        if place.job_directory is not None and place.checkpoint_id is not None and not place.inner:
            ids.setdefault(place.job_directory, set()).add(place.checkpoint_id)
    return {directory: frozenset(each) for directory, each in ids.items()}


@dataclass(frozen=True, slots=True)
class CheckpointsRead:
    """A scan and the contents of its checkpoints."""

    scan: CheckpointScan
    checkpoints: tuple[Checkpoint, ...]
    unreadable: tuple[UnreadableCheckpoint, ...]


@dataclass(slots=True)
class CheckpointReader:
    """Reads each checkpoint once: the same place, time, size and ETag mean the same bytes.

    One of which the store says neither time nor ETag is read each time.

    Attributes:
        acknowledged: Digest by place of checkpoints that the operator acknowledges as broken.
        listed: Storage root of which the same cycle lists each object; ``None`` for none.
    """

    aliases: Sequence[Alias] = ()
    acknowledged: Mapping[str, str] = field(default_factory=dict)
    shared: SharedCheckpoints | None = None
    listed: Location | None = None
    _known: dict[Location, dict[StoredObject, Contents]] = field(default_factory=dict)
    _one_at_a_time: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, settings: StorageRootSettings, shared: SharedCheckpoints | None = None) -> Self:
        """Return a reader for a storage root that has read nothing yet."""
        return cls(settings.aliases, settings.acknowledged, listed=settings.location, shared=shared)

    def collect(self, storage: Storage, engine: Engine | None = None) -> CheckpointsRead:
        """Return every checkpoint of a storage, listed and read (R4, R6).

        A checkpoint that vanished between listing and reading makes both start again; one that
        is listed again and again, and never there, is unreadable.
        """
        is_listed = storage.location == self.listed
        for _ in range(_ATTEMPTS):
            scan = scan_checkpoints(storage, is_listed=is_listed)
            if engine is not None:
                self._read_apart(storage.location, scan, engine)
            found = self._read_all(storage, scan)
            if all(each is not None for each in found):
                self._forget_others(storage.location, scan)
                break
        uris = [str(storage.location.child(each.key)) for _, each in scan.readable]
        read = [
            each or UnreadableCheckpoint(uri=uri, reason="listed, but not there", sha256="")
            for each, uri in zip(found, uris, strict=True)
        ]
        return _sorted(scan, read + _closed(storage.location, scan))

    def _forget_others(self, base: Location, scan: CheckpointScan) -> None:
        """Keep in memory only existing checkpoints: during a long sweep many come and go."""
        known, listed = self._known.get(base, {}), [each for _, each in scan.readable]
        self._known[base] = {each: known[each] for each in listed if each in known}
        if self.shared is not None:
            self.shared.keep_only(base, listed)

    def _read_all(self, storage: Storage, scan: CheckpointScan) -> list[Contents | None]:
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda item: self.contents(storage, *item), scan.readable))

    def _read_apart(self, base: Location, scan: CheckpointScan, engine: Engine) -> None:
        """Take the checkpoints that an engine reads elsewhere; this process reads all others."""
        known = self._known.setdefault(base, {})
        unknown = [each for each in scan.metadata.values() if each.etag and each not in known]
        read = engine.read_apart(partial(_read_alone, tuple(self.aliases)), base, unknown)
        known.update((each, it) for each, it in read.items() if isinstance(it, Checkpoint))

    def read(
        self, storage: Storage, folder: str, listed: StoredObject
    ) -> Checkpoint | UnreadableCheckpoint | None:
        """Return one checkpoint, ``None`` if it is none or no longer exists."""
        found = self.contents(storage, folder, listed)
        return None if isinstance(found, NoCheckpoint) else found

    def contents(self, storage: Storage, folder: str, listed: StoredObject) -> Contents | None:
        """Return what a ``_metadata`` is, ``None`` if it no longer exists."""
        known = self._known.setdefault(storage.location, {})
        if listed in known:
            return known[listed]
        base, read = storage.location, partial(self._read_anew, storage, folder, listed)
        checkpoint = (
            read() if self.shared is None else self.shared.get(self.aliases, base, listed, read)
        )
        is_whole = isinstance(checkpoint, NoCheckpoint) or bool(checkpoint and checkpoint.sha256)
        if checkpoint is not None and is_whole and listed.has_identity:
            known[listed] = checkpoint
        return checkpoint

    def _read_anew(self, storage: Storage, folder: str, listed: StoredObject) -> Contents | None:
        """Return one checkpoint, ``None`` if it is gone; unreadable ones may lack a checksum.

        A large one is decoded alone.
        """
        base = storage.location
        uri = str(base.child(listed.key))
        with self._one_at_a_time if listed.size > LARGE else nullcontext():
            try:
                if _is_none_at(storage, listed):
                    return NoCheckpoint(uri)  # not read whole, which takes long
                data = contents_of(storage, listed.key, listed, max_bytes=MAX_METADATA_BYTES)
            except StorageUnreachableError as err:
                return UnreadableCheckpoint(uri=uri, reason=str(err), sha256="")
            if data is None:
                return None
            is_table = _is_parquet(len(data), data[:4], data[-4:])
            if is_table and not is_of_checkpoint(folder, base.name):
                return NoCheckpoint(uri)
            return self.decoded(data, base, folder, listed)

    def decoded(
        self, data: Buffer, base: Location, folder: str, listed: StoredObject
    ) -> Checkpoint | UnreadableCheckpoint:
        """Return the checkpoint that some bytes are, as if they were stored in a folder."""
        place = place_of_folder(folder, base.name)
        location = base.child(folder)
        is_own = place.checkpoint_id is not None and not place.inner
        sha256, has_write_ahead_sink = _read_once(data)
        try:
            references, packed = pack_references(data, PackedReferences)
            files = packed.files(base.child(listed.key).parent, self.aliases)
        except (UnreadableMetadataError, ValueError) as err:
            uri = str(base.child(listed.key))
            return UnreadableCheckpoint(
                uri=uri,
                reason=str(err),
                sha256=sha256,
                raw=_raw_uuids(data, ()),
                directory=_directory(base, place),
                is_acknowledged=self.acknowledged.get(uri) == sha256,
            )
        return Checkpoint(
            folder=location,
            directory=_directory(base, place) if is_own else None,
            job_id=place.job_id,
            modified_at=listed.modified_at,
            sha256=sha256,
            files=files,
            unregistered=packed.unregistered.names(),
            raw=_raw_uuids(data, files.values()),
            unproven_layout=next(
                (word for kind, (_, word) in _UNPROVEN.items() if kind in references.kinds), None
            ),
            layouts=_layouts(references, files),
            has_write_ahead_sink=has_write_ahead_sink,
            **{each.name: getattr(references, each.name) for each in fields(MetadataFacts)},
        )


def _read_alone(
    aliases: Sequence[Alias], storage: Storage, listed: StoredObject
) -> Contents | None:
    """Return what a ``_metadata`` is, in a process that knows nothing else.

    ``None`` if that process, which may have other settings, does not reach the object that was
    listed.
    """
    if storage.stat([listed.key]) != [listed]:
        return None
    return CheckpointReader(aliases).contents(storage, metadata_folder(listed.key), listed)


def _is_parquet(size: int, beginning: bytes, end: bytes) -> bool:
    return size >= _LEAST_PARQUET and beginning == end and end in _PARQUET


def _is_none_at(storage: Storage, listed: StoredObject) -> bool:
    """Return whether an object surely is no checkpoint, without reading all of it.

    What was set aside under another name is one only if it begins as each of Flink's does. An
    answer that lacks the beginning shows nothing: ``StorageUnreachableError``.
    """
    if metadata_folder(listed.key) != listed.key:
        return listed.size > LARGE and _is_parquet_at(storage, listed)
    beginning = storage.part(listed.key, start=0, size=4)
    if beginning is not None and len(beginning) < min(4, listed.size):
        raise StorageUnreachableError(f"{listed.key!r} was read without its beginning")
    return beginning is not None and int.from_bytes(beginning, "big") != MAGIC


def _is_parquet_at(storage: Storage, listed: StoredObject) -> bool:
    ends = (storage.part(listed.key, start=at, size=4) for at in (0, listed.size - 4))
    return _is_parquet(listed.size, *(each or b"" for each in ends))


def _directory(base: Location, place: FilePlace) -> Location | None:
    if place.job_directory is None:
        return None
    return base.child(place.job_directory)


def _sorted(scan: CheckpointScan, found: Iterable[Contents | None]) -> CheckpointsRead:
    each = list(found)
    return CheckpointsRead(
        scan,
        tuple(one for one in each if isinstance(one, Checkpoint)),
        tuple(one for one in each if isinstance(one, UnreadableCheckpoint)),
    )


def _closed(base: Location, scan: CheckpointScan) -> list[Contents | None]:
    return [
        UnreadableCheckpoint(uri=f"{base}/{key}", reason=_why_closed(key, base), sha256="")
        for key in scan.closed
    ]


def _why_closed(key: str, base: Location) -> str:
    if key.rpartition("/")[2] == METADATA_NAME:
        return "a folder or a link is in the place of a _metadata: put the file itself there"
    place = place_of_folder(key, base.name)
    if place.scope in _NOT_ENTERED and not place.inner:
        return (
            f"a symbolic link is in the place of the folder, and {NOT_FOLLOWED}: put the folder"
            " itself there (a bind mount will do)"
        )
    return f"a link {NOT_FOLLOWED}: put in its place what it leads to"


def _read_once(data: Buffer) -> tuple[str, bool]:
    digest, has_write_ahead_sink = hashlib.sha256(), False
    for start in range(0, len(data), _WINDOW):
        end = start + _WINDOW
        digest.update(data[start:end])
        overlapping = end + len(_WRITE_AHEAD_SINK) - 1
        has_write_ahead_sink |= data.find(_WRITE_AHEAD_SINK, start, overlapping) >= 0
        let_go(data, start, end)
    return digest.hexdigest(), has_write_ahead_sink


def _raw_uuids(data: Buffer, files: Iterable[FileNames]) -> UuidSet:
    """Return the UUIDs in raw bytes that no referenced name ends in (R7): next to none."""
    named = [part for names in files for part in names.sorted_uuids()]
    raw = UuidSet()
    for hi, lo in map(words_of, uuid_lots(data)):
        is_named = np.zeros(len(hi), np.bool_)
        for each in named:
            is_named |= each.find(hi, lo)[1]
        raw.extend(hi[~is_named], lo[~is_named])
    return raw


def _layouts(references: ReferenceFacts, folders: Iterable[Location]) -> frozenset[DirectoryLayout]:
    found = {layout for kind, (layout, _) in _UNPROVEN.items() if kind in references.kinds}
    if any(_IN_SHARED in folder.path for folder in folders):
        found.add(DirectoryLayout.FORST)
    return frozenset(found)


class PackedReferences:
    """The names of the files that one ``_metadata`` refers to, as they are read.

    Attributes:
        unregistered: Those of them that Flink's shared state registry does not know.
        relative: Names of files beside the ``_metadata``.
    """

    def __init__(self) -> None:
        """Start with no name."""
        self.paths = PathColumns()
        self.unregistered = PathColumns()
        self.relative = PathColumns()

    def take(self, lot: ReferenceLot) -> None:
        """Take some references."""
        self.paths.add(lot.paths)
        self.unregistered.add(lot.unregistered)
        self.relative.add(lot.relative_names)

    def files(self, folder: Location, aliases: Sequence[Alias]) -> dict[Location, FileNames]:
        """Return the base names by folder, and leave none; ``ValueError`` if one is relative."""
        columns: dict[Location, NameColumns] = {}
        for parent, names in self.paths.folders.items():
            columns.setdefault(canonical(parent, aliases), NameColumns()).extend(names)
        for names in self.relative.folders.values():
            columns.setdefault(folder, NameColumns()).extend(names)
        self.paths.folders.clear()
        return {place: FileNames.from_columns(each) for place, each in columns.items()}
