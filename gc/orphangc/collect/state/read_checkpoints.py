"""What each ``_metadata`` of a storage names, kept in the state location: it is read once.

Packs of records, each named by the digest of its bytes. A pack that is damaged, or of another
version or other aliases, counts as absent: its checkpoints are read again. Nothing rests on a
record but the work of reading: an object with another size, ETag or time is another one.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

import numpy as np

from flinkstate.places.locations import Alias, Location, canonical, is_within
from orphangc.core.columns.file_names import FileNames, NameColumns
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, NoCheckpoint, UnreadableCheckpoint
from orphangc.core.model.types import DirectoryLayout, JobId, StoredObject
from orphangc.ports import StateFiles

FOLDER = "read-checkpoints"
"""Folder of the packs in the state location, for all of its storage roots."""
_FILE_SETTLES = timedelta(minutes=1)
"""Age of a file that no later write can look like: far above the step of any file system's clock,
and above the distance of a file server's clock from this machine's."""
_MOST_PACKS = 8
_LENGTH = struct.Struct("<I")
_PLAIN = (
    *("job_id", "checkpoint_id", "format_version", "is_savepoint", "sha256", "unproven_layout"),
    *("is_of_a_stop", "is_unclaimed", "has_write_ahead_sink"),
)

_Identity = tuple[str, int, str, str]
Contents = Checkpoint | UnreadableCheckpoint | NoCheckpoint


def is_settled(place: Location, listed: StoredObject, read_at: datetime) -> bool:
    """Return whether any later write to the object would give it another identity."""
    if not listed.etag or listed.modified_at is None:
        return False
    return place.scheme != "file" or listed.modified_at < read_at - _FILE_SETTLES


@dataclass(slots=True)
class ReadCheckpoints:
    """Checkpoints that earlier cycles read, by URI, size, ETag and time.

    Attributes:
        version: Version of orphangc; what another one read is read again.
    """

    files: StateFiles
    version: str
    aliases: Sequence[Alias]
    clock: Callable[[], datetime]
    _packs: dict[str, dict[_Identity, bytes]] | None = None
    _asked: set[_Identity] = field(default_factory=set)
    _new: dict[_Identity, bytes] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def contents(
        self, uri: str, listed: StoredObject, read: Callable[[], Contents | None]
    ) -> Contents | None:
        """Return what an object is: what a cycle read of an unchanged one, else what it is now."""
        identity = _identity(uri, listed)
        if identity is None:
            return read()
        with self._lock:
            packs = self._loaded()
            self._asked.add(identity)
        record = next((pack[identity] for pack in packs.values() if identity in pack), None)
        if record is not None:
            return _decoded(uri, listed, record)
        read_at = self.clock()
        found = read()
        if is_settled(canonical(uri), listed, read_at) and (record := _encoded(found)) is not None:
            with self._lock:
                self._new[identity] = record
        return found

    def save(self, listed: Iterable[str]) -> None:
        """Write what is new, at times all in one pack, or raise ``StorageUnreachableError``."""
        places, packs = tuple(listed), self._loaded()
        known = {identity: each for pack in packs.values() for identity, each in pack.items()}
        kept = {
            identity: each
            for identity, each in known.items()
            if identity in self._asked or not is_within(identity[0], places)
        }
        if len(packs) >= _MOST_PACKS or len(kept) * 2 < len(known):
            self._write(kept | self._new)
            for name in packs:
                self.files.remove(f"{FOLDER}/{name}")
        elif self._new:
            self._write(self._new)

    def _write(self, records: dict[_Identity, bytes]) -> None:
        if not records:
            return
        data = self._head + b"".join(_framed(*each) for each in sorted(records.items()))
        self.files.write(f"{FOLDER}/{hashlib.sha256(data).hexdigest()}", data)

    @property
    def _head(self) -> bytes:
        aliases = hashlib.sha256(repr(tuple(self.aliases)).encode()).hexdigest()
        return f"orphangc read checkpoints 2 {self.version} {aliases}\n".encode()

    def _loaded(self) -> dict[str, dict[_Identity, bytes]]:
        if self._packs is None:
            self._packs = {name: self._read(name) for name in self.files.names(FOLDER)}
        return self._packs

    def _read(self, name: str) -> dict[_Identity, bytes]:
        data = self.files.read(f"{FOLDER}/{name}") or b""
        if hashlib.sha256(data).hexdigest() != name or not data.startswith(self._head):
            return {}
        return dict(_records(data[len(self._head) :]))


def _identity(uri: str, listed: StoredObject) -> _Identity | None:
    if not listed.etag or listed.modified_at is None:
        return None
    return uri, listed.size, listed.etag, listed.modified_at.isoformat()


def _framed(identity: _Identity, record: bytes) -> bytes:
    head = json.dumps(identity).encode()
    return _LENGTH.pack(len(head)) + head + _LENGTH.pack(len(record)) + record


def _records(data: bytes) -> Iterator[tuple[_Identity, bytes]]:
    at = 0
    while at < len(data):
        parts = []
        for _ in range(2):
            (size,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            parts.append(data[at : at + size])
            at += size
        uri, size, etag, modified_at = json.loads(parts[0])
        yield (uri, size, etag, modified_at), parts[1]


def _encoded(contents: object) -> bytes | None:
    """Return a record, ``None`` of what is always read: a refusal rests on a reading of its own."""
    if isinstance(contents, NoCheckpoint):
        return json.dumps({}).encode() + b"\n"
    if not isinstance(contents, Checkpoint):
        return None
    places = [contents.folder, *contents.files, *filter(None, (contents.directory,))]
    if any(canonical(str(each)) != each for each in places):
        return None
    names = [*contents.files.values(), contents.unregistered]
    raw = contents.raw.columns()
    head = {
        **{each: getattr(contents, each) for each in _PLAIN},
        "folder": str(contents.folder),
        "directory": None if contents.directory is None else str(contents.directory),
        "layouts": sorted(contents.layouts),
        "deleted_on": contents.deleted_on,
        "operators": sorted(contents.operators),
        "stateful": sorted(contents.stateful),
        "files": list(map(str, contents.files)),
        "names": [[len(e.hi), e.checkpoint_ids is not None, sorted(e.others)] for e in names],
        "raw": len(raw[0]),
    }
    columns = [part for each in names for part in (each.hi, each.lo, each.checkpoint_ids)]
    data = b"".join(part.tobytes() for part in (*columns, *raw) if part is not None)
    return json.dumps(head).encode() + b"\n" + data


def _decoded(uri: str, listed: StoredObject, record: bytes) -> Checkpoint | NoCheckpoint:
    line, _, data = record.partition(b"\n")
    head: dict[str, Any] = json.loads(line)
    if not head:
        return NoCheckpoint(uri)
    columns = _Columns(data)
    names = [columns.names(*each) for each in head["names"]]
    raw = UuidSet()
    raw.extend(*columns.uuids(head["raw"]))
    return Checkpoint(
        **{each: head[each] for each in _PLAIN if each != "job_id"},
        job_id=JobId(head["job_id"]),
        folder=canonical(head["folder"]),
        directory=None if head["directory"] is None else canonical(head["directory"]),
        modified_at=listed.modified_at,
        files=dict(zip(map(canonical, head["files"]), names[:-1], strict=True)),
        unregistered=names[-1],
        raw=raw,
        layouts=frozenset(map(DirectoryLayout, head["layouts"])),
        deleted_on=None if head["deleted_on"] is None else tuple(head["deleted_on"]),
        operators=frozenset(head["operators"]),
        stateful=frozenset(head["stateful"]),
    )


@dataclass(slots=True)
class _Columns:
    """Columns of 8-byte numbers, one after the other."""

    data: bytes
    at: int = 0

    def _numbers(self, count: int, kind: type[np.generic]) -> Any:
        found = np.frombuffer(self.data, kind, count, self.at).copy()
        self.at += found.nbytes
        return found

    def uuids(self, count: int) -> tuple[Any, Any]:
        return self._numbers(count, np.uint64), self._numbers(count, np.uint64)

    def names(self, count: int, has_ids: bool, others: Sequence[str]) -> FileNames:  # noqa: FBT001
        columns = NameColumns()
        hi, lo = self.uuids(count)
        columns.hi.append(hi)
        columns.lo.append(lo)
        columns.ids.append(self._numbers(count, np.int64) if has_ids else None)
        columns.others.update(others)
        return FileNames.from_columns(columns)
