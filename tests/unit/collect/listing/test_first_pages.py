"""About how many objects there are: by a page of each of a few job directories."""

import random
import uuid

import pytest

from orphangc.collect.listing.first_pages import ObjectEstimate, estimated_objects
from orphangc.ports import Folder
from unit.collect.listing.ordered_storage import OrderedStorage

ENOUGH = 10_000


class Storage(OrderedStorage):
    """Keys in memory, and their folders."""

    def folder(self, prefix: str = "") -> Folder:
        assert not prefix
        names = dict.fromkeys(key.partition("/")[0] for key in self.keys if "/" in key)
        return Folder(tuple(names), ())


def stored(jobs: int, files: int, *, seed: int = 1) -> Storage:
    dice = random.Random(seed)
    keys = [
        f"{job:032x}/shared/{uuid.UUID(int=dice.getrandbits(128))}"
        for job in range(jobs)
        for _ in range(files)
    ]
    return Storage(sorted(keys))


@pytest.mark.parametrize(("jobs", "files"), [(1, 40_000), (1, 900), (3, 5_000), (40, 1_500)])
def test_the_first_pages_tell_about_how_many_there_are(jobs: int, files: int) -> None:
    """UUIDs are spread evenly, so the reach of a page tells the rest; a few jobs stand for all."""
    storage = stored(jobs, files)
    found = estimated_objects(storage, ENOUGH)
    assert found.objects == pytest.approx(jobs * files, rel=0.2)
    assert not found.is_exact
    assert storage.requests <= 8


def test_a_store_without_an_order_is_counted_until_there_are_enough() -> None:
    """No page of it says how far it reaches."""
    storage = stored(1, 25_000)
    storage.is_ordered = False
    assert estimated_objects(storage, ENOUGH) == ObjectEstimate(ENOUGH, is_exact=False)
    assert storage.requests == ENOUGH // 1000
    assert estimated_objects(storage, 10**9) == ObjectEstimate(25_000, is_exact=True)


def test_a_root_without_job_directories_is_counted() -> None:
    """It may itself be a job directory."""
    storage = Storage([f"shared/{number:04}" for number in range(30)])
    assert estimated_objects(storage, ENOUGH) == ObjectEstimate(30, is_exact=True)
