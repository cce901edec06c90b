"""What else than the lock may stop a run: it is asked whenever the lock is."""

from __future__ import annotations

import pytest

from orphangc.adapters.state_files import LocalStateFiles
from orphangc.core.uris import canonical
from orphangc.errors import LockHeldError
from orphangc.runs.lock import Holder, Lock, acquire, holder_of

ME = Holder(token="t", host="h", pid=1, started="s")


class Lease:
    """Somebody's Lease."""

    def __init__(self) -> None:
        self.is_held = True
        self.asked = 0

    def check(self) -> None:
        """Raise if it is lost."""
        self.asked += 1
        if not self.is_held:
            raise LockHeldError("the Lease is held by b")


def locked(tmp_path, lease: Lease) -> Lock:
    """Return the lock of a run that has a fence."""
    files = LocalStateFiles(canonical(str(tmp_path)))
    return acquire(files, "lock", ME, is_dead=lambda _: False, fence=lease.check)


def test_a_lost_lease_stops_a_run_that_holds_the_lock(tmp_path) -> None:
    """At the next check, and at the next renewal."""
    lease = Lease()
    lock = locked(tmp_path, lease)
    lock.check()
    lock.renew()
    lease.is_held = False
    for ask in (lock.check, lock.renew):
        with pytest.raises(LockHeldError, match="Lease"):
            ask()


def test_whoever_has_lost_the_lease_does_not_even_ask_for_the_lock(tmp_path) -> None:
    """It would only be in the way of the new leader."""
    lease = Lease()
    lease.is_held = False
    with pytest.raises(LockHeldError, match="Lease"):
        locked(tmp_path, lease)
    assert holder_of(LocalStateFiles(canonical(str(tmp_path))), "lock") is None


def test_a_lost_lease_does_not_keep_the_lock(tmp_path) -> None:
    """It is given back without asking."""
    lease = Lease()
    lock = locked(tmp_path, lease)
    assert holder_of(lock.files, "lock") == ME
    lease.is_held = False
    lock.release()
    assert holder_of(lock.files, "lock") is None
