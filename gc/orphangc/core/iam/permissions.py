"""Permissions that a configured storage root needs, in no provider's words.

Each need was read from the code and from the request log of whole runs; a test holds them against
a server that enforces policies. Other requests are not made, or their refusal is understood.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from flinkstate.places.checkpoint_names import METADATA_WORD, is_job_id
from flinkstate.places.locations import Location, canonical
from orphangc.core.documents.s3_inventory import report_time
from orphangc.core.model.job_folders import CHANGES, CHECKPOINT, FOLDERS, NUMBERED_FOLDERS, SHARED
from orphangc.core.model.naming import EXPIRY_MARKER
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.shown import RunMode, SearchScope
from orphangc.core.model.types import AreaName
from orphangc.core.world.known_world import storage_of

ANY_JOB = "?" * 32
"""Pattern of a job id."""
FOLDERS_OF_FILES = (*(f"{each}/" for each in FOLDERS.values()), *NUMBERED_FOLDERS.values())
"""How the paths of files of all areas begin in a job directory; ``_metadata`` is none of them."""
_MANIFEST = "manifest.json"


class Right(StrEnum):
    """One thing that may be done."""

    LIST = "list"
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    TELL_VERSIONING = "tell versioning"
    READ_BUCKET_SETTINGS = "read bucket settings"
    LIST_VERSIONS = "list versions"
    RESTORE = "restore"
    LIST_UPLOADS = "list uploads"
    ABORT_UPLOADS = "abort uploads"


class StorageArea(StrEnum):
    """Which keys of a place a need is about."""

    BELOW = "everything below"
    FOLDER = "one level"
    ITSELF = "the object itself"
    METADATA = "_metadata files"
    SHARED = "shared files of any job"
    FILES = "files of all areas of any job"
    SAVEPOINTS = "files of savepoints"
    ROOTS = "_metadata files of checkpoints of any job, and markers beside them"
    NONCES = "nonces of any job"
    PROBES = "throwaway files beside nonces"


class Purpose(StrEnum):
    """What a need is for."""

    LOOK = "look"
    STATE = "state"
    ORPHANS = "orphans"
    UPLOADS = "uploads"
    EXPIRY = "expiry"
    UNDELETE = "undelete"
    REGISTRY = "registry"
    EXPORTERS = "exporters"
    INVENTORY = "inventory"
    WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageNeed:
    """One right in one area of one place.

    Attributes:
        is_one_job: Whether the place is the directory of one job; else any job has one below it.
    """

    right: Right
    area: StorageArea
    place: Location
    purpose: Purpose
    is_one_job: bool = False

    @property
    def what(self) -> str:
        """Return what may be done to, for people."""
        return self.area.replace("any job", "the one job") if self.is_one_job else self.area

    @property
    def below(self) -> str:
        """Return how the keys below its place begin, "" of a whole bucket."""
        path = self.place.path.lstrip("/")
        return f"{path}/" if path else ""

    @property
    def patterns(self) -> tuple[str, ...]:
        """Return which keys below its place are meant: ``*`` matches slashes too."""
        job = "" if self.is_one_job else f"{ANY_JOB}/"
        found = tuple(f"{job}{each}" for each in _OF_JOBS.get(self.area, ()))
        if self.area is StorageArea.FILES and not self.is_one_job:
            # the log of the changelog may be in a folder of its own, beside the job directories
            return (*found, f"*/{ANY_JOB}/{CHANGES}/*")
        return found or _OF_PLACES.get(self.area, ("*",))

    @property
    def too_deep(self) -> str | None:
        """Return the pattern of keys in more folders than those of the area are ever in."""
        depth = _SLASHES.get(self.area)
        return None if depth is None else "*/" * (depth + (not self.is_one_job)) + "*"


_OF_JOBS: Mapping[StorageArea, tuple[str, ...]] = {
    StorageArea.SHARED: (f"{SHARED}/*",),
    StorageArea.FILES: tuple(f"{each}*" for each in FOLDERS_OF_FILES),
    StorageArea.ROOTS: (f"{CHECKPOINT}*/_metadata", f"{CHECKPOINT}*/{EXPIRY_MARKER}*"),
    StorageArea.NONCES: ("nonce",),
    StorageArea.PROBES: ("doctor-*",),
}
"""Keys in the directory of a job."""
_OF_PLACES: Mapping[StorageArea, tuple[str, ...]] = {
    StorageArea.METADATA: (f"*{METADATA_WORD}*",),
    StorageArea.SAVEPOINTS: ("savepoint-*/*", "*/savepoint-*/*"),
}
_SLASHES = {StorageArea.SHARED: 2, StorageArea.FILES: 4, StorageArea.ROOTS: 2}
"""The fewest slashes that no key of an area has, in the directory of a job."""


def needs_of(
    settings: StorageRootSettings,
    *,
    mode: RunMode,
    may_undelete: bool = False,
    may_expire: bool = False,
    may_examine: bool = False,
    work: str | None = None,
) -> tuple[StorageNeed, ...]:
    """Return all permissions that runs of a storage root need.

    Args:
        may_expire: Whether checkpoints expire by a retention policy, or only come back.
    """
    root, searched = settings.location, (*settings.own_places, *settings.other_roots)
    if settings.search is SearchScope.STORAGE:
        searched = tuple(storage_of(each, None) for each in searched)
    return (
        *(need for place in dict.fromkeys(searched) for need in _reads(place)),
        *(need for uri in settings.registry for need in _registry(canonical(uri))),
        *(
            need
            for uri in settings.job_archives
            for need in _needs(
                Purpose.REGISTRY, canonical(uri), StorageArea.BELOW, Right.LIST, Right.READ
            )
        ),
        *_inventory(settings),
        *_versions(settings, root, may_undelete=may_undelete),
        *(_examined(settings, root) if may_examine else ()),
        *_own(settings.state, Purpose.STATE),
        *_own(work, Purpose.WORK),
        *_orphans(settings, root, mode=mode, may_undelete=may_undelete),
        *(_expiry(settings, root, mode=mode, may_undelete=may_undelete) if may_expire else ()),
    )


def _needs(
    purpose: Purpose, place: Location, area: StorageArea, *rights: Right, is_one_job: bool = False
) -> Iterator[StorageNeed]:
    for right in rights:
        yield StorageNeed(
            right=right, area=area, place=place, purpose=purpose, is_one_job=is_one_job
        )


def _reads(place: Location) -> Iterator[StorageNeed]:
    """Yield the needs of finding and reading checkpoints: state itself is not read."""
    yield from _needs(Purpose.LOOK, place, StorageArea.BELOW, Right.LIST)
    yield from _needs(Purpose.LOOK, place, StorageArea.METADATA, Right.READ)


def _registry(place: Location) -> Iterator[StorageNeed]:
    """Yield what a snapshot, a folder of them, and a folder of exporters take.

    Which of the three it is shows in the folder around it.
    """
    yield from _needs(Purpose.REGISTRY, place.parent, StorageArea.FOLDER, Right.LIST)
    for area in (StorageArea.ITSELF, StorageArea.BELOW):
        yield from _needs(Purpose.REGISTRY, place, area, Right.LIST, Right.READ)
    yield from _needs(Purpose.EXPORTERS, place, StorageArea.NONCES, Right.WRITE)
    yield from _needs(Purpose.EXPORTERS, place, StorageArea.PROBES, Right.WRITE, Right.DELETE)


def _inventory(settings: StorageRootSettings) -> Iterator[StorageNeed]:
    if settings.inventory is None:
        return
    place = canonical(settings.inventory)
    if place.name == _MANIFEST:
        place = place.parent
    if report_time(place.name):
        place = place.parent
    yield from _needs(Purpose.INVENTORY, place, StorageArea.BELOW, Right.LIST, Right.READ)


def _versions(
    settings: StorageRootSettings, root: Location, *, may_undelete: bool
) -> Iterator[StorageNeed]:
    purpose = Purpose.UNDELETE if may_undelete else Purpose.LOOK
    if may_undelete:
        yield from _needs(purpose, root, StorageArea.BELOW, Right.TELL_VERSIONING)
    if may_undelete or settings.noncurrent_versions:
        yield from _needs(purpose, root, StorageArea.BELOW, Right.LIST_VERSIONS)


def _examined(settings: StorageRootSettings, root: Location) -> Iterator[StorageNeed]:
    rights = (Right.READ_BUCKET_SETTINGS, Right.TELL_VERSIONING)
    for place in filter(None, (root, settings.state_location)):
        yield from _needs(Purpose.LOOK, place, StorageArea.BELOW, *rights)


def _own(uri: str | None, purpose: Purpose) -> Iterator[StorageNeed]:
    rights = (Right.LIST, Right.READ, Right.WRITE, Right.DELETE)
    if uri is not None:
        yield from _needs(purpose, canonical(uri), StorageArea.BELOW, *rights)


def _orphans(
    settings: StorageRootSettings, root: Location, *, mode: RunMode, may_undelete: bool
) -> Iterator[StorageNeed]:
    is_flat = set(settings.scope) == {AreaName.SHARED}
    area = StorageArea.SHARED if is_flat else StorageArea.FILES
    is_one = _is_one_job(settings, root)
    if mode is RunMode.DELETE:
        yield from _needs(Purpose.ORPHANS, root, area, Right.DELETE, is_one_job=is_one)
        yield from _savepoints(settings, root)
    if mode is RunMode.DELETE and settings.abort_uploads:
        yield from _needs(Purpose.UPLOADS, root, StorageArea.BELOW, Right.LIST_UPLOADS)
        yield from _needs(Purpose.UPLOADS, root, area, Right.ABORT_UPLOADS, is_one_job=is_one)
    if may_undelete:
        yield from _needs(Purpose.UNDELETE, root, area, Right.RESTORE, is_one_job=is_one)


def _savepoints(settings: StorageRootSettings, root: Location) -> Iterator[StorageNeed]:
    """Yield what takes savepoints that were never completed, below an extra root (R33)."""
    if AreaName.SAVEPOINT not in settings.scope or root.scheme != "s3":
        return
    for place in map(canonical, settings.extra_roots):
        if root.contains(place):
            yield from _needs(Purpose.ORPHANS, place, StorageArea.SAVEPOINTS, Right.DELETE)


def _expiry(
    settings: StorageRootSettings, root: Location, *, mode: RunMode, may_undelete: bool
) -> Iterator[StorageNeed]:
    """Yield what an expiry takes: its sweep deletes ``_metadata``, and puts it back (R44).

    Beside it stands a marker for as long as the quarantine lasts.
    """
    rights = [Right.DELETE] if mode is RunMode.DELETE else []
    if mode is RunMode.DELETE or may_undelete:
        rights.append(Right.WRITE)
    is_one = _is_one_job(settings, root)
    yield from _needs(Purpose.EXPIRY, root, StorageArea.ROOTS, *rights, is_one_job=is_one)


def _is_one_job(settings: StorageRootSettings, root: Location) -> bool:
    return is_job_id(root.name) or settings.owner is not None
