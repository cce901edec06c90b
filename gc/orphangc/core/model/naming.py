"""Flink's naming schemes and their inverse: the meaning of a key, from the key alone.

An allow-list: what fits no scheme is unrecognised and never touched.

Source: Flink 1.13-2.3, ``AbstractFsCheckpointStorageAccess`` (``chk-``, ``shared``,
``taskowned``), ``StateChangeFsUploader`` (``dstl``), ``ForStStateBackend`` (``op_``);
``<checkpointID>_<UUID>`` is FLINK-24852's proposal. ``core.areas.recognise`` says which names
are files of an area.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from flinkstate.places.checkpoint_names import checkpoint_id_of, is_job_id, is_savepoint_folder
from flinkstate.places.locations import Location
from orphangc.core.model.job_folders import FOLDERS, JOB_FOLDERS
from orphangc.core.model.types import DirectoryLayout, JobId, Scope

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_FLAT = re.compile(rf"(?:(0|[1-9][0-9]{{0,18}})_)?({_UUID})", re.ASCII)
_ENDS_IN_UUID = re.compile(rf".*({_UUID})", re.ASCII | re.DOTALL)
_DEPTH = re.compile(rf"([0-9]{{1,4}})-{_UUID}", re.ASCII)
_WORKING_FOLDER = re.compile(r"op_.+__[0-9]+_[0-9]+__attempt_[0-9]+", re.ASCII | re.DOTALL)
UNFINISHED = ".inprogress/"
"""How keys of a bucket begin of what Flink has not finished to write; the path that it will have
follows, and no job is there.

Source: Flink 1.15-2.3, ``flink-gs-fs-hadoop``, ``BlobUtils.getTemporaryObjectPartialName``.
"""
_AREAS = {name: scope for scope, name in FOLDERS.items()}
_MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Meaning of an object's folder.

    Attributes:
        job_directory: Key of the job directory, "" for the storage root itself, ``None`` outside.
        job_id: Job id in the directory's name; "" if the name is none or there is no directory.
        inner: Path below the area's folder, "" directly in it; below the job directory for ForSt's
            working files.
        checkpoint_id: Number of a ``chk-<n>`` folder.
    """

    job_directory: str | None
    job_id: JobId
    scope: Scope
    inner: str = ""
    checkpoint_id: int | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """Meaning of a file's name.

    Attributes:
        uuid: 16 bytes, of a file of an area only: it can be a candidate.
        checkpoint_id: Number in ``<checkpointID>_<UUID>`` only.
    """

    layout: DirectoryLayout
    uuid: bytes | None = None
    checkpoint_id: int | None = None


def parse_artifact_name(name: str) -> tuple[int | None, bytes] | None:
    """Return (checkpoint id or ``None``, UUID) of a flat artifact name, ``None`` if it is none."""
    match = _FLAT.fullmatch(name)
    if match is None:
        return None
    checkpoint_id = None if match[1] is None else int(match[1])
    if checkpoint_id is not None and checkpoint_id > _MAX_ID:
        return None
    return checkpoint_id, bytes.fromhex(match[2].replace("-", ""))


def artifact_name(checkpoint_id: int | None, uuid: bytes) -> str:
    """Return the name that ``parse_artifact_name`` reads back: its inverse."""
    digits = uuid.hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return text if checkpoint_id is None else f"{checkpoint_id}_{text}"


ANY_UUID = artifact_name(None, bytes(16))
"""A name of one file, which stands for all that end in a UUID."""

EXPIRY_MARKER = "orphangc-expired-"
"""Beginning of the name of a marker of an expiry (R44)."""


TEMPORARY = ".orphangc-tmp-"
"""Prefix of the name of a file that is being written; a UUID follows."""


def expiry_marker(state: str, depth: int) -> str:
    """Return the name of the marker of a state location in ``chk-<n>/``.

    Args:
        depth: Number of folders from the storage root, whose expiry it is, down to ``chk-<n>/``.
    """
    return f"{EXPIRY_MARKER}{depth}-{uuid.UUID(hex=state)}"


def depth_of_expiry(marker: str) -> int | None:
    """Return the depth in the name of a marker, ``None`` if it has none, as older ones."""
    match = _DEPTH.fullmatch(marker.removeprefix(EXPIRY_MARKER))
    return None if match is None else int(match[1])


