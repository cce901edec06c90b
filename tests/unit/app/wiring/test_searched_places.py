"""Places on this machine that are absent, or that cannot be seen."""

from __future__ import annotations

from pathlib import Path

from flinkstate.places.locations import Location
from orphangc.app.wiring.searched_places import folder_around


def test_a_place_that_cannot_be_seen_may_be_there(tmp_path: Path) -> None:
    """Else the folder around it, which is listed, would answer for it."""
    (tmp_path / "stale").symlink_to("stale")  # it leads to itself: no call can see what is in it
    hidden = Location("file", "", str(tmp_path / "stale" / "checkpoints"))
    assert folder_around(hidden) == hidden


def test_around_what_is_absent_is_the_nearest_folder(tmp_path: Path) -> None:
    absent = Location("file", "", str(tmp_path / "a" / "b"))
    assert folder_around(absent) == Location("file", "", str(tmp_path))
