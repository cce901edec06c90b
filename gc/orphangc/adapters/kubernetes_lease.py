"""Leader election over one Kubernetes Lease, and the fence that whoever deletes asks.

Nobody's clock is compared with anybody else's: a holder has gone when its record has not changed
for the lease's duration by the watcher's own monotonic clock, and a leader stops leading when its
own last renewal, counted from before it was sent, is older than the shorter renew deadline.

Source: ``coordination.k8s.io/v1`` Lease; the protocol is that of client-go's leader election,
which releases a Lease by clearing its holder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from time import monotonic, sleep
from typing import Any

import structlog

from orphangc.adapters.kubernetes_api import KubernetesProblem
from orphangc.adapters.kubernetes_lease_api import (
    SHORT_SECONDS,
    LeaseApi,
    LeaseSettings,
    SeenLease,
    micro_time,
)
from orphangc.errors import LockHeldError

__all__ = ["LeaseElection", "LeaseFence", "LeaseSettings"]

log = structlog.get_logger()


class LeaseElection:
    """Tries for as long as it lives to lead, in a thread of its own.

    The callbacks run in that thread and must return soon: while they run nothing is renewed.
    ``on_started`` comes before ``on_stopped``, each once a leadership.
    """

    def __init__(
        self,
        settings: LeaseSettings,
        identity: str,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        *,
        now: Callable[[], datetime],
    ) -> None:
        """Take everything; ``start`` begins.

        Args:
            settings: Which Lease, and how patient everybody is.
            identity: Of this process, and of no other ever.
            on_started: Is told that this process leads.
            on_stopped: Is told that it does no more.
            now: This machine's clock, aware UTC: for people who read the Lease.

        Raises:
            SettingsError: The extra ``kubernetes`` is not installed.

        """
        self.identity = identity
        self._settings = settings
        self._lease = LeaseApi(settings)
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._now = now
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._seen: SeenLease | None = None
        self._seen_at = 0.0
        self._renewed_at: float | None = None
        self._acquired_at: datetime | None = None
        self._is_told = False

    @property
    def is_leader(self) -> bool:
        """Return whether this process leads at this moment, whatever its thread waits for."""
        renewed_at = self._renewed_at
        deadline = self._settings.renew_deadline.total_seconds()
        return renewed_at is not None and monotonic() - renewed_at < deadline

    @property
    def leader(self) -> str | None:
        """Return the identity that was seen to hold the Lease, ``None`` if none was."""
        return (self._seen.holder or None) if self._seen is not None else None

    def start(self) -> None:
        """Begin to try."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Return whether anybody here still takes part."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop leading, and give the Lease back so that others need not wait for it to run out."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._try()
                self._tell()
                self._over.wait(self._pause())
        finally:
            held = self._renewed_at is not None
            self._renewed_at = None
            self._tell()
            if held:
                self._release()
            self._lease.close()

    def _pause(self) -> float:
        """Return how long to wait: never past the moment at which leading ends."""
        period = self._settings.retry_period.total_seconds()
        return max(0.01, min(period, self._left())) if self._is_told else period

    def _left(self) -> float:
        """Return the seconds until leading ends; the whole deadline if it has not begun."""
        deadline = self._settings.renew_deadline.total_seconds()
        return deadline if self._renewed_at is None else self._renewed_at + deadline - monotonic()

    def _try(self) -> None:
        """Take or renew the Lease once; whatever fails leaves all as it was, but for time."""
        try:
            self._look()
            if self._may_hold():
                self._hold()
        except KubernetesProblem as err:
            if err.status == HTTPStatus.CONFLICT:
                return  # somebody was faster: the next look shows who
            log.warning("lease.not_reached", reason=str(err), leading=self.is_leader)

    def _tell(self) -> None:
        """Tell who has to know what has changed."""
        if not self.is_leader:
            self._renewed_at = None
        if self._is_told and not self.is_leader:
            self._is_told = False
            log.warning("leader.stopped", identity=self.identity, leader=self.leader)
            self._on_stopped()
        elif not self._is_told and self.is_leader:
            self._is_told = True
            log.info("leader.started", identity=self.identity)
            self._on_started()

    def _look(self) -> None:
        found = self._lease.read(self._patience())
        if found is None:
            self._seen = None if self._has_run_out() else self._seen
            if self._seen is not None and self._seen.holder == self.identity:
                self._seen = None
            return
        if self._seen is None or found.version != self._seen.version:
            self._seen, self._seen_at = found, monotonic()
        if found.holder != self.identity:
            self._renewed_at = None

    def _patience(self) -> float:
        return max(
            SHORT_SECONDS / 10, min(self._settings.renew_deadline.total_seconds(), self._left())
        )

    def _has_run_out(self) -> bool:
        """Return whether the record that was seen last has stood still for its whole duration."""
        if self._seen is None:
            return True
        seconds = max(self._seen.seconds, self._settings.lease_duration.total_seconds())
        return monotonic() - self._seen_at >= seconds

    def _may_hold(self) -> bool:
        """Return whether the Lease is ours, nobody's, or of somebody who has gone.

        One that somebody deleted is still its last holder's, until that one must have noticed.
        """
        if self._seen is None or self._seen.holder in {"", self.identity}:
            return True
        return self._has_run_out()

    def _hold(self) -> None:
        sent = monotonic()
        is_new = self._seen is None or self._seen.holder != self.identity or not self._acquired_at
        if is_new:
            self._acquired_at = self._now()
        spec = self._spec(is_new=is_new)
        seen = self._seen
        try:
            if seen is None:
                written = self._lease.create(spec, self._patience())
            else:
                written = self._lease.replace(seen, spec, self._patience())
        except KubernetesProblem as err:
            if err.status == HTTPStatus.NOT_FOUND:
                self._seen = None
            raise
        self._seen, self._seen_at = written, monotonic()
        self._renewed_at = sent

    def _spec(self, *, is_new: bool) -> Any:
        old = self._seen.lease.spec if self._seen is not None else None
        before = int((old.lease_transitions or 0) if old is not None else 0)
        taken_over = is_new and self._seen is not None and self._seen.holder != self.identity
        return self._lease.client.V1LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=round(self._settings.lease_duration.total_seconds()),
            acquire_time=micro_time(self._acquired_at or self._now()),
            renew_time=micro_time(self._now()),
            lease_transitions=before + taken_over,
        )

    def _release(self) -> None:
        """Clear the holder, if it is still us; whoever wins a race against this has the Lease."""
        try:
            found = self._lease.read(SHORT_SECONDS)
            if found is None or found.holder != self.identity:
                return
            at = micro_time(self._now())
            spec = self._lease.client.V1LeaseSpec(
                holder_identity="",
                lease_duration_seconds=round(SHORT_SECONDS),
                acquire_time=at,
                renew_time=at,
                lease_transitions=found.lease.spec.lease_transitions,
            )
            self._seen = self._lease.replace(found, spec, SHORT_SECONDS)
        except KubernetesProblem as err:
            log.warning("lease.not_released", reason=str(err))


