"""Opens the storage that a URI names: the one place that maps schemes to adapters."""

from __future__ import annotations

from pathlib import Path

from orphangc.adapters.files.fsspec_storage import FsspecStorage
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.files.state_files import FsspecStateFiles, LocalStateFiles
from orphangc.adapters.s3.s3_state_files import S3StateFiles
from orphangc.adapters.s3.s3_storage import S3Storage
from orphangc.adapters.s3.s3_unlisted import S3Extras
from orphangc.core.model.locations import Location, canonical
from orphangc.errors import SettingsError
from orphangc.ports import Extras, StateFiles, Storage


def open_storage(where: str | Location, *, state: Location | None = None) -> Storage:
    """Return the storage whose root is ``where``; credentials come from the environment only.

    Args:
        where: URI of the storage root.
        state: State location, in which a mounted file system shows its clock.

    Raises:
        SettingsError: The scheme is unknown, or its package is not installed.
        StorageUnreachableError: The root is absent or refuses access, if opening shows it.

    """
    location = _location(where)
    match location.scheme:
        case "file":
            is_near = state is not None and state.scheme == "file"
            return LocalStorage(location, clock_in=Path(state.path) if is_near and state else None)
        case "s3":
            return S3Storage(location)
        case _:
            return FsspecStorage(location)


def open_extras(where: str | Location) -> Extras | None:
    """Return the reader of what a listing of ``where`` does not show, ``None`` if there is none.

    Raises:
        SettingsError: ``where`` is no location.

    """
    location = _location(where)
    return S3Extras(location) if location.scheme == "s3" else None


def open_state_files(where: str | Location) -> StateFiles:
    """Return the state location ``where``, which may not exist yet.

    Raises:
        SettingsError: The scheme is unknown, or its package is not installed.

    """
    location = _location(where)
    match location.scheme:
        case "file":
            return LocalStateFiles(location)
        case "s3":
            return S3StateFiles(location)
        case _:
            return FsspecStateFiles(location)


def _location(where: str | Location) -> Location:
    if isinstance(where, Location):
        return where
    try:
        return canonical(where)
    except ValueError as err:
        raise SettingsError(str(err)) from err
