"""What is searched around a named place."""

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.open import BUCKETS
from orphangc.core.world.known_world import place_around, storage_of

JOB = "b" * 32


@pytest.mark.parametrize(
    ("folder", "around", "storage"),
    [
        (f"/data/ck/{JOB}/chk-3", "/data/ck", "/data"),
        (f"/ck/{JOB}/chk-3", "/ck", "/ck"),
        ("/data/sp/savepoint-1", "/data/sp", "/data"),
        ("/savepoint-1", "/savepoint-1", "/savepoint-1"),
        (f"/{JOB}/chk-3", f"/{JOB}", f"/{JOB}"),
        ("s3://b/sp/savepoint-1", "s3://b/sp", "s3://b/"),
        (f"s3://b/{JOB}/chk-3", f"s3://b/{JOB}", "s3://b/"),
    ],
)
def test_the_folder_around_a_place_is_searched_and_never_the_whole_machine(
    folder, around, storage
) -> None:
    """Beside what lies directly below the top folder is the machine, not a storage."""
    place = place_around(canonical(folder))
    assert (str(place), str(storage_of(place, None))) == (around, storage)


@pytest.mark.parametrize("scheme", sorted(BUCKETS))
def test_of_each_object_store_with_a_client_all_is_searched(scheme: str) -> None:
    """One that its table of schemes does not call an object store would be searched in part."""
    assert str(storage_of(canonical(f"{scheme}://b/ck/x"), None)) == f"{scheme}://b/"
