"""Breadth first over all states of a model: what is reached, and the shortest way to a loss."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import TypeVar

StateT = TypeVar("StateT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Explored:
    states: int  # distinct states that were reached
    transitions: int  # steps that were taken, those to known states included
    depth: int  # steps of the longest shortest way
    seconds: float  # of processor time
    # what is wrong with the last state of ``trace``, ``None`` if no state is wrong
    wrong: str | None = None
    trace: tuple[str, ...] = ()  # labels of the shortest way to a wrong state

    def __str__(self) -> str:
        found = "no loss" if self.wrong is None else f"loss after {len(self.trace)} steps"
        return (
            f"{self.states:>9,} states {self.transitions:>10,} transitions  depth {self.depth:>3}"
            f" {self.seconds:6.1f} s  {found}"
        )

    def story(self) -> str:
        lines = [f"{number:3}. {label}" for number, label in enumerate(self.trace, 1)]
        return "\n".join([*lines, f"  => {self.wrong}"])


class TooManyStatesError(Exception):
    """The scope is too large: an exploration that is not exhaustive proves nothing."""


def explore(  # noqa: C901 - one loop, kept in one piece for its speed
    starts: Iterable[StateT],
    steps: Callable[[StateT], Iterable[tuple[str, StateT]]],
    wrong: Callable[[StateT], str | None],
    *,
    most: int = 5_000_000,
) -> Explored:
    """Return what all ways from the starts lead to, up to the first wrong state.

    States must be canonical: equal where they cannot be told apart.

    Raises:
        TooManyStatesError: There are more than ``most``.

    """
    began = process_time()
    known: dict[StateT, int] = {}
    came_from: list[tuple[int, str]] = []
    level: list[StateT] = []
    transitions = depth = 0

    def take(state: StateT, parent: int, label: str) -> str | None:
        known[state] = len(came_from)
        came_from.append((parent, label))
        level.append(state)
        return wrong(state)

    def explored(problem: str | None = None) -> Explored:
        trace = tuple(_way(came_from, len(came_from) - 1)) if problem else ()
        seconds = process_time() - began
        return Explored(len(known), transitions, depth, seconds, problem, trace)

    for start in starts:
        if start not in known and (problem := take(start, -1, "")) is not None:
            return explored(problem)
    while level:
        present, level = level, []
        for state in present:
            parent = known[state]
            for label, following in steps(state):
                transitions += 1
                if following in known:
                    continue
                if (problem := take(following, parent, label)) is not None:
                    return explored(problem)
        if len(known) > most:
            raise TooManyStatesError(f"{len(known):,} states at depth {depth}")
        depth += bool(level)
    return explored()


def reachable(
    starts: Iterable[StateT], steps: Callable[[StateT], Iterable[tuple[str, StateT]]]
) -> Iterator[StateT]:
    level = list(dict.fromkeys(starts))
    known = set(level)
    while level:
        yield from level
        following = (after for state in level for _, after in steps(state))
        level = [s for s in dict.fromkeys(following) if s not in known]
        known.update(level)


def _way(came_from: list[tuple[int, str]], index: int) -> list[str]:
    labels = []
    while came_from[index][0] >= 0:
        index, label = came_from[index]
        labels.append(label)
    return labels[::-1]
