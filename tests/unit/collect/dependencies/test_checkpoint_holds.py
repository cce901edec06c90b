"""Which pins hold a checkpoint, however many there are: each resource of a fleet has its own."""

from itertools import product

import pytest

from flinkstate.files.paths import meet, spellings
from flinkstate.places.locations import canonical
from orphangc.collect.dependencies.checkpoint_holds import CheckpointHolds, PinnedPlaces
from support.builders import BASE
from support.calls import calls_of

PLACES = [
    canonical(f"{top}{path}")
    for top, path in product(
        ("abfs://c", "abfs://c@one.dfs.core.windows.net", "hdfs://ns", "hdfs://NS:8020", "s3://c"),
        ("/", "/a", "/a/b", "/a/b/c", "/b"),
    )
]


@pytest.mark.parametrize("folder", PLACES, ids=str)
def test_a_pin_holds_what_is_at_below_or_around_it_or_may_be(folder) -> None:
    """The environment says what a URI leaves out."""
    expected = [("pin", str(p)) for p in PLACES if meet(spellings(p), spellings(folder))]
    assert [*CheckpointHolds((), PinnedPlaces(tuple(PLACES))).of(folder)] == expected


def test_a_checkpoint_is_not_compared_with_every_pin() -> None:
    def work(count: int) -> int:
        pins = tuple(BASE.child(f"savepoints/savepoint-{number}") for number in range(count))
        holds = CheckpointHolds((), PinnedPlaces(pins))
        return calls_of(lambda: [[*holds.of(BASE.child(f"{n}/chk-1"))] for n in range(count)])

    assert work(80) / 80 < 1.5 * work(20) / 20
