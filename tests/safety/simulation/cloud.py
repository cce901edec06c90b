"""One object store in memory, and a port to it whose every call may go wrong."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc import ports
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA, DeletionResult, DeletionStatus, Folder, StoreTime
from safety.simulation.faults import Fault, Process
from support.builders import T0

COLLECTED = re.compile(
    r"ck/[0-9a-f]{32}/(?:shared/(?:\d+_)?|chk-\d+/|dstl/)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""What a collector may ever touch."""

_PAGE = 3
"""Names of a page: every listing has several, and something may happen between them."""


@dataclass(frozen=True)
class Blob:
    """One stored object."""

    data: bytes
    at: datetime
    etag: str


@dataclass
class Cloud:
    """A bucket."""

    slack: timedelta  # store times are right within this, for a store is many machines
    is_coarse: bool = False  # store times are whole seconds, as S3's are
    is_versioned: bool = False  # deletions leave markers
    now: datetime = T0  # the time
    blobs: dict[str, Blob] = field(default_factory=dict)  # by key
    before: dict[str, Blob] = field(default_factory=dict)  # the same, some moments ago
    markers: dict[str, tuple[str, Blob]] = field(default_factory=dict)  # what delete markers hide
    collected: dict[str, Blob] = field(default_factory=dict)  # keys that a collector deleted
    writes: int = 0  # how many there were

    def time(self) -> datetime:
        wrong = ((self.writes * 7) % 5 - 2) / 4 * self.slack
        return (self.now + wrong).replace(microsecond=0) if self.is_coarse else self.now + wrong

    def passes(self, span: timedelta) -> None:
        self.now += span

    def put(self, key: str, data: bytes = b"state") -> None:
        self.writes += 1
        self.passes(timedelta(milliseconds=10))
        self.blobs[key] = Blob(data, self.time(), f"e{self.writes}")

    def drop(self, key: str) -> None:
        """Delete an object as Flink does: it does not mind whether it is there."""
        self.blobs.pop(key, None)

    def remember(self) -> None:
        """Take the present down, for stale answers later."""
        self.before = dict(self.blobs)


def facts(key: str, blob: Blob) -> StoredObject:
    return StoredObject(
        key=ObjectKey(key), size=len(blob.data), modified_at=blob.at, etag=blob.etag
    )


