"""Flink and collectors together: what is explored, from where, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from model import collector, flink
from model.conduct import OVER, Collector, Conduct
from model.explorer import Explored, explore
from model.flink import Scope, fresh_job
from model.world import World, canonical, instants, lost_file, moved

Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One exploration.

    Attributes:
        name: For the figures.
        scope: How far Flink goes.
        conduct: How collectors behave.
        collectors: One or two.
        start: The first world; a job that has just started if nothing is given.
        history: Labels of steps of Flink that have happened before anything is explored.
        is_timeless: No rule compares instants, so there is only one.
        is_coarse: What happens next may have the same store time.
        ticks: So often the clock moves on, where it does not with each event.

    """

    name: str
    scope: Scope = field(default_factory=Scope)
    conduct: Conduct = field(default_factory=Conduct)
    collectors: int = 1
    start: World | None = None
    history: tuple[str, ...] = ()
    is_timeless: bool = False
    is_coarse: bool = False
    ticks: int = 0

    def first(self) -> World:
        """Return the first state."""
        world = self.start or World(jobs=(fresh_job(self.scope),))
        for label in self.history:
            world = dict(flink.steps(world, self.scope))[label]
        return self._settled(world._replace(collectors=(Collector(),) * self.collectors))

    def steps(self, world: World) -> Steps:
        """Yield every step and the state that it leads to."""
        if not world.lost and all(each.phase == OVER for each in world.collectors):
            return
        for label, after in self._all(world):
            yield label, self._settled(after)
            if self.is_coarse and (newest := max(instants(after), default=0)) > max(
                instants(world), default=0
            ):
                same = moved(after, lambda at, newest=newest: min(at, newest - 1))
                yield f"{label} (in the same second)", self._settled(same)

    def _all(self, world: World) -> Steps:
        yield from flink.steps(world, self.scope)
        yield from collector.steps(world, self.conduct)
        if 0 <= world.clock < self.ticks:
            yield "the clock ticks", world._replace(clock=world.clock + 1)

    def _settled(self, world: World) -> World:
        world = collector.hopeless(collector.watching(world), self.conduct)
        if not self.is_timeless:
            return canonical(world)
        return moved(world, _once) if any(instants(world)) else world

    def explore(self) -> Explored:
        """Return what all ways lead to, up to the first loss."""
        return explore([self.first()], self.steps, lost_file)


def _once(_: int) -> int:
    """Return the one instant there is."""
    return 0
