"""What the storage roots of one configuration file read for each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from orphangc.app.wiring.clock import now
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints


def shared_checkpoints() -> SharedCheckpoints:
    """Return room for the checkpoints of one pass over a configuration file; none is read yet."""
    return SharedCheckpoints(now)


@dataclass(frozen=True, slots=True)
class PassSharing:
    """What the runs of one pass share: a sweep never rests on what its plan was made from.

    Attributes:
        plans: Checkpoints that plans are made from.
        sweeps: Checkpoints that sweeps read again.

    """

    plans: SharedCheckpoints = field(default_factory=shared_checkpoints)
    sweeps: SharedCheckpoints = field(default_factory=shared_checkpoints)