@dataclass
class Storage(ports.Storage):
    """A port to everything below one place of the bucket."""

    location: Location  # the place
    cloud: Cloud  # the bucket
    process: Process  # whose port it is
    on_delete: Callable[[str], None]  # told of every key before it goes
    is_ordered: bool = True  # lists in the order of keys, by key range
    batch_size: int = 2
    at_once: int = 1
    is_tested: bool = True
    list_requests: int = 0
    is_cut: bool = False
    notices_truncation: ClassVar[bool] = True

    @property
    def is_versioned(self) -> bool:
        return self.cloud.is_versioned

    @property
    def _prefix(self) -> str:
        return f"{self.location.path[1:]}/" if self.location.path != "/" else ""

    def now(self) -> StoreTime:
        def told() -> StoreTime:
            return StoreTime(
                now=self.cloud.time(), local=self.cloud.now - self.process.skew, source="machine"
            )

        return self.process.call("now", told)

    # --- listing

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        return self._pages(f"{self._prefix}{prefix}/" if prefix else self._prefix, EVERYTHING)

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        return self._pages(self._prefix, within)

    def _pages(self, start: str, within: KeyRange) -> Iterator[pa.RecordBatch]:
        after = within.after
        last: list[StoredObject] = []
        is_lost = False
        while True:

            def page(after: str | None = after, *, old: bool = False) -> list[StoredObject]:
                blobs = self.cloud.before if old else self.cloud.blobs
                found = (
                    facts(key[len(self._prefix) :], blob)
                    for key, blob in sorted(blobs.items())
                    if key.startswith(start)
                )
                return [e for e in found if (after is None or e.key > after) and e.key in within][
                    :_PAGE
                ]

            variants = {
                Fault.TWICE: lambda last=last: last or page(),
                Fault.REORDERED: lambda: page()[::-1],
                Fault.STALE: lambda: page(old=True),
            }
            self.list_requests += 1
            found = self.process.call("page", page, variants)
            if not found:
                return
            if self.is_cut and last and not is_lost:
                self._notice("objects")
                is_lost = True
            else:
                yield _batch(found)
            last, after = found, max(each.key for each in found)

    def folder(self, prefix: str = "") -> Folder:
        start = f"{self._prefix}{prefix}/" if prefix else self._prefix
        names: list[str] = []
        while True:

            def page(*, old: bool = False) -> list[str]:
                blobs = self.cloud.before if old else self.cloud.blobs
                rest = (key[len(start) :] for key in blobs if key.startswith(start))
                level = {r.partition("/")[0] + ("/" if "/" in r else "") for r in rest}
                return sorted(each for each in level if not names or each > names[-1])[:_PAGE]  # noqa: B023 - called at once

            def broken() -> list[str]:
                return [*page()[:-1], ""]

            self.list_requests += 1
            found = self.process.call("folder", page, {Fault.PARTLY: broken})
            is_truncated = "" in found or (self.is_cut and len(found) == _PAGE)
            names += filter(None, found)
            if is_truncated:
                self._notice(start)
            if len(found) < _PAGE or is_truncated:
                return self._folder(start, names)

    def _notice(self, what: str) -> None:
        if self.notices_truncation:
            raise StorageUnreachableError(f"a page of {what} is missing")

    def _folder(self, start: str, names: Sequence[str]) -> Folder:
        keys = [start + name for name in names if not name.endswith("/")]
        return Folder(
            tuple(name[:-1] for name in names if name.endswith("/")),
            tuple(
                facts(key[len(self._prefix) :], self.cloud.blobs[key])
                for key in keys
                if key in self.cloud.blobs
            ),
        )

    # --- reading

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        del max_bytes

        def data() -> bytes | None:
            blob = self.cloud.blobs.get(self._prefix + key)
            return None if blob is None else blob.data

        def half() -> bytes | None:
            whole = data()
            return None if whole is None else whole[: len(whole) // 2]

        return self.process.call("read", data, {Fault.PARTLY: half})

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        whole = self.read(key, max_bytes=start + size)
        return None if whole is None else whole[start : start + size]

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        def told(*, old: bool = False) -> list[StoredObject | None]:
            blobs = self.cloud.before if old else self.cloud.blobs
            found = [blobs.get(self._prefix + key) for key in keys]
            return [
                None if blob is None else facts(key, blob)
                for key, blob in zip(keys, found, strict=True)
            ]

        return self.process.call("stat", told, {Fault.STALE: lambda: told(old=True)})

    # --- deleting

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        self.process.must_hold_lock()
        status = DeletionStatus

        def unanswered() -> list[DeletionResult]:
            for each in objects:
                self._delete(each)
            return [_told(each, status.UNKNOWN, "no answer") for each in objects]

        def partly() -> list[DeletionResult]:
            bad = (status.FAILED, status.REFUSED, status.UNKNOWN)[self.process.asked % 3]
            return [
                self._delete(each) if at % 2 else _told(each, bad, "InternalError")
                for at, each in enumerate(objects)
            ]

        def dies_midway() -> list[DeletionResult]:
            self._delete(objects[0])
            self.process.is_dead = True
            return self.process.call("delete", list)

        return self.process.call(
            "delete",
            lambda: [self._delete(each) for each in objects],
            {
                Fault.LOST_ANSWER: unanswered,
                Fault.PARTLY: partly,
                Fault.DIES_AFTER: dies_midway,
                Fault.UNAVAILABLE: lambda: [_told(o, status.REFUSED, "SlowDown") for o in objects],
            },
        )

    def _delete(self, wanted: StoredObject) -> DeletionResult:
        key = self._prefix + wanted.key
        blob = self.cloud.blobs.get(key)
        if blob is None:
            return _told(wanted, DeletionStatus.GONE)
        if not facts(wanted.key, blob).is_same_as(wanted):
            return _told(wanted, DeletionStatus.CHANGED)
        self.on_delete(key)
        self.cloud.collected[key] = self.cloud.blobs.pop(key)
        version = None
        if self.is_versioned:
            version = f"v{len(self.cloud.markers)}"
            self.cloud.markers[version] = (key, blob)
        return DeletionResult(key=wanted.key, status=DeletionStatus.DELETED, version_id=version)

    def undelete(
        self, markers: Sequence[tuple[ObjectKey, str]], *, is_dry: bool = False
    ) -> list[DeletionResult]:
        del is_dry

        def back(key: ObjectKey, identity: str) -> DeletionResult:
            name, markers = self._prefix + key, self.cloud.markers
            hiding = [
                version
                for version, (hidden, blob) in markers.items()
                if hidden == name and identity in {version, facts(key, blob).etag}
            ]
            if hiding and name not in self.cloud.blobs:
                markers.pop(hiding[-1])
                self.cloud.blobs[name] = self.cloud.collected.pop(name)
            return DeletionResult(key=key, status=DeletionStatus.DELETED)

        return self.process.call("undelete", lambda: [back(*each) for each in markers])


def _told(wanted: StoredObject, status: DeletionStatus, error: str | None = None) -> DeletionResult:
    return DeletionResult(key=wanted.key, status=status, error=error)


def _batch(found: Sequence[StoredObject]) -> pa.RecordBatch:
    columns = {
        "key": [each.key for each in found],
        "size": [each.size for each in found],
        "modified_at": [each.modified_at for each in found],
        "etag": [each.etag for each in found],
    }
    return pa.RecordBatch.from_pydict(columns, LISTING_SCHEMA)
