"""Names of the kinds of searched places."""

from __future__ import annotations

from collections.abc import Mapping

from orphangc.core.world import PlaceKind

PLACE_NAMES: Mapping[PlaceKind, str] = {
    PlaceKind.STORAGE_ROOT: "storage root",
    PlaceKind.EXTRA_ROOT: "extra root",
    PlaceKind.SIBLING: "sibling",
    PlaceKind.REPORTED: "reported",
}
