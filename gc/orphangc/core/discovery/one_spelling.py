"""Discovered places under one spelling each: two names of one directory are one place."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from flinkstate.places.locations import Alias, Location, canonical
from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    Discovery,
    PinFact,
    ResourceFacts,
)
from orphangc.core.discovery.remembered_facts import DiscoveryMemory

_Named = TypeVar("_Named", DirectoryFact, PinFact)
_Facts = TypeVar("_Facts", Discovery, DiscoveryMemory)


def spellings(
    found: Iterable[ResourceFacts],
    configured: Sequence[str],
    *,
    real: Callable[[Location], Location],
) -> tuple[Alias, ...]:
    """Return what other spellings of discovered directories mean.

    A storage root that is configured by hand keeps its spelling, and every other directory has the
    one without links.

    A directory that is mounted twice has two: that two names are one cannot be relied on there, and
    searching it twice costs time only.
    """
    known = {real(place): place for place in map(canonical, configured)}
    meant: dict[Location, Location] = {}
    for place in sorted({canonical(e.uri) for one in found for e in one.directories}, key=str):
        resolved = real(place)
        inside = [spelled.child(k) for r, spelled in known.items() if (k := r.key_of(resolved))]
        spelled = known.get(resolved) or next(iter(inside), None)
        spelled = spelled or resolved
        meant |= {each: spelled for each in (place, resolved) if each != spelled}
    longest_first = sorted(meant, key=lambda place: (-len(place.path), str(place)))
    return tuple(Alias(place, meant[place]) for place in longest_first)


def spelled_once(found: _Facts, aliases: Sequence[Alias]) -> _Facts:
    """Return facts with every place under its one spelling."""

    def named(fact: _Named) -> _Named:
        return fact.model_copy(update={"uri": str(canonical(fact.uri, aliases))})

    def spelled(one: ResourceFacts) -> ResourceFacts:
        places = {"directories": one.directories, "pins": one.pins}
        return one.model_copy(update={k: tuple(map(named, v)) for k, v in places.items()})

    return found.model_copy(update={"resources": tuple(map(spelled, found.resources))})
