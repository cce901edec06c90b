"""The world of all storage roots, as the status page shows it."""

from __future__ import annotations

from collections.abc import Iterable

from orphangc.core.documents.run_record import RunRecord
from orphangc.core.world.known_world import World
from orphangc.core.world.united import united_world


def world_view(plans: Iterable[RunRecord]) -> World | None:
    """Return what the newest plans searched, asked and missed; ``None`` if no plan has a world."""
    worlds = [each.world for each in plans if each.world is not None]
    return united_world(worlds) if worlds else None
