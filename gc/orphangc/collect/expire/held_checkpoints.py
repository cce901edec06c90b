"""What must not expire whatever a policy says: pins, retained checkpoints, origins (R43)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from flinkstate.files.paths import meet, spellings
from flinkstate.places.locations import Location, places_of
from orphangc.collect.cycle import Cycle
from orphangc.collect.dependencies.origins import OriginFacts, recovers, shown_origins
from orphangc.core.groups import sets_of

_Hold = tuple[str, str]
"""Kind of a hold, and what holds, for people."""


@dataclass(frozen=True, kw_only=True)
class CheckpointHolds:
    """Places that something names, whatever links and mounts it spells them by.

    Attributes:
        exact: Holds of one checkpoint, by each name of its folder.
        pins: Pinned places, with everything below them.
    """

    exact: dict[Location, set[_Hold]]
    pins: tuple[Location, ...]

    def of(self, folder: Location) -> Iterator[_Hold]:
        """Yield what holds the checkpoint in a folder."""
        names = spellings(folder)
        yield from sorted({hold for name in names for hold in self.exact.get(name, ())})
        paths = {each.path for name in names for each in name.upwards()}
        found = {at for path in paths for at in self._at.get(path, ())}
        found.update(at for name in names for at in self._below.get(name.path, ()))
        for pin in (self.pins[at] for at in sorted(found)):
            if meet(spellings(pin), names):
                yield "pin", str(pin)

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


def holds_of(
    cycle: Cycle, facts: OriginFacts, *, self_sustained: Collection[str]
) -> CheckpointHolds:
    """Return everything that holds a checkpoint.

    Args:
        self_sustained: Keys of the jobs that need no file that is not their own.
    """
    answers, over = cycle.seen.answers, facts.over
    free = {
        key
        for key, job in facts.jobs.items()
        if key in over or (key in self_sustained and recovers(job))
    }
    exact: dict[Location, set[_Hold]] = {}
    for place, kind, by in (
        *((place, "resource", by) for place, by in answers.named_by_resources()),
        *((place, "named_by", by) for place, by in answers.named_by_configurations()),
        *_registered(cycle),
        *_shown_by_flink(cycle, over),
        *((at, "restored_by", by) for at, by in shown_origins(facts, free)),
    ):
        for name in spellings(place):
            exact.setdefault(name, set()).add((kind, by))
    return CheckpointHolds(exact=exact, pins=tuple(dict.fromkeys(answers.settings.pins)))


_Held = tuple[Location, str, str]


def _registered(cycle: Cycle) -> Iterator[_Held]:
    for snapshot in cycle.seen.snapshots:
        for place in places_of(snapshot.checkpoint_paths, cycle.seen.settings.aliases):
            yield place, "registry", snapshot.job_id


def _shown_by_flink(cycle: Cycle, over: Collection[str]) -> Iterator[_Held]:
    """Yield the checkpoints that clusters show of jobs that are not over."""
    for key, job in cycle.known.jobs.items():
        if key in over:
            continue
        paths = [each.external_path for facts in job.facts for each in facts.checkpoints]
        for place in places_of(paths, cycle.seen.settings.aliases):
            yield place, "job", job.job_id
