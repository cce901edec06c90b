"""A storage that deletes badly, and everything else that a deletion needs, in memory."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pyarrow as pa

from orphangc.collect.delete.deletion import Deletion
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import RetryQueue
from orphangc.collect.runs.journal import Journal
from orphangc.collect.runs.undisturbed import undisturbed
from orphangc.collect.state.store import RootState
from orphangc.core.model.rate import DeletionRate
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import VERDICT_SCHEMA, DeletionResult, DeletionStatus
from support.builders import BASE, JOB
from unit.collect.state.places import SteppedFiles

STORED_AT = datetime(2026, 10, 1, tzinfo=UTC)
Behaviour = Callable[[int, Sequence[StoredObject]], list[DeletionStatus | str]]


def keys_of(count: int, job: str = JOB) -> list[str]:
    return sorted(f"{job}/shared/{uuid.UUID(int=n * 7919 << 64)}" for n in range(1, count + 1))


def an_object(key: str) -> StoredObject:
    return StoredObject(key=ObjectKey(key), size=7, modified_at=STORED_AT, etag="e")


def due_rows(keys: Iterable[str]) -> pa.RecordBatch:
    """Return verdicts that ask for deletion."""
    rows = [
        {
            "job_id": key.partition("/")[0],
            "key": key,
            "scope": "shared",
            "size": 7,
            "modified_at": STORED_AT,
            "etag": "e",
            "checkpoint_id": None,
            "action": "delete",
            "reason": "quarantine_over",
        }
        for key in keys
    ]
    return pa.RecordBatch.from_pylist(rows, schema=VERDICT_SCHEMA)


def good(_: int, objects: Sequence[StoredObject]) -> list[DeletionStatus | str]:
    """Delete everything, and say so."""
    return [DeletionStatus.DELETED] * len(objects)


@dataclass
class BadStorage:
    """Objects in memory."""

    objects: dict[str, StoredObject]
    # what to do with a request, by its number: a status a key, where "lost" deletes and gives
    # no answer; it may raise
    behaviour: Behaviour = good
    at_once: int = 1
    batch_size: int = 1000
    deleted: list[str] = field(default_factory=list)  # keys that a request of ours has deleted
    requests: list[list[str]] = field(default_factory=list)  # the keys of each
    can_look: bool = True  # whether ``stat`` works
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, keys: Iterable[str], behaviour: Behaviour = good, **more: object) -> BadStorage:
        return cls({key: an_object(key) for key in keys}, behaviour, **more)

    def stat(self, keys: Sequence[str]) -> list[StoredObject | None]:
        if not self.can_look:
            raise StorageUnreachableError("cannot stat: timed out")
        return [self.objects.get(key) for key in keys]

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        with self._lock:
            self.requests.append([wanted.key for wanted in objects])
            there = [self._checked(wanted) for wanted in objects]
            asked = [o for o, status in zip(objects, there, strict=True) if status is None]
            answers = iter(self.behaviour(len(self.requests), asked) if asked else [])
            return [
                self._result(wanted, status or next(answers))
                for wanted, status in zip(objects, there, strict=True)
            ]

    def _checked(self, wanted: StoredObject) -> DeletionStatus | None:
        now = self.objects.get(wanted.key)
        if now is None:
            return DeletionStatus.GONE
        return None if now.is_same_as(wanted) else DeletionStatus.CHANGED

    def _result(self, wanted: StoredObject, status: DeletionStatus | str) -> DeletionResult:
        if status in {DeletionStatus.DELETED, "lost"}:
            self.deleted.append(wanted.key)
            del self.objects[wanted.key]
        recorded = DeletionStatus.UNKNOWN if status == "lost" else DeletionStatus(status)
        is_bad = recorded in {DeletionStatus.FAILED, DeletionStatus.REFUSED, DeletionStatus.UNKNOWN}
        return DeletionResult(
            key=wanted.key, status=recorded, error=f"{recorded}!" if is_bad else None
        )


@dataclass
class Looks:
    """What the roots name; in place of a ``Revalidation``."""

    state: RootState
    named: set[str] = field(default_factory=set)
    # called before each look; may raise, or name something
    before: Callable[[int], None] = lambda _: None
    looks: int = 0

    def find(self, key: str, *, from_look: int) -> None:
        """Let a checkpoint that completes before some look name a key."""

        def named(look: int) -> None:
            if look >= from_look:
                self.named = {key}

        self.before = named

    def fail(self, error: Exception, *, from_look: int) -> None:
        def failing(look: int) -> None:
            if look >= from_look:
                raise error

        self.before = failing

    def check(self) -> Looks:
        halted = self.state.halted()
        if halted is not None:
            raise OrphanGcError(halted)
        return self.check_after()

    def check_after(self) -> Looks:
        self.looks += 1
        self.before(self.looks)
        return self

    def names(self, rows: pa.RecordBatch) -> np.ndarray:
        return np.array([key in self.named for key in rows["key"].to_pylist()], np.bool_)


@dataclass
class Scene:
    """A deletion, and what it tells."""

    storage: BadStorage
    rate: float = 1e9
    files: SteppedFiles = field(default_factory=SteppedFiles)
    recorded: list[dict] = field(default_factory=list)
    looks: Looks = field(init=False)
    limiter: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        self.state = RootState(self.files, BASE)
        self.looks = Looks(self.state)
        self.limiter = RateLimiter(DeletionRate.of(self.rate, self.storage.batch_size))

    @classmethod
    def of(cls, keys: Iterable[str], behaviour: Behaviour = good, **more: object) -> Scene:
        return cls(BadStorage.of(keys, behaviour, **more))

    def fill_the_disk(self, part: str) -> None:
        """Let no file be written whose name has a part."""

        def full(verb: str, name: str) -> None:
            if verb == "write" and part in name:
                raise StorageUnreachableError("disk full")

        self.files.before = full

    def delete(self, keys: Sequence[str], *, a_batch: int = 300) -> OrphanGcError | None:
        """Delete; return why it ended early."""
        parts = [keys[start : start + a_batch] for start in range(0, len(keys), a_batch)]
        deletion = Deletion(
            storage=self.storage,
            revalidation=self.looks,
            journal=Journal(self.state, "run"),
            limiter=self.limiter,
            at=STORED_AT,
            due=RetryQueue(map(due_rows, parts)),
            record=self._record,
            progress=lambda *_: None,
            total=len(keys),
        )
        return deletion.carry_out()

    def delete_in_a_run(self, keys: Sequence[str], *, a_batch: int) -> OrphanGcError | None:
        work = partial(self.delete, keys, a_batch=a_batch)
        return undisturbed(work, self.limiter.stopped.set, "run")

    def _record(self, rows: pa.RecordBatch) -> None:
        self.recorded += rows.to_pylist()

    @property
    def done(self) -> set[str]:
        """Return the keys whose outcome says that they are gone by us."""
        return {key for key, outcome in self.outcomes.items() if outcome == "done"}

    @property
    def outcomes(self) -> dict[str, str]:
        keys = [row["key"] for row in self.recorded]
        assert len(keys) == len(set(keys))
        return {row["key"]: row["outcome"] for row in self.recorded}

    def journal(self, end: str = "") -> list[str]:
        return [name for name in self.state.journal_names("run") if name.endswith(end)]
