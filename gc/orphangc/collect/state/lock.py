"""The lock of one storage root, in its state location: one run at a time.

Each holder makes the next numbered file, which only one caller can create; the highest number
holds. A run that finds another on top has lost the lock, however long it slept. Numbers only rise:
the highest file stays when its lock is released, so a run that was paused between the check and
creating finds its number taken, or another on top. Two collectors would not hurt each other's
safety (orphanhood is stable, deletion idempotent); they would spoil each other's quarantine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Self

import structlog

from orphangc.errors import LockHeldError, OrphanGcError, StorageUnreachableError

if TYPE_CHECKING:  # ports load Arrow, which a process that only compares locks need not do
    from orphangc.ports import StateFiles

log = structlog.get_logger()

TIME_TO_LIVE = timedelta(minutes=30)
"""A lock not renewed for so long is that of a dead run; a living one renews it every minute."""

_RENEWS_EVERY = timedelta(minutes=1)
_GIVES_UP_AFTER = TIME_TO_LIVE / 2
"""A run that could not renew for so long stops, long before others may take it for dead."""

_ATTEMPTS = 5
_RELEASED = b'{"released": true}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Holder of the lock, or a run that wants it; ``token`` is new in every run."""

    token: str
    host: str
    pid: int
    started: str

    def encoded(self) -> bytes:
        """Return the content of the lock file."""
        fields = {"token": self.token, "host": self.host, "pid": self.pid, "started": self.started}
        return json.dumps(fields).encode()


def _decoded(data: bytes) -> Holder | None:
    try:
        fields = json.loads(data)
        return Holder(
            token=fields["token"],
            host=fields["host"],
            pid=int(fields["pid"]),
            started=fields["started"],
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that was acquired."""

    files: StateFiles
    folder: str
    name: str
    holder: Holder

    def check(self) -> None:
        """Raise ``LockHeldError`` unless the run still holds the lock."""
        names = _names(self.files, self.folder)
        own = self.files.read(f"{self.folder}/{self.name}")
        if max(names, default=None) != self.name or own != self.holder.encoded():
            raise LockHeldError(f"the lock in {self.files.location} was taken over by another run")

    def renew(self) -> None:
        """Show that the run is alive, or raise ``LockHeldError`` if it has lost the lock."""
        self.check()
        self.files.write(f"{self.folder}/{self.name}", self.holder.encoded())

    def release(self) -> None:
        """Give the lock back, if it is still ours."""
        if self.files.read(f"{self.folder}/{self.name}") == self.holder.encoded():
            self.files.write(f"{self.folder}/{self.name}", _RELEASED)


class Renewal:
    """Renews a lock in the background for as long as a block lasts, whatever the block does."""

    def __init__(self, lock: Lock, *, every: timedelta = _RENEWS_EVERY) -> None:
        self._lock = lock
        self._every = every
        self._over = threading.Event()
        self._lost: OrphanGcError | None = None
        self._thread = threading.Thread(target=self._renew, name="lock", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Renew no more, so that the lock can be given back."""
        self._over.set()
        self._thread.join()

    def check(self) -> None:
        """Make sure that no loss of the lock is known, without a request.

        Raises:
            LockHeldError: Another run has taken the lock over.
            StorageUnreachableError: It could not be renewed for too long.
        """
        if self._lost is not None:
            raise self._lost

    def _renew(self) -> None:
        renewed = monotonic()
        while not self._over.wait(self._every.total_seconds()):
            try:
                self._lock.renew()
                renewed = monotonic()
            except StorageUnreachableError as err:
                log.warning("lock.not_renewed", reason=str(err))
                if monotonic() - renewed > _GIVES_UP_AFTER.total_seconds():
                    self._lost = err
                    return
            except OrphanGcError as err:
                self._lost = err
                return


def _names(files: StateFiles, folder: str) -> list[str]:
    return [name for name in files.names(folder) if name.endswith(".json")]


def holder_of(files: StateFiles, folder: str) -> Holder | None:
    """Return the holder of a lock, dead or alive; ``None`` if there is none, or it is unknown."""
    top = max(_names(files, folder), default=None)
    data = None if top is None else files.read(f"{folder}/{top}")
    return None if data is None or data == _RELEASED else _decoded(data)


def acquire(
    files: StateFiles, folder: str, holder: Holder, *, is_dead: Callable[[Holder], bool]
) -> Lock:
    """Return the lock, a dead run's too, or raise ``LockHeldError`` if a living run holds it."""
    for _ in range(_ATTEMPTS):
        names = _names(files, folder)
        top = max(names, default=None)
        if top is not None:
            _check_is_free(files, folder, top, is_dead=is_dead, token=holder.token)
        name = f"{int(top.removesuffix('.json')) + 1 if top else 1:012d}.json"
        if not files.create(f"{folder}/{name}", holder.encoded()):
            continue
        lock = Lock(files, folder, name, holder)
        try:
            if max(_names(files, folder), default=None) == name:
                for old in names:
                    files.remove(f"{folder}/{old}")
                return lock
        except StorageUnreachableError:
            with suppress(StorageUnreachableError):
                lock.release()
            raise
        files.remove(f"{folder}/{name}")  # others may have taken and released it since the check
    raise LockHeldError(f"many runs want the lock in {files.location}; try again later")


def _check_is_free(
    files: StateFiles, folder: str, name: str, *, is_dead: Callable[[Holder], bool], token: str
) -> None:
    """Raise unless the lock was given back, its process has ended here, or it is long unrenewed.

    A location without a time proves no age: there only a dead process frees the lock.
    """
    held_at = files.modified_at(f"{folder}/{name}")
    data = files.read(f"{folder}/{name}")
    if data is None or data == _RELEASED:
        return
    other = _decoded(data)
    if other is not None and is_dead(other):
        return
    probe = f"{folder}/{token}.probe"
    files.write(probe, b"")
    now = files.modified_at(probe)
    files.remove(probe)
    if now is None or held_at is None or now - held_at < TIME_TO_LIVE:
        who = f"process {other.pid} on {other.host}" if other else "somebody"
        raise LockHeldError(
            f"{who} holds the lock in {files.location} since {held_at}, until the end of that run;"
            f" a lock that is not renewed for {TIME_TO_LIVE.seconds // 60} minutes is free"
        )
