"""Checkpoints that the storage roots of one pass over a configuration file read once for all.

Each storage root's cycle searches every sibling, so N storage roots would read each ``_metadata``
N times. Each cycle still lists for itself: a job that claims a checkpoint between two cycles is
seen, and a ``_metadata`` that is replaced has another identity.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from flinkstate.places.locations import Alias, Location
from orphangc.collect.listing.shared_listings import SharedListings
from orphangc.collect.state.read_checkpoints import Contents, is_settled
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.types import StoredObject

_MOST_BYTES = 2**27
"""Room for about three million names; a cycle holds as much of its siblings while it runs."""

_ROOT_BYTES = 2048
"""What a decoded checkpoint takes besides its names."""

Reading = Callable[[], Contents | None]
_Identity = tuple[tuple[Alias, ...], StoredObject]


@dataclass(slots=True)
class SharedCheckpoints:
    """Decoded checkpoints by place, identity and aliases, bounded in memory.

    A checkpoint is only shared if its bytes are surely unchanged while its listing is. Object
    stores give each write another ETag. The ETag of a local file is its inode and its time, so a
    young file does not qualify; an object without an ETag never does. Nor does what cannot be
    read: a refusal rests on a reading of its own.

    Attributes:
        most_bytes: Memory that decoded checkpoints may take; what finds no room is not shared.
    """

    clock: Callable[[], datetime]
    most_bytes: int = _MOST_BYTES
    held_bytes: int = 0
    listings: SharedListings = field(default_factory=SharedListings)
    _known: dict[Location, dict[_Identity, Checkpoint]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(
        self, aliases: Sequence[Alias], base: Location, listed: StoredObject, read: Reading
    ) -> Contents | None:
        """Return the checkpoint of an unchanged object, or else what a reading finds."""
        identity = (tuple(aliases), listed)
        known = self._known.get(base, {}).get(identity)
        if known is not None:
            return known
        read_at = self.clock()
        found = read()
        if isinstance(found, Checkpoint) and is_settled(base, listed, read_at):
            self._add(base, identity, found)
        return found

    def _add(self, base: Location, identity: _Identity, checkpoint: Checkpoint) -> None:
        size = _bytes_of(checkpoint)
        with self._lock:
            known = self._known.setdefault(base, {})
            if identity not in known and self.held_bytes + size <= self.most_bytes:
                known[identity] = checkpoint
                self.held_bytes += size

    def keep_only(self, base: Location, listed: Collection[StoredObject]) -> None:
        """Forget all checkpoints of a storage that it does not list any more."""
        present = frozenset(listed)
        with self._lock:
            known = self._known.get(base, {})
            for identity in [each for each in known if each[1] not in present]:
                self.held_bytes -= _bytes_of(known.pop(identity))


def _bytes_of(checkpoint: Checkpoint) -> int:
    names = (*checkpoint.files.values(), checkpoint.unregistered)
    return _ROOT_BYTES + 16 * len(checkpoint.raw) + sum(each.nbytes for each in names)