class LeaseFence:
    """Tells a process that deletes whether its daemon still leads; asks the API server each time.

    What was true a moment ago is no permission: without an answer nothing may be deleted.
    """

    def __init__(self, settings: LeaseSettings, identity: str) -> None:
        """Take the Lease and the identity that must hold it.

        Raises:
            SettingsError: The extra ``kubernetes`` is not installed.

        """
        self._settings = settings
        self._identity = identity
        self._lease = LeaseApi(settings)
        self._pause = sleep
        self._version = ""
        self._changed_at = 0.0

    def check(self) -> None:
        """Make sure that the identity holds the Lease, and that somebody renews it.

        Raises:
            LockHeldError: Another one holds it, nobody does, it is not renewed any more, or it
                could not be read for as long as a Lease lasts.

        """
        found = self._read()
        where = f"Lease {self._lease.namespace}/{self._lease.name}"
        if found is None or found.holder != self._identity:
            holder = (found.holder if found else "") or "nobody"
            raise LockHeldError(f"{where} is held by {holder}, not by {self._identity}: stopped")
        if found.version != self._version:
            self._version, self._changed_at = found.version, monotonic()
        elif monotonic() - self._changed_at >= self._settings.renew_deadline.total_seconds():
            raise LockHeldError(f"{where} is not renewed any more: stopped")

    def _read(self) -> SeenLease | None:
        """Return the Lease, asked again and again for as long as a Lease lasts."""
        deadline = monotonic() + self._settings.lease_duration.total_seconds()
        while True:
            left = deadline - monotonic()
            try:
                return self._lease.read(max(SHORT_SECONDS / 10, left))
            except KubernetesProblem as err:
                pause = self._settings.retry_period.total_seconds()
                if monotonic() + pause >= deadline:
                    where = f"Lease {self._lease.namespace}/{self._lease.name}"
                    raise LockHeldError(f"{where} cannot be read: {err}: stopped") from err
            self._pause(pause)

    def close(self) -> None:
        """Close the connections."""
        self._lease.close()
