"""Reads single objects on executors, one a task; the results come back through the work folder."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flinkstate.places.locations import Location
from orphangc.adapters.open import open_storage
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.core.model.types import StoredObject
from orphangc.errors import SettingsError
from orphangc.ports import Storage


@lru_cache(maxsize=4)
def opened(base: Location) -> Storage:
    """Return the storage, opened once for each executor process, which runs tasks in turn."""
    return open_storage(base)


def opened_at(base: Location, server: str) -> Storage:
    """Return the storage, or raise ``SettingsError`` if this process has another server for it.

    Executors come and go while a listing is under way, each with an environment of its own.
    """
    storage = opened(base)
    if storage.server != server:
        raise SettingsError(
            f"Spark's executors have another endpoint than the driver ({storage.server} instead of"
            f" {server}), so they would list another storage: set it for them,"
            " such as spark.executorEnv.AWS_ENDPOINT_URL"
        )
    return storage


@dataclass(frozen=True, slots=True)
class ObjectTask:
    """Reads an object in an executor.

    Attributes:
        base: Location of the storage; credentials come from the executor's environment.
    """

    folder: WorkFolder
    read: Callable[[Storage, StoredObject], Any]
    base: Location

    def __call__(self, listed: StoredObject) -> ExchangeFile:
        """Return where it is written what was read."""
        return self.folder.write_packed(self.read(opened(self.base), listed))
