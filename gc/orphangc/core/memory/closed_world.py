"""Storages that a statement of a closed world does not cover: those that appeared after it (R3a).

A person states it of what was searched that day. A storage that appears later shows that there was
more, which the statement left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from orphangc.core.memory.acknowledgement import acknowledging_command
from orphangc.core.memory.lost_facts import STORAGE, LostFact
from orphangc.core.memory.remembered import RememberedPlace, WorldMemory
from orphangc.core.memory.sighting import SeenPlace, Sighting
from orphangc.core.model.codes import Condition


def is_covered(place: SeenPlace, memory: WorldMemory, sighting: Sighting) -> bool:
    """Return whether a person's statement covers a storage; the first one covers all there are."""
    known = _storages(memory)
    stated = {uri for uri, each in known.items() if each.is_stated}
    if place.uri in stated:
        return True
    return sighting.is_world_closed and (place.is_stated or not stated)


def uncovered(memory: WorldMemory, sighting: Sighting) -> Iterator[LostFact]:
    """Yield a fact for each storage that no statement covers, while a closed world is stated."""
    if not sighting.is_world_closed:
        return
    known = _storages(memory)
    for place in sighting.places:
        if place.kind != STORAGE or is_covered(place, memory, sighting):
            continue
        since = known[place.uri].first_seen_at if place.uri in known else sighting.at
        command = acknowledging_command(
            sighting.root, Condition.CLOSED_WORLD, place.uri, state=sighting.state
        )
        yield LostFact(
            condition=Condition.CLOSED_WORLD,
            what=place.uri,
            since=since,
            message=(
                f"{place.uri} is searched since {since:%Y-%m-%dT%H:%M:%SZ}, after closed_world was"
                " stated, which does not cover it: look at what names it (orphangc world), name"
                f" what else there is, and state it again. Run: {command}"
            ),
        )


def _storages(memory: WorldMemory) -> dict[str, RememberedPlace]:
    return {each.uri: each for each in memory.places if each.kind == STORAGE}