def uuid_of(name: str) -> bytes | None:
    """Return the UUID that a base name ends in, after any prefix (R5)."""
    match = _ENDS_IN_UUID.fullmatch(name)
    return None if match is None else bytes.fromhex(match[1].replace("-", ""))


def is_possible_key(key: str) -> bool:
    """Return whether any storage can hold an object of this key: no NUL, no half of a character.

    Java's modified UTF-8 spells both, so a path in ``_metadata`` may have them.
    """
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in key


def _area_of(part: str) -> tuple[Scope, int | None] | None:
    if part in _AREAS:
        return _AREAS[part], None
    checkpoint_id = checkpoint_id_of(part)
    return None if checkpoint_id is None else (Scope.EXCLUSIVE, checkpoint_id)


def _place_in(parts: list[str], position: int, job_id: str) -> FilePlace | None:
    area = _area_of(parts[position])
    above, below = parts[:position], parts[position + 1 :]
    if "" in above:
        return None
    if job_id and _WORKING_FOLDER.fullmatch(parts[position]) is not None:
        inner = "/".join(parts[position:])
        return FilePlace("/".join(above), JobId(job_id), Scope.FORST, inner)
    if area is None:
        return None
    scope, checkpoint_id = area
    inner = "/".join(below) or "/" * len(below)  # an object store has folders without a name
    return FilePlace("/".join(above), JobId(job_id), scope, inner, checkpoint_id)


def place_of_folder(folder: str, root_name: str = "") -> FilePlace:
    """Return the meaning of a folder key (no trailing slash, "" for the root).

    A folder named by a job id owns the areas below it. An area below any other folder belongs to
    a job directory without a known owner (``create-subdir=false``): job id "", if it counts there
    (``core.model.job_folders``). ForSt's working folders are where
    ``state.backend.forst.primary-dir`` puts them.

    Args:
        folder: Key relative to the storage root.
        root_name: Last part of the storage root, which may itself be a job directory.
    """
    if folder.startswith(UNFINISHED):
        return FilePlace(None, JobId(""), Scope.OTHER)
    parts = folder.split("/") if folder else []
    owners = [root_name, *parts]
    for position, owner in enumerate(owners[:-1]):
        if is_job_id(owner) and (place := _place_in(parts, position, owner)):
            return place
    for position in range(len(parts)):
        place = _place_in(parts, position, "")
        if place is not None and JOB_FOLDERS[place.scope].counts_anywhere:
            return place
    return _outside(parts, owners)


def _outside(parts: list[str], owners: list[str]) -> FilePlace:
    if parts and is_savepoint_folder(owners[-1]) and "" not in parts:
        return FilePlace(None, JobId(""), Scope.SAVEPOINT)
    scope = _AREAS.get(parts[-1]) if parts else None
    if scope is not None and not JOB_FOLDERS[scope].counts_anywhere:
        return FilePlace(None, JobId(""), scope)
    for position, owner in enumerate(owners):
        if is_job_id(owner):
            return FilePlace("/".join(parts[:position]), JobId(owner), Scope.OTHER)
    return FilePlace(None, JobId(""), Scope.OTHER)


@dataclass(frozen=True, slots=True)
class Owners:
    """The job directories that the scans showed, and their jobs."""

    base: Location
    keys: Mapping[Location, str]
    _known: dict[tuple[str, str], str] = field(default_factory=dict, compare=False)

    def job_key(self, place: FilePlace) -> str | None:
        """Return the key of the job that owns a place, ``None`` if none does."""
        if place.job_directory is None:
            return None
        known = (place.job_directory, place.job_id)
        if known not in self._known:
            directory = self.base.child(place.job_directory)
            self._known[known] = self.keys.get(directory) or place.job_id or str(directory)
        return self._known[known]


def job_id_of(directory: Location) -> JobId:
    """Return the job id in the name of a job directory, "" if the name is none."""
    return JobId(directory.name if is_job_id(directory.name) else "")


def job_directory_of(folder: Location) -> Location | None:
    """Return the job directory of a folder by its path alone, ``None`` if there is none."""
    place = place_of_folder(folder.path[1:])
    if not place.job_directory or not place.job_id:
        return None
    return folder.top.child(place.job_directory)
