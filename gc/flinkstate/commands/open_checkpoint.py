"""Open single checkpoints and savepoints in any place, for the commands about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TypeVar

from flinkstate.compatibility.declarations import Declarations
from flinkstate.errors import (
    AbsentStorageError,
    FlinkStateError,
    SettingsError,
    StorageUnreachableError,
    UnreadableMetadataError,
)
from flinkstate.files.host import FolderReader, Host
from flinkstate.files.paths import located
from flinkstate.files.read_contents import contents_of
from flinkstate.metadata.reader import read_metadata
from flinkstate.places.checkpoint_names import METADATA_NAME, checkpoint_id_of, job_id_of
from flinkstate.places.locations import Alias, Location, canonical
from flinkstate.state.contents import CheckpointContents, OperatorContents
from flinkstate.state.extents import Extent, Inline, place_of
from flinkstate.values.handles import StreamHandle
from flinkstate.values.metadata_values import Metadata, Operator

_Operator = TypeVar("_Operator", Operator, OperatorContents)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedCheckpoint:
    """One opened checkpoint or savepoint."""

    folder: Location
    metadata: Metadata
    contents: CheckpointContents
    stored_at: datetime | None = None
    files: CheckpointFiles

    @property
    def job_id(self) -> str | None:
        """Return the job of its directory; ``None`` for a savepoint, whose path names none."""
        return job_id_of(self.folder.path)


def read_checkpoint(
    uri: str, host: Host, *, aliases: Sequence[Alias] = (), reads_state: bool = True
) -> OpenedCheckpoint:
    """Return a checkpoint.

    Args:
        uri: Its folder, or its ``_metadata`` file under any name.

    Raises:
        SettingsError: ``uri`` names no place.
        StorageUnreachableError: The store cannot be reached, or refuses access.
        UnreadableMetadataError: The bytes are not exactly one metadata file.
        FlinkStateError: There is no checkpoint.
    """
    folder, stored_at, data = _read_reported(located(uri), host)
    metadata = read_metadata(data)
    files = CheckpointFiles(folder, host, aliases)
    contents = contents_of(
        metadata, directory=str(folder), read=files.part if reads_state else None
    )
    return OpenedCheckpoint(
        folder=folder, metadata=metadata, contents=contents, stored_at=stored_at, files=files
    )


def read_named(
    uri: str,
    host: Host,
    aliases: Sequence[Alias] = (),
    *,
    reads_state: bool = True,
    outcome: str = "nothing is written",
) -> OpenedCheckpoint:
    """Return a checkpoint; an error names the checkpoint that cannot be read.

    Raises:
        FlinkStateError: The checkpoint cannot be read.
    """
    try:
        return read_checkpoint(uri, host, aliases=aliases, reads_state=reads_state)
    except UnreadableMetadataError as err:
        raise FlinkStateError(f"{uri}: {err}; {outcome}") from err


def named_by(checkpoint: OpenedCheckpoint, declarations: Declarations) -> OpenedCheckpoint:
    """Return a checkpoint with the declared uids and names of operators that it does not name.

    Before Flink 2.0 a checkpoint holds only the hash of a uid.
    """
    declared = {id_: each for each in declarations.operators for id_ in (*each.ids, each.id)}

    def named(operator: _Operator) -> _Operator:
        known = declared.get(operator.id)
        if known is None:
            return operator
        return replace(operator, uid=operator.uid or known.uid, name=operator.name or known.name)

    metadata, contents = checkpoint.metadata, checkpoint.contents
    return replace(
        checkpoint,
        metadata=replace(metadata, operators=tuple(map(named, metadata.operators))),
        contents=replace(contents, operators=tuple(map(named, contents.operators))),
    )


class CheckpointFiles:
    """Reads parts of state files by the paths that ``_metadata`` gives; each folder opens once.

    It reads only in the checkpoint's own bucket, or on this machine. A path is untrusted and must
    not make a command connect to other stores, or wait for them.
    """

    def __init__(self, home: Location, host: Host, aliases: Sequence[Alias] = ()) -> None:
        self._home = home
        self._host = host
        self._aliases = aliases
        self._lock = Lock()
        self._folders: dict[Location, FolderReader | FlinkStateError] = {}

    def part(self, path: str, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, fewer at the end; ``None`` if there is no file.

        Raises:
            FlinkStateError: The path is invalid, or cannot be read.
        """
        place = self._place(path)
        return self._folder(place.parent).part(place.name, start=start, size=size)

    def place_of(self, handle: StreamHandle) -> Extent | Inline:
        """Return where a stream is: bytes of a file, or of ``_metadata`` itself."""
        return place_of(handle, str(self._home))

    def within(self, place: Extent | Inline, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes of a stream from ``start`` on; see ``part``."""
        if isinstance(place, Inline):
            return place.data[start : start + size]
        return self.part(place.path, start=(place.start or 0) + start, size=size)

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """Return the size of each file of one folder in bytes, ``None`` for an absent one.

        Raises:
            FlinkStateError: A path is invalid, or the folder cannot be read.
        """
        places = [self._place(path) for path in paths]
        folder = places[0].parent
        if folder.scheme == "file" and not Path(folder.path).exists():
            return [None] * len(paths)
        found = self._folder(folder).stat([each.name for each in places])
        return [None if each is None else each.size for each in found]

    def _place(self, path: str) -> Location:
        try:
            place = canonical(path, self._aliases)
        except ValueError as err:
            raise SettingsError(str(err)) from err
        if (place.scheme, place.authority) != (self._home.scheme, self._home.authority):
            raise SettingsError("not in the checkpoint's own storage; --alias can say where")
        return place

    def _folder(self, folder: Location) -> FolderReader:
        with self._lock:
            if folder not in self._folders:
                self._folders[folder] = _opened(folder, self._host)
            found = self._folders[folder]
        if isinstance(found, FlinkStateError):
            raise found
        return found


def _opened(folder: Location, host: Host) -> FolderReader | FlinkStateError:
    try:
        return host.reader(folder)
    except FlinkStateError as err:
        return err


def _read_reported(place: Location, host: Host) -> tuple[Location, datetime | None, bytes]:
    """Return what ``_read`` does; an error of the store names the checkpoint."""
    try:
        return _read(place, host)
    except AbsentStorageError as err:
        raise FlinkStateError(
            f"checkpoint {place} cannot be read: it does not exist, or its server does not answer"
        ) from err
    except StorageUnreachableError as err:
        raise StorageUnreachableError(f"checkpoint {place} cannot be read: {err}") from err


def _read(place: Location, host: Host) -> tuple[Location, datetime | None, bytes]:
    if place.scheme == "file" and not Path(place.path).exists():
        raise FlinkStateError(f"there is no checkpoint: {place} does not exist")
    found = _file(host.reader(place.parent), place.name, host.max_bytes)
    if found is not None:
        return place.parent, *found
    folder = host.reader(place)
    found = _file(folder, METADATA_NAME, host.max_bytes)
    if found is None:
        raise FlinkStateError(f"there is no {METADATA_NAME} in {place}{_hint(folder, place)}")
    return place, *found


def _file(folder: FolderReader, name: str, max_bytes: int) -> tuple[datetime | None, bytes] | None:
    stored = folder.stat([name])[0] if name else None
    if stored is None:
        return None
    data = folder.read(name, max_bytes=max_bytes)
    return None if data is None else (stored.modified_at, data)


def _hint(folder: FolderReader, place: Location) -> str:
    """Return which folder to give instead of a job's directory; "" if it is none."""
    ids = {name: checkpoint_id_of(name) for name in folder.folder().folders}
    names = sorted((n for n in ids if ids[n] is not None), key=lambda n: ids[n] or 0, reverse=True)
    stored = folder.stat([f"{name}/{METADATA_NAME}" for name in names])
    newest = next((name for name, each in zip(names, stored, strict=True) if each), None)
    if newest is None:
        return ""
    return f", which is a job's directory: give one of its checkpoints, such as {place}/{newest}"
