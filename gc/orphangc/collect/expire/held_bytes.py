"""Bytes that only some checkpoints hold, and which lack a part of a file: one more pass each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from flinkstate.metadata.reader import read_metadata
from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES, METADATA_NAME
from flinkstate.places.locations import Alias, Location, place_of
from flinkstate.state.file_use import COMPRESSED, ExpectedFile, expected_files
from orphangc.collect.mark.missing import present_of
from orphangc.collect.observe.observation import Environment
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.sorted_uuids import Numbers, SortedUuids, distinct, least_type, numbered
from orphangc.core.columns.uuid_words import words_of
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.lineage.checkpoint_fates import CheckpointFate, RetentionAction
from orphangc.core.model.naming import is_possible_key, uuid_of
from orphangc.core.model.types import ObjectKey
from orphangc.errors import UnreadableMetadataError
from orphangc.ports import Storage
from orphangc.ports.engine import ListingPass

_Words = npt.NDArray[np.uint64]

_NONE = np.empty(0, np.int8)
_SHARED = -1
"""Group of a file that several groups name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """Every file that a checkpoint names, with the one group that names it; picklable.

    Attributes:
        group: Of n integers, the only group whose checkpoints name each; -1 if several do.
    """

    uuids: SortedUuids
    group: Numbers

    @classmethod
    def of(cls, checkpoints: Iterable[tuple[Checkpoint, int]]) -> NamedFiles:
        """Return the files of some checkpoints, each with the group that it belongs to."""
        every = [*checkpoints]
        (files,) = cls.divided([each for each, _ in every], [[group for _, group in every]])
        return files

    @classmethod
    def divided(
        cls, checkpoints: Sequence[Checkpoint], divisions: Iterable[Sequence[int]]
    ) -> list[NamedFiles]:
        """Return the files of some checkpoints for each division of them into groups.

        The UUIDs, the same object in all of them, are sorted once.

        Args:
            divisions: Group of each checkpoint, for each division.
        """
        named = [
            (number, *names.uuids)
            for number, checkpoint in enumerate(checkpoints)
            for names in checkpoint.files.values()
        ]
        uuids, maker, starts = numbered(named, len(checkpoints))
        if not len(starts):
            return [cls(uuids=uuids, group=_NONE) for _ in divisions]
        return [cls(uuids=uuids, group=_only(groups, maker, starts)) for groups in divisions]

    def without(self, checkpoints: Iterable[Checkpoint]) -> NamedFiles:
        """Return these files, where those that other checkpoints name belong to no group."""
        return self.without_uuids(
            names.uuids for checkpoint in checkpoints for names in checkpoint.files.values()
        )

    def without_uuids(
        self, uuids: Iterable[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]
    ) -> NamedFiles:
        """Return these files, where some UUIDs belong to no group."""
        group = self.group.copy()
        for hi, lo in uuids:
            at, is_there = self.uuids.find(hi, lo)
            group[at[is_there]] = _SHARED
        return NamedFiles(uuids=self.uuids, group=group)

    def are_of_one_group(self, hi: npt.NDArray[np.uint64], lo: npt.NDArray[np.uint64]) -> bool:
        """Return whether each of some UUIDs is named by one group alone."""
        at, is_there = self.uuids.find(hi, lo)
        return bool(is_there.all() and (self.group[at] != _SHARED).all())


def _only(groups: Sequence[int], maker: Numbers, starts: npt.NDArray[np.intp]) -> Numbers:
    group = np.array(groups, least_type(max(groups) + 1))[maker]
    least, most = np.minimum.reduceat(group, starts), np.maximum.reduceat(group, starts)
    least[least != most] = _SHARED
    return least


@dataclass(slots=True)
class HeldBytes:
    """Bytes by group of the files that only this group names."""

    size: npt.NDArray[np.int64]
    objects: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBytesPass(ListingPass[list[HeldBytes]]):
    """Sums the bytes of every division of the checkpoints into groups, in one pass."""

    divisions: Sequence[tuple[NamedFiles, int]]
    phase: str = field(default="lineages")

    def begin(self) -> list[HeldBytes]:
        """See ``ListingPass``."""
        return [
            HeldBytes(np.zeros(count, np.int64), np.zeros(count, np.int64))
            for _, count in self.divisions
        ]

    def add(self, found: list[HeldBytes], rows: MarkedRows) -> None:
        """See ``ListingPass``."""
        columns = rows.columns
        sizes = np.asarray(columns.batch.column("size").fill_null(0))[columns.has_uuid]
        hi, lo = columns.hi[columns.has_uuid], columns.lo[columns.has_uuid]
        found_in: SortedUuids | None = None
        for (files, _), total in zip(self.divisions, found, strict=True):
            if files.uuids is not found_in:
                found_in = files.uuids
                at, is_there = found_in.find(hi, lo)
                at, held = at[is_there], sizes[is_there]
            group = files.group[at]
            is_only = group != _SHARED
            np.add.at(total.size, group[is_only], held[is_only])
            np.add.at(total.objects, group[is_only], 1)

    def together(self, found: Iterable[list[HeldBytes]]) -> list[HeldBytes]:
        """See ``ListingPass``."""
        total = self.begin()
        for part in found:
            for mine, each in zip(total, part, strict=True):
                mine.size += each.size
                mine.objects += each.objects
        return total


# --- which checkpoints have every file that they name, as long as their ``_metadata`` states


