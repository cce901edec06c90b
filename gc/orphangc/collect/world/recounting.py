"""Memory in a plan: changes since earlier cycles, and the first sight of each place."""

from __future__ import annotations

from collections.abc import Sequence

from orphangc.core.documents.plan import Plan
from orphangc.core.memory.compare_cycles import CycleComparison
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.world import World, WorldChange


def with_memory(plan: Plan, comparison: CycleComparison, expected: Sequence[str] = ()) -> Plan:
    """Return a plan with what earlier cycles saw and this one does not.

    Args:
        expected: Identifiers of a state location that is lost, which later plans must miss too.
    """
    update: dict[str, object] = {"states": tuple(expected) or comparison.memory.states}
    if plan.world is not None:
        update["world"] = world_with_memory(plan.world, comparison, comparison.memory)
    return plan.model_copy(update=update)


def world_with_memory(world: World, comparison: CycleComparison, memory: WorldMemory) -> World:
    """Return the world with what earlier cycles saw of it and this one does not.

    Args:
        memory: Memory of the places: of earlier cycles alone, or of this one too.
    """
    since = {each.uri: each.first_seen_at for each in memory.places}
    return world.model_copy(
        update={
            "places": tuple(
                each.model_copy(update={"since": since.get(each.uri)}) for each in world.places
            ),
            "changed": tuple(
                WorldChange.like(each, acknowledged=each.is_acknowledged)
                for each in comparison.facts
            ),
        }
    )
