"""Storages: what a search covers is a whole one, whatever names the folders in it (R3a)."""

from __future__ import annotations

from flinkstate.places.locations import Location
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.owners import job_directory_of
from orphangc.core.times.instants import Instant

OBJECT_STORES = frozenset({"s3", "gs", "abfs", "oss", "cosn", "obs"})
"""Schemes whose authority is a bucket or a container: all of it is one storage."""


class SearchedStorage(FrozenPart):
    """A storage that is searched for every ``_metadata``, at any depth and under any name.

    Attributes:
        named_by: What names it or a place in it; a few of many.
        keys: Number of listed keys, those of the storage root that is collected aside; ``None`` if
            it could not be searched to its end.
        checkpoints: Number of its checkpoints, of the storage root too; ``None`` likewise.
        tables: Number of objects called ``_metadata`` that are Parquet's.
        left_out: Prefixes that a person states to hold no checkpoint.
    """

    uri: str
    named_by: tuple[str, ...] = ()
    keys: int | None = None
    checkpoints: int | None = None
    tables: int = 0
    newest_checkpoint_at: Instant | None = None
    left_out: tuple[str, ...] = ()
    problem: str | None = None


def storage_of(place: Location, mount: Location | None) -> Location:
    """Return the storage that holds a place.

    That is the bucket or container, or the mounted file system. On the machine's own file system,
    which holds everything, and where nothing bounds a storage, it is the folder around the place;
    the top folder is none.

    Args:
        mount: Where its file system is mounted; ``None`` for the machine's own, or no file system.
    """
    if place.scheme in OBJECT_STORES:
        return place.top
    if mount is not None:
        return mount
    return place if place.parent.path == "/" else place.parent


def place_around(folder: Location) -> Location:
    """Return the place that holds a named folder: the one around its job directory, or around it.

    Beside a job's directory lie those of the jobs that may have claimed its checkpoints. The top
    folder is no place: what is in it is all of the machine.
    """
    home = job_directory_of(folder) or folder
    return home if home.parent == home.top else home.parent
