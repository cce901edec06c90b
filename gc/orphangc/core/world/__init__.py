"""The world of a deletion: places that were searched or named, and the operator's statements.

A place that was not searched never means that it holds no checkpoint.
"""

from __future__ import annotations

from orphangc.core.world.known_world import (
    ClosedWorld,
    KnownCluster,
    OutsidePath,
    PlaceKind,
    SearchedPlace,
    World,
    WorldChange,
)
from orphangc.core.world.storages import SearchedStorage

__all__ = [
    "ClosedWorld",
    "KnownCluster",
    "OutsidePath",
    "PlaceKind",
    "SearchedPlace",
    "SearchedStorage",
    "World",
    "WorldChange",
]
