"""A search keeps what it lists of the run's other storage roots: exactly their objects."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from flinkstate.places.locations import Location
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.collect.listing.shared_listings import SharedListings
from orphangc.ports import StoreTime
from orphangc.ports.engine import MAX_RESUMED_AGE
from support.builders import T0
from unit.collect.listing.ordered_storage import OrderedStorage

BUCKET = Location("s3", "b", "/")
NAMES = ("", "_metadata", "chk-1/_metadata", "shared/é", "shared/\U0001f9ca", "x//y")
FOLDERS = ("", "a", "a/b", "a/b/c", "a/bc", "ab", "a0", "é", "\U0001f9ca", "z z")
KEYS = sorted({f"{folder}/{name}".lstrip("/") for folder in FOLDERS for name in NAMES} | {"a0"})


@dataclass
class Bucket(OrderedStorage):
    """A bucket whose clock stands."""

    location: Location = BUCKET

    def now(self) -> StoreTime:
        """Return an hour more than this machine has."""
        return StoreTime(now=T0 + timedelta(hours=1), local=T0, source="")


def at(key: str) -> Location:
    return BUCKET.child(key)


def kept(
    roots: tuple[str, ...], *aside: str, **bucket: Any
) -> tuple[dict[str, list[str]], SharedListings]:
    """Return the keys that are kept of each storage root, and the listings."""
    with ArrowSpool() as spool:
        listings = SharedListings(roots=[at(each) for each in roots], new_spool=lambda: spool)
        storage = Bucket(KEYS, **{"page_size": 3, **bucket})
        listings.listed_beside(storage, [at(each) for each in aside], lambda *_: None)
        found = {}
        for each in roots:
            listing = listings.listing_of(at(each), T0)
            if listing is not None:
                batches = listing.rows(at(each))
                found[each] = [key for batch in batches for key in batch["key"].to_pylist()]
    return found, listings


@pytest.mark.parametrize("aside", [(), ("ab",), ("z z", "not there")])
@pytest.mark.parametrize("page_size", [1, 3, 1000])
def test_the_objects_below_each_storage_root_are_kept(aside, page_size) -> None:
    """Also where one is inside another one, and whatever their names begin with."""
    roots = ("a", "a/b", "é", "\U0001f9ca", "nothing here")
    found, _ = kept(roots, *aside, page_size=page_size)
    assert found == {
        root: [key.removeprefix(f"{root}/") for key in KEYS if key.startswith(f"{root}/")]
        for root in roots
    }


def test_a_whole_bucket_may_be_a_storage_root() -> None:
    """Its keys are its own."""
    assert kept(("",))[0] == {"": KEYS}


@pytest.mark.parametrize("aside", ["a", "a/b", "a/b/c"])
def test_a_storage_root_that_is_left_out_in_part_is_not_kept(aside) -> None:
    """It is listed by its own cycle, as one that contains or is in the storage root at hand."""
    assert kept(("a/b", "ab"), aside)[0].keys() == {"ab"}


def test_a_storage_without_an_order_is_not_kept() -> None:
    """A second walk costs no request."""
    assert kept(("a",), is_ordered=False)[0] == {}


@pytest.mark.parametrize(
    ("age", "is_used"),
    [
        (timedelta(0), True),
        (MAX_RESUMED_AGE, True),
        (MAX_RESUMED_AGE + timedelta(seconds=1), False),
        (timedelta(seconds=-1), False),
    ],
)
def test_a_listing_is_used_for_hours(age, is_used) -> None:
    """The sweep of an earlier storage root may take a day."""
    _, listings = kept(("a",))
    listing = listings.listing_of(at("a"), T0 + age)
    assert (listing is not None) is is_used
    assert listing is None or listing.begun_at == T0 + timedelta(hours=1)


def test_a_listing_that_fails_leaves_nothing() -> None:
    """A part of it is no listing."""

    def fail(number: int) -> None:
        if number == 3:
            raise OSError("gone")

    bucket = Bucket(KEYS, page_size=3, before=fail)
    with ArrowSpool() as spool:
        listings = SharedListings(roots=[at("a")], new_spool=lambda: spool)
        with pytest.raises(OSError, match="gone"):
            listings.listed_beside(bucket, (), lambda *_: None)
    assert listings.kept == {}
