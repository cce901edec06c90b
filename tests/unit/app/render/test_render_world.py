"""What the statement of a closed world covers: shown alike by every rendering."""

import pytest

from orphangc.app.render.world_tables import statement
from orphangc.core.world.known_world import (
    ClosedWorld,
    PlaceKind,
    SearchedPlace,
    SearchedStorage,
    World,
)
from unit.app.render.plan_builder import a_plan
from unit.app.render.test_render_unlisted import RENDERINGS

WORLD = World(
    places=(
        SearchedPlace(
            uri="s3://bucket/one", kind=PlaceKind.STORAGE_ROOT, job_directories=1, checkpoints=34
        ),
        SearchedPlace(
            uri="s3://bucket/two", kind=PlaceKind.SIBLING, job_directories=0, checkpoints=0
        ),
    ),
    closed_world=ClosedWorld(stated=True, covers=("s3://bucket/one",)),
)


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_every_rendering_counts_what_the_closed_world_covers(rendering) -> None:
    """A place without a checkpoint catches the eye."""
    text = " ".join(RENDERINGS[rendering](*a_plan(world=WORLD)).split())
    assert "closed world: s3://bucket/one (1 job, 34 checkpoints)" in text
    assert "s3://bucket/two (0 CHECKPOINTS" in text


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_a_plan_without_a_world_says_nothing_of_it(rendering) -> None:
    """One that an earlier version made."""
    assert "closed world" not in RENDERINGS[rendering](*a_plan(world=None))


def test_a_storage_of_one_checkpoint_is_counted_as_such() -> None:
    storage = SearchedStorage(uri="s3://bucket", keys=2, checkpoints=1, left_out=())
    world = WORLD.model_copy(update={"storages": (storage,)})
    assert "all of s3://bucket (1 checkpoint)" in statement(world)
