"""The fence of a run that a leading daemon started: its Lease, looked at before every batch."""

from __future__ import annotations

import os
from collections.abc import Callable

from orphangc.adapters.kubernetes_lease import LeaseFence, LeaseSettings
from orphangc.shell.config import LeaderElectionSettings

__all__ = ["IDENTITY_VARIABLE", "fence_of", "lease_settings"]

IDENTITY_VARIABLE = "ORPHANGC_LEADER_IDENTITY"
"""The daemon tells its runs by it who it is in the Lease."""


def fence_of(settings: LeaderElectionSettings) -> Callable[[], None] | None:
    """Return what makes sure that the daemon of this run still leads; ``None`` if none started it.

    A run that nobody elected, such as a CronJob's, has the lock alone.
    """
    identity = os.environ.get(IDENTITY_VARIABLE)
    if not settings.enabled or identity is None:
        return None
    return LeaseFence(lease_settings(settings), identity).check


def lease_settings(settings: LeaderElectionSettings) -> LeaseSettings:
    """Return which Lease is meant."""
    return LeaseSettings(**settings.model_dump(exclude={"enabled"}))
