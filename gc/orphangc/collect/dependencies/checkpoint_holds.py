"""What names a checkpoint as a whole, and so keeps it, whatever links and mounts spell it (R43)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flinkstate.files.paths import by_each_name, meet, spellings
from flinkstate.places.locations import Location
from orphangc.core.groups import sets_of

Hold = tuple[str, str]
"""Kind of a hold, and what holds, for people."""


@dataclass(frozen=True)
class PinnedPlaces:
    """Pinned places, each of which holds what is at, below or around it."""

    pins: tuple[Location, ...] = ()

    def around(self, names: Collection[Location]) -> Iterator[Location]:
        """Yield the pins that hold a place with these names, in their order."""
        paths = {each.path for name in names for each in name.upwards()}
        found = {at for path in paths for at in self._at.get(path, ())}
        found.update(at for name in names for at in self._below.get(name.path, ()))
        for pin in (self.pins[at] for at in sorted(found)):
            if meet(spellings(pin), names):
                yield pin

    @cached_property
    def _at(self) -> dict[str, set[int]]:
        """Positions of the pins by each path of theirs: what its URI leaves out is no matter."""
        return sets_of(
            (name.path, at) for at, pin in enumerate(self.pins) for name in spellings(pin)
        )

    @cached_property
    def _below(self) -> dict[str, set[int]]:
        """The same by the path of each folder around them."""
        around = (
            (each.path, at)
            for at, pin in enumerate(self.pins)
            for name in spellings(pin)
            for each in name.upwards()
        )
        return sets_of(around)


@dataclass(frozen=True)
class CheckpointHolds:
    """What holds single checkpoints, by their folders, and the pins."""

    named: Sequence[tuple[Location, Hold]] = ()
    pinned: PinnedPlaces = field(default_factory=PinnedPlaces)

    def of(self, folder: Location) -> Iterator[Hold]:
        """Yield what holds the checkpoint in a folder."""
        names = spellings(folder)
        yield from sorted({hold for name in names for hold in self._exact.get(name, ())})
        yield from (("pin", str(pin)) for pin in self.pinned.around(names))

    @cached_property
    def _exact(self) -> dict[Location, set[Hold]]:
        return by_each_name(self.named)
