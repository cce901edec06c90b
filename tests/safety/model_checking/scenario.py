"""Flink and collectors together: what is explored, from where, and how it is told."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from safety.model_checking import collector, flink
from safety.model_checking.conduct import OVER, Collector, Conduct
from safety.model_checking.explorer import Explored, explore
from safety.model_checking.flink import Scope, fresh_job
from safety.model_checking.world import World, canonical, instants, lost_file, moved

Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One exploration."""

    name: str  # for the figures
    scope: Scope = field(default_factory=Scope)  # how far Flink goes
    conduct: Conduct = field(default_factory=Conduct)  # how collectors behave
    collectors: int = 1  # one or two
    start: World | None = None  # the first world; a job that has just started if nothing is given
    # labels of steps of Flink that have happened before anything is explored
    history: tuple[str, ...] = ()
    is_timeless: bool = False  # no rule compares instants, so there is only one
    is_coarse: bool = False  # what happens next may have the same store time
    starts_at: int = -1  # instant at which the clock begins to tick, -1 if only order counts
    ticks: int = 0  # so often the clock moves on, where it does not with each event
    stamps: tuple[int, ...] = (0,)  # how far machines of the store that date objects may be ahead
    # how far JobManagers, and the machine of the store that tells the time, may be ahead: each
    # pair is a world of its own
    clocks: tuple[tuple[int, int], ...] = ((0, 0),)

    def starts(self) -> list[World]:
        return [self.first(*each) for each in self.clocks]

    def first(self, ahead: int = 0, teller: int = 0) -> World:
        world = self.start or World(jobs=(fresh_job(self.scope),))
        world = world._replace(clock=self.starts_at, ahead=ahead, teller=teller)
        for label in self.history:
            world = dict(flink.steps(world, self.scope))[label]
        return self._settled(world._replace(collectors=(Collector(),) * self.collectors))

    def steps(self, world: World) -> Steps:
        if not world.lost and all(each.phase == OVER for each in world.collectors):
            return
        for label, after in self._all(world):
            for stamped in self._stamped(world, after):
                yield label, self._settled(stamped)
            if self.is_coarse and (newest := max(instants(after), default=0)) > max(
                instants(world), default=0
            ):
                same = moved(after, lambda at, newest=newest: min(at, newest - 1))
                yield f"{label} (in the same second)", self._settled(same)

    def _all(self, world: World) -> Steps:
        yield from flink.steps(world, self.scope)
        yield from collector.steps(world, self.conduct)
        if 0 <= world.clock < self.starts_at + self.ticks:
            yield "the clock ticks", world._replace(clock=world.clock + 1)

    def _stamped(self, before: World, after: World) -> Iterator[World]:
        """Yield the world once for each machine of the store that may date what is new in it."""
        if self.stamps == (0,) or (before.files, before.roots) == (after.files, after.roots):
            yield after
            return
        for wrong in self.stamps:
            files = tuple((f, at + wrong * ((f, at) not in before.files)) for f, at in after.files)
            roots = tuple(
                r._replace(at=r.at + wrong * (r not in before.roots)) for r in after.roots
            )
            yield after._replace(files=files, roots=roots)

    def _settled(self, world: World) -> World:
        world = collector.hopeless(collector.watching(world), self.conduct)
        if not self.is_timeless:
            return canonical(world)
        return moved(world, _once) if any(instants(world)) else world

    def explore(self) -> Explored:
        """Return what all ways lead to, up to the first loss."""
        return explore(self.starts(), self.steps, lost_file)


def _once(_: int) -> int:
    """Return the one instant there is."""
    return 0
