"""Where the program keeps its own files, and where it writes none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flinkstate.files.paths import (
    local,
    resolved,
)
from flinkstate.places.locations import canonical
from orphangc.errors import SettingsError


def check_outside(root: str, places: Sequence[Path]) -> None:
    """Make sure that no file is written below the storage root, which belongs to Flink.

    Raises:
        SettingsError: A place is inside the storage root.

    """
    for place in places:
        if resolved(canonical(root)).contains(resolved(local(place))):
            raise SettingsError(f"{place} is inside the storage root {root}: choose another")


def default_plans() -> Path:
    """Return the default folder of plans, below this user's state folder."""
    from platformdirs import user_state_path  # noqa: PLC0415 - seldom needed

    return user_state_path("orphangc") / "plans"
