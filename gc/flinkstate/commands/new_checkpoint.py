"""A new folder of a checkpoint: all of its files, or none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from flinkstate.errors import FlinkStateError, SettingsError, StorageUnreachableError
from flinkstate.files.host import Host
from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location


class NewCheckpoint:
    """Writes files into an empty folder; they go again unless ``finish`` succeeds.

    Only files that this object wrote are removed, and none of them while ``_metadata`` may refer
    to them.
    """

    def __init__(self, place: Location, host: Host) -> None:
        """Open the folder.

        Raises:
            SettingsError: It is a file, or not empty.
            FlinkStateError: It cannot be listed.
        """
        if place.scheme == "file" and Path(place.path).is_file():
            raise SettingsError(f"{place} is a file: give a new folder")
        self._place = place
        self._files = host.writer(place)
        try:
            is_new = not self._files.names("")
        except StorageUnreachableError as err:
            raise self._unwritten(err) from err
        if not is_new:
            raise SettingsError(f"{place} is not empty: give a new folder")
        self._written: list[str] = []
        self._metadata: bytes | None = None

    def write(self, name: str, data: bytes) -> None:
        """Write a new file under a name that no other process uses.

        Raises:
            FlinkStateError: It cannot be written.
        """
        self._written.append(name)  # first: a write whose answer is lost may have happened
        try:
            self._files.create(name, data)
        except FlinkStateError as err:
            raise self._unwritten(err) from err

    def finish(self, metadata: bytes) -> None:
        """Write ``_metadata``, which makes the folder a checkpoint.

        Raises:
            SettingsError: Another process has written one meanwhile.
            FlinkStateError: It cannot be written, or whether it was written cannot be known.
        """
        self._metadata = metadata
        try:
            is_ours = self._files.create(METADATA_NAME, metadata)
        except FlinkStateError as err:
            if self._files.read(METADATA_NAME) != metadata:
                raise self._unwritten(err) from err
            is_ours = True  # only the answer was lost
        if not is_ours:
            raise SettingsError(
                f"{self._place} was filled by another process meanwhile: give a new folder"
            )

    def _unwritten(self, err: FlinkStateError) -> FlinkStateError:
        """Return the error: the store of the original was reached, so it is none of that."""
        return FlinkStateError(f"the pruned checkpoint {self._place} cannot be written: {err}")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what was written, if there is an error and ``_metadata`` does not refer to it."""
        if kind is None or self._may_be_complete():
            return
        for name in self._written:
            with suppress(FlinkStateError):  # the first error is the one to report
                self._files.remove(name)

    def _may_be_complete(self) -> bool:
        if self._metadata is None:
            return False
        try:
            return self._files.read(METADATA_NAME) == self._metadata
        except FlinkStateError:
            return True
