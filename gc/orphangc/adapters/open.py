"""Opens the storage that a URI names: the one place that maps schemes to adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.storage_options import may_be_in_stores_of
from orphangc.errors import SettingsError, StorageUnreachableError

if TYPE_CHECKING:
    from orphangc.adapters.object_store.object_storage import ObjectStorage
    from orphangc.ports import StateFiles, Storage

# ruff: noqa: PLC0415 - a storage is opened without loading the clients of all others


class _ObjectStore(NamedTuple):
    """An object store that has a client of ours, and settings of a bucket.

    Attributes:
        storage: Opens it; see ``open_storage``.
        extra: Extra of the package that its client needs, "" if none.
        variables: Beginnings of environment variables that make its URIs mean another storage.
    """

    storage: Callable[..., ObjectStorage]
    extra: str
    variables: tuple[str, ...]


def _s3(location: Location, *, shows_all: bool = False) -> ObjectStorage:
    from orphangc.adapters.s3.s3_bucket import S3Bucket

    return S3Bucket(location, shows_all=shows_all)


def _azure(location: Location, *, shows_all: bool = False) -> ObjectStorage:
    from orphangc.adapters.azure.container import AzureContainer

    return AzureContainer(location, shows_all=shows_all)


def _google(location: Location, *, shows_all: bool = False) -> ObjectStorage:
    from orphangc.adapters.gcs.gcs_bucket import GcsBucket

    return GcsBucket(location, shows_all=shows_all)


_OBJECT_STORES = {
    "s3": _ObjectStore(_s3, "", ("AWS_CONFIG_FILE", "AWS_ENDPOINT_URL", "AWS_PROFILE")),
    "abfs": _ObjectStore(
        _azure, "azure", ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_CONNECTION_STRING")
    ),
    "gs": _ObjectStore(_google, "gcs", ("STORAGE_EMULATOR_HOST",)),
}
BUCKETS = frozenset(_OBJECT_STORES)
"""Schemes of object stores that have a client of ours, and settings of a bucket."""
NAMING = ("FSSPEC_", "HADOOP_", *(v for each in _OBJECT_STORES.values() for v in each.variables))
"""Beginnings of environment variables that make a URI mean another storage."""


def open_storage(
    where: str | Location, *, state: Location | None = None, shows_all: bool = False
) -> Storage:
    """Return the storage whose root is ``where``; credentials come from the environment only.

    Args:
        state: State location; on the same file system, a new file in it shows the clock.
        shows_all: Whether a page of all keys may stand for the lists of single folders; see
            ``Storage.all_folders``. Where ``shared/`` is not to be listed, it may not.

    Raises:
        SettingsError: The scheme is unknown, or its package is not installed.
        StorageUnreachableError: The root is absent or refuses access, if opening shows it.
    """
    location = _location(where)
    with _needing_package(location):
        match location.scheme:
            case "file":
                from orphangc.adapters.files.local_storage import LocalStorage

                is_near = state is not None and state.scheme == "file"
                clock_in = Path(state.path) if is_near and state else None
                return LocalStorage(location, clock_in=clock_in)
            case scheme if scheme in BUCKETS:
                opened = _OBJECT_STORES[scheme].storage(location, shows_all=shows_all)
                _check_store(opened, _OBJECT_STORES[scheme])
                return opened
            case _:
                from orphangc.adapters.files.fsspec_storage import FsspecStorage
                from orphangc.adapters.files.state_files import FsspecStateFiles

                is_near = state is not None and state.top == location.top
                clock = FsspecStateFiles(state).time_of_new_file if state and is_near else None
                return FsspecStorage(location, clock=clock)


def open_state_files(where: str | Location, *, is_probed: bool = True) -> StateFiles:
    """Return the state location ``where``, which may not exist yet.

    Args:
        is_probed: Whether a throwaway file shows that it can lock, before the first ``create``; no
            run may write one beside checkpoints.

    Raises:
        SettingsError: The scheme is unknown, or its package is not installed.
    """
    location = _location(where)
    with _needing_package(location):
        match location.scheme:
            case "file":
                from orphangc.adapters.files.state_files import LocalStateFiles

                return LocalStateFiles(location)
            case scheme if scheme in BUCKETS:
                from orphangc.adapters.object_store.object_state_files import ObjectStateFiles

                storage = _OBJECT_STORES[scheme].storage(location)
                return ObjectStateFiles(storage, is_probed=is_probed)
            case _:
                from orphangc.adapters.files.state_files import FsspecStateFiles

                return FsspecStateFiles(location, is_probed=is_probed)


def server_of(location: Location) -> str:
    """Return where this process reaches a bucket in S3, as ``Storage.server``; "" if nowhere."""
    with suppress(SettingsError), _needing_package(location):
        from orphangc.adapters.s3.requests import s3_client

        with suppress(*s3_client.CALL_ERRORS):
            return s3_client.server_of(location)
    return ""


def _check_store(opened: ObjectStorage, store: _ObjectStore) -> None:
    """Raise ``StorageUnreachableError`` if a bucket of the same name in another store may be meant.

    What the environment finds says nothing of the bucket that Flink names if that one is in the
    store of a storage root with options.
    """
    for other in may_be_in_stores_of(opened.location):
        if (server := store.storage(other).server) != opened.server:
            raise StorageUnreachableError(
                f"{opened.location.top} may be at {server}, where storage_options lead for {other},"
                f" or at {opened.server}, as without them: let the environment name the same store,"
                " or give this bucket a storage root, with storage_options or without"
            )


@contextmanager
def _needing_package(location: Location) -> Iterator[None]:
    try:
        yield
    except ImportError as err:
        store = _OBJECT_STORES.get(location.scheme)
        lift = f": pip install 'orphangc[{store.extra}]'" if store and store.extra else ""
        raise SettingsError(
            f"{location.scheme}:// needs the package {err.name}, which is not installed{lift}"
        ) from err


def _location(where: str | Location) -> Location:
    if isinstance(where, Location):
        return where
    try:
        return canonical(where)
    except ValueError as err:
        raise SettingsError(str(err)) from err
