"""Folders of savepoints that a policy may let go: what each holds, and who needs it (R42).

A savepoint belongs to no job directory, so no rule collects its files. They go by this alone: the
owner named the place, every file that the savepoint names is in its own folder, and no other
checkpoint names any of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from flinkstate.places.checkpoint_names import METADATA_NAME, is_savepoint_folder
from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle
from orphangc.collect.expire.held_bytes import NamedFiles, needed_files
from orphangc.collect.observe.checkpoints import hidden_above
from orphangc.collect.observe.observation import Observation
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import OrphanGcError
from orphangc.ports import Storage

OpenStorage = Callable[[Location], Storage]

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class SavepointFolders:
    """What is known of the folders of one cycle's savepoints.

    Attributes:
        obstacles: Reason for which the files of a savepoint do not go, by its folder; savepoints
            without one are not among them.
        sizes: Bytes of the files that each savepoint names, by its folder, where they were looked
            at.
        whole: Folders of the savepoints of which every file is stored, as long as it says.
    """

    obstacles: Mapping[Location, str] = field(default_factory=dict)
    sizes: Mapping[Location, int] = field(default_factory=dict)
    whole: frozenset[Location] = frozenset()

    @cached_property
    def collectable(self) -> frozenset[Location]:
        """Return the folders whose files may go."""
        return frozenset(self.sizes.keys() - self.obstacles.keys())


NO_SAVEPOINTS = SavepointFolders()


def savepoint_folders(
    cycle: Cycle,
    policy: RetentionPolicy,
    open_storage: OpenStorage,
    searched: Sequence[Location],
    *,
    of_others: Sequence[Location] = (),
) -> SavepointFolders:
    """Return what stands against the end of each savepoint, and how large it is.

    Args:
        of_others: Places of other storage roots, whose runs do not know what is in quarantine here.
    """
    places = [canonical(uri) for uri in policy.savepoints]
    savepoints = [each for each in cycle.mark.checkpoints if each.directory is None]
    obstacles = {
        each.folder: why
        for each in savepoints
        if (why := _obstacle(each, places, searched, of_others)) is not None
    }
    left = [each for each in savepoints if each.folder not in obstacles]
    obstacles.update(named_by_others(left, cycle.mark.checkpoints, _otherwise_named(cycle.seen)))
    sizes: dict[Location, int] = {}
    whole: set[Location] = set()
    for each in left:
        try:
            storage = open_storage(each.folder)
            stored = own_files(each, storage, "")
            is_whole = len(stored) == each.references and _are_whole(each, storage, stored)
        except OrphanGcError:
            obstacles.setdefault(each.folder, "its folder cannot be listed")
            continue
        if not storage.is_tested:
            obstacles.setdefault(each.folder, "this kind of storage is not in the tested list")
        sizes[each.folder] = sum(one.size for one in stored)
        if is_whole:
            whole.add(each.folder)
    return SavepointFolders(obstacles, sizes, frozenset(whole))


def _are_whole(savepoint: Checkpoint, storage: Storage, stored: Sequence[StoredObject]) -> bool:
    needed = needed_files(savepoint, storage, ObjectKey(METADATA_NAME))
    found = {each.key.rpartition("/")[2]: each.size for each in stored}
    return needed is not None and all(
        found.get(each.path.rpartition("/")[2], -1) >= each.least_bytes for each in needed
    )


def _obstacle(
    savepoint: Checkpoint,
    places: Sequence[Location],
    searched: Sequence[Location],
    of_others: Sequence[Location],
) -> str | None:
    folder = savepoint.folder
    if not any(place.contains(folder) and place != folder for place in places):
        return "its folder is in no place that expire.savepoints names"
    if not any(place.contains(folder) for place in searched):
        return "its folder is in no extra root"
    keys = ((place.key_of(folder), place.name) for place in searched)
    if any(hidden_above(key, name) for key, name in keys if key):
        return "its folder is in one that no scan enters, where no later run sees a quarantine"
    if any(place.contains(folder) for place in of_others):
        return "its folder is in a place of another storage root: only that one may let it go"
    if canonical(str(folder)) != folder:
        return "it is in a folder without a name, which no URI names"
    if savepoint.is_savepoint is False or not is_savepoint_folder(folder.name):
        return "it is no savepoint by its folder's name and its properties"
    if savepoint.unproven_layout is not None or any(each != folder for each in savepoint.files):
        return "not all of its files are in its own folder"
    return None


def _otherwise_named(seen: Observation) -> Iterator[tuple[_Words, _Words]]:
    """Yield the UUIDs that broken checkpoints and registries name, as for every other file."""
    yield from (broken.raw.columns() for broken in seen.unreadable)
    for snapshot in seen.answers.snapshots:
        yield from (names.uuids for _, names in snapshot.entries.folders())


def named_by_others(
    savepoints: Sequence[Checkpoint],
    checkpoints: Sequence[Checkpoint],
    uuids: Iterable[tuple[_Words, _Words]] = (),
) -> Iterator[tuple[Location, str]]:
    """Yield the savepoints of which some other checkpoint names a file, by whatever oracle."""
    own = {each.folder for each in savepoints}
    files = NamedFiles.of((each, number) for number, each in enumerate(savepoints))
    others = [each for each in checkpoints if each.folder not in own]
    by_others = (found for each in others for found in (each.raw.columns(), _uuids(each)))
    files = files.without(others).without_uuids(chain(by_others, uuids))
    for each in savepoints:
        if each.references and not files.are_of_one_group(*_uuids(each)):
            yield each.folder, "another checkpoint names files in its folder"
    named = {place for other in others for place in other.files}
    around = {each for place in named for each in place.upwards()}
    for each in savepoints:
        if each.folder in around:
            yield each.folder, "another checkpoint names files in its folder"


def _uuids(checkpoint: Checkpoint) -> tuple[_Words, _Words]:
    parts = [FileNames().uuids, *(names.uuids for names in checkpoint.files.values())]
    return np.concatenate([hi for hi, _ in parts]), np.concatenate([lo for _, lo in parts])


def own_files(savepoint: Checkpoint, storage: Storage, prefix: str) -> list[StoredObject]:
    """Return which files that a savepoint names in its folder exist, or raise ``OrphanGcError``.

    What else is stored there is nothing of the savepoint's.
    """
    names = savepoint.files.get(savepoint.folder, ())
    listed = storage.folder(prefix).objects
    return [each for each in listed if each.key.rpartition("/")[2] in names]