_NOT_THERE = -1
_MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesPass(ListingPass[npt.NDArray[np.int64]]):
    """The size of some files, by UUID: of several of one, the shortest counts; picklable."""

    uuids: SortedUuids
    phase: str = field(default="sizes")

    def begin(self) -> npt.NDArray[np.int64]:
        """See ``ListingPass``."""
        return np.full(len(self.uuids), _MOST, np.int64)

    def add(self, found: npt.NDArray[np.int64], rows: MarkedRows) -> None:
        """See ``ListingPass``."""
        columns = rows.columns
        sizes = np.asarray(columns.batch.column("size").fill_null(_NOT_THERE))[columns.has_uuid]
        at, is_there = self.uuids.find(columns.hi[columns.has_uuid], columns.lo[columns.has_uuid])
        np.minimum.at(found, at[is_there], sizes[is_there])

    def together(self, found: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """See ``ListingPass``."""
        total = self.begin()
        for part in found:
            total = np.minimum(total, part)
        return np.where(total == _MOST, _NOT_THERE, total)


@dataclass(frozen=True, slots=True)
class _Needed:
    """UUIDs of the files that a checkpoint needs, and the least size of each in bytes."""

    hi: npt.NDArray[np.uint64]
    lo: npt.NDArray[np.uint64]
    least: npt.NDArray[np.int64]
    changes: Mapping[int, str]


def incomplete(
    fates: Sequence[CheckpointFate],
    by_folder: Mapping[str, Checkpoint],
    environment: Environment,
    aliases: Sequence[Alias],
    *,
    is_listed_now: bool,
) -> frozenset[str]:
    """Return the folders of checkpoints that lack a part of a file, which Flink cannot restore.

    Only lineages of which something would expire are looked at: all others keep what they have.

    Args:
        fates: Fates by the names of files alone.
        by_folder: Every checkpoint that was read, by its folder.
        environment: Ports of the cycle, whose engine still holds its listing.
        is_listed_now: Whether the whole listing is of this cycle; what an older one shows may be
            gone, so each file is looked at.
    """
    going = {id(each.lineage) for each in fates if each.action is RetentionAction.EXPIRE}
    base = environment.storage.location
    asked = [
        by_folder[each.checkpoint.uri]
        for each in fates
        if id(each.lineage) in going and each.checkpoint.is_restorable
    ]
    asked = [each for each in asked if base.contains(each.folder)]
    if not asked:
        return frozenset()
    look = partial(_needed, environment.storage, aliases, is_listed_now=is_listed_now)
    with ThreadPoolExecutor(max(1, environment.storage.at_once)) as pool:
        needed = [*pool.map(look, asked)]
    parts = [each for each in needed if each is not None]
    hi = np.concatenate([np.empty(0, np.uint64), *(each.hi for each in parts)])
    lo = np.concatenate([np.empty(0, np.uint64), *(each.lo for each in parts)])
    uuids = SortedUuids(*distinct(hi, lo))
    sizes = environment.engine.run(SizesPass(uuids=uuids), environment.progress)

    def is_short(files: _Needed) -> bool:
        short = np.flatnonzero(sizes[uuids.find(files.hi, files.lo)[0]] < files.least)
        keys = map(files.changes.get, short.tolist())
        return not all(_is_compressed(key, environment.storage) for key in keys)

    return frozenset(
        str(checkpoint.folder)
        for checkpoint, files in zip(asked, needed, strict=True)
        if files is None or is_short(files)
    )


def _needed(
    storage: Storage, aliases: Sequence[Alias], checkpoint: Checkpoint, *, is_listed_now: bool
) -> _Needed | None:
    """Return which files a checkpoint needs, ``None`` if it, or one of them, is another by now."""
    key = ObjectKey(f"{storage.location.key_of(checkpoint.folder)}/{METADATA_NAME}")
    files = needed_files(checkpoint, storage, key)
    if files is None:
        return None
    inside = [*_inside(files, storage.location, aliases)]
    if not is_listed_now and _are_short(inside, storage):
        return None
    words, least, changes = bytearray(), list[int](), dict[int, str]()
    for name, file in inside:
        uuid = uuid_of(name.rpartition("/")[2])
        if uuid is not None:
            if file.may_be_compressed:
                changes[len(least)] = name
            words += uuid
            least.append(min(file.least_bytes, _MOST))  # a damaged handle says anything
    return _Needed(*words_of(bytes(words)), np.array(least, np.int64), changes)


def _are_short(files: Sequence[tuple[str, ExpectedFile]], storage: Storage) -> bool:
    present = present_of([key for key, _ in files], storage)
    return any(
        (found is None or found.size < file.least_bytes)
        and not _is_compressed(key if file.may_be_compressed else None, storage)
        for found, (key, file) in zip(present, files, strict=True)
    )


def _is_compressed(key: str | None, storage: Storage) -> bool:
    if key is None or not is_possible_key(key):
        return False
    return storage.part(ObjectKey(key), start=0, size=1) == COMPRESSED


def _inside(
    files: Iterable[ExpectedFile], base: Location, aliases: Sequence[Alias]
) -> Iterator[tuple[str, ExpectedFile]]:
    folders: dict[str, str | None] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if folder not in folders:
            place = place_of(folder, aliases)
            folders[folder] = (
                None if place is None or not base.contains(place) else base.key_of(place)
            )
        key = folders[folder]
        if key is not None:
            yield f"{key}/{name}" if key else name, file


def needed_files(
    checkpoint: Checkpoint, storage: Storage, key: ObjectKey
) -> tuple[ExpectedFile, ...] | None:
    """Return each file that a checkpoint needs, with bytes, or raise ``StorageUnreachableError``.

    Returns:
        ``None`` if other bytes are stored there by now.
    """
    data = storage.read(key, max_bytes=MAX_METADATA_BYTES)
    if data is None or hashlib.sha256(data).hexdigest() != checkpoint.sha256:
        return None
    try:
        return expected_files(read_metadata(data), directory=str(checkpoint.folder))
    except UnreadableMetadataError:
        return None
