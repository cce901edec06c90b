"""Which places count as searched."""

import pytest

from orphangc.core.world.known_world import (
    PlaceKind,
    SearchedPlace,
    closed_world_of,
    lacks_checkpoints,
)


def a_place(
    checkpoints: int | None = 0, kind: PlaceKind = PlaceKind.EXTRA_ROOT, uri: str = "/mnt/sp"
) -> SearchedPlace:
    return SearchedPlace(uri=uri, kind=kind, job_directories=0, checkpoints=checkpoints)


@pytest.mark.parametrize("kind", [PlaceKind.EXTRA_ROOT, PlaceKind.SIBLING])
def test_a_place_without_a_checkpoint_lacks_them_unless_it_is_stated_empty(kind) -> None:
    """One checkpoint is enough; a place out of reach is another matter."""
    assert lacks_checkpoints(a_place(kind=kind), is_stated_empty=False)
    assert not lacks_checkpoints(a_place(kind=kind), is_stated_empty=True)
    assert not lacks_checkpoints(a_place(1, kind), is_stated_empty=False)
    assert not lacks_checkpoints(a_place(None, kind), is_stated_empty=False)


@pytest.mark.parametrize("kind", [PlaceKind.STORAGE_ROOT, PlaceKind.REPORTED])
def test_the_storage_root_and_reported_checkpoints_are_judged_elsewhere(kind) -> None:
    """By guards, and by what reads them."""
    assert not lacks_checkpoints(a_place(kind=kind), is_stated_empty=False)


def test_the_statement_covers_what_was_searched_and_not_in_vain() -> None:
    """Neither an empty place that no one stated nor one out of reach."""
    places = [
        a_place(3, PlaceKind.STORAGE_ROOT, "/ck"),
        a_place(0, uri="/empty"),
        a_place(0, uri="/stated"),
        a_place(None, PlaceKind.SIBLING, "/unreached"),
        a_place(1, PlaceKind.SIBLING, "/second"),
    ]
    world = closed_world_of(places, is_stated=True, is_empty=lambda uri: uri == "/stated")
    assert (world.stated, world.covers) == (True, ("/ck", "/stated", "/second"))
