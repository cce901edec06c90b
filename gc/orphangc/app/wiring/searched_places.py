"""The places that are searched for checkpoints beside the storage root."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from flinkstate.files.paths import resolved
from flinkstate.places.checkpoint_names import checkpoint_id_of
from flinkstate.places.locations import UNREADABLE, Location, canonical
from flinkstate.text.redaction import one_line
from orphangc import __version__
from orphangc.adapters.files.mount_table import mount_of, mounts_below
from orphangc.adapters.open import open_storage
from orphangc.app.wiring.clock import now
from orphangc.collect.observe.storage_search import StorageSearch
from orphangc.collect.state.read_checkpoints import ReadCheckpoints
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import bound_roots
from orphangc.collect.world.recalling import outside_directories
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.memory.seen_cycles import STORAGE
from orphangc.core.model.job_folders import SHARED
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.shown import SearchScope
from orphangc.core.world.known_world import storage_of
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import Storage


class UnopenedStorage(Storage):
    """Represents a location that must be searched and cannot be opened."""

    def __init__(self, location: Location, reason: str) -> None:
        self.location = location
        self.reason = reason

    def _raise(self, *_: object, **__: object) -> NoReturn:
        raise StorageUnreachableError(self.reason)

    objects = pages = folder = read = part = stat = delete = now = _raise


class _Beside:
    """Storages beside those that are searched already, each place once, whatever its spelling."""

    def __init__(self, known: Iterable[Location]) -> None:
        self.storages: list[Storage] = []
        self._known = [resolved(each) for each in known]

    def open(self, place: Location, *, is_stated_empty: bool = False) -> None:
        """Open a place, unless it is inside one that is searched.

        One that is stated to be empty is opened so that the statement is checked. Where it cannot
        be listed, that statement is all there is, and it is of exactly this place.
        """
        here = resolved(place)
        if any(each.contains(here) for each in self._known):
            return
        try:
            storage = open_storage(place)
            if is_stated_empty:
                storage.folder("")
        except OrphanGcError as err:
            if is_stated_empty:
                return
            storage = UnopenedStorage(place, str(err))
        self._known.append(here)
        self.storages.append(storage)


def searched_beside(
    settings: StorageRootSettings, state: RootState, memory: WorldMemory, storage: Storage
) -> tuple[list[Storage], list[Storage]]:
    """Return the siblings, and the directories outside all places that earlier cycles saw.

    Raises:
        StorageUnreachableError: The state location cannot be listed or read.
    """
    siblings = _siblings_of(settings, state, storage)
    known = [*settings.own_places, *(each.location for each in siblings)]
    if settings.search is SearchScope.STORAGE:
        known += _storages_in(memory, settings)
    remembered = _Beside(known)
    for place in outside_directories(memory):
        remembered.open(place)
    return siblings, remembered.storages


def storage_search(
    settings: StorageRootSettings,
    state: RootState | None,
    memory: WorldMemory,
    siblings: Iterable[Storage],
) -> StorageSearch:
    """Return what searches the storages of all named places, or these places alone.

    The settings' own places are scanned; where places alone are searched, no search repeats that.

    Args:
        state: Remembers what was read, and belongs to a cycle, which lists the storage root itself;
            ``None`` for neither.
    """
    places = settings.own_places
    named = [(each, "the settings") for each in places]
    named += [(each.location, "another storage root") for each in siblings]
    scanned = [each for place, _ in named for each in (place, resolved(place))]
    known = [each for each in _storages_in(memory, settings) if not settings.is_empty(each)]
    is_whole = settings.search is SearchScope.STORAGE
    return StorageSearch(
        is_whole=is_whole,
        named=named if is_whole else (),
        scanned=() if is_whole else scanned,
        roots=places,
        storage_of=storage_here if is_whole else place_here,
        folder_around=folder_around,
        open_storage=open_storage,
        own=resolved(settings.location) if is_whole and state is not None else None,
        known=[each for each in known if is_whole or not any(map(each.contains, scanned))],
        left_out=tuple(resolved(canonical(uri)) for uri in settings.search_except),
        is_empty=settings.is_empty,
        remembered=None
        if state is None
        else ReadCheckpoints(state.files, __version__, settings.aliases, now),
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


def folder_around(place: Location) -> Location:
    """Return the nearest folder that is there, at or around a local place; others unchanged.

    One that cannot be seen may be there.
    """
    if place.scheme != "file":
        return place
    return next((each for each in place.upwards() if not _is_absent(Path(each.path))), place)


def _is_absent(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


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
    """Return the folder behind a local link; ``None`` if it is gone, or leads to a file."""
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


def _siblings_of(
    settings: StorageRootSettings, state: RootState, storage: Storage
) -> list[Storage]:
    """Return the other storage roots to search, each place once.

    These are those that the settings imply, those that the same state location serves, and places
    that are stated to be empty, where they can be reached: what they hold counts all the same.

    Raises:
        StorageUnreachableError: The state location cannot be listed or read.
    """
    found = _Beside(settings.own_places)
    unsearched = {e for e in map(canonical, settings.without_checkpoints) if not place_here(e)}
    for place in (*settings.other_roots, *_around_job_directory(storage)):
        if place not in unsearched:  # the search of storages has the rule for what is not here
            found.open(place)
    for bound in bound_roots(state.files):
        if bound.root is None:
            reason = f"no file of {bound.folder} says whose state it is: repair or remove it"
            found.storages.append(UnopenedStorage(bound.folder, reason))
        else:
            found.open(bound.root)
    for place in map(canonical, settings.empty_roots):
        found.open(place, is_stated_empty=True)
    return found.storages


def _around_job_directory(storage: Storage) -> list[Location]:
    """Return the parent of a storage root whose contents show that it is itself a job directory.

    With ``create-subdir=false`` its name is no job id, and jobs beside it may have claimed its
    checkpoints. The root folder of a machine holds no jobs.
    """
    root = storage.location
    if root.path == "/" or (root.scheme == "file" and root.parent.path == "/"):
        return []
    folders = storage.folder("").folders
    is_job_directory = any(name == SHARED or checkpoint_id_of(name) is not None for name in folders)
    return [root.parent] if is_job_directory else []
