"""A name that an inventory lacks is missing only if the storage lacks it too."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from flinkstate.places.locations import Location
from orphangc.collect.mark.missing import Missing, confirmed, lacked_by_newest, missing_of_lasting
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.naming import artifact_name
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import RefusedError
from orphangc.ports import EarlierListing, Folder
from support.builders import BASE, JOB, a_job, a_root, some_facts

BEGUN = datetime(2026, 11, 20, 1, tzinfo=UTC)
HEAD = f"{JOB}/shared/"


def uuid(number: int) -> bytes:
    return number.to_bytes(16)


def key(number: int) -> str:
    return HEAD + artifact_name(None, uuid(number))


@dataclass
class Stored:
    """A storage of which only facts are asked; ``ages`` are hours before the inventory."""

    ages: dict[str, float]
    asked: list[str] = field(default_factory=list)
    earlier: ClassVar[EarlierListing | None] = None

    def stat(self, keys: list[ObjectKey]) -> list[StoredObject | None]:
        assert len(keys) <= 1000
        self.asked += keys
        return [
            StoredObject(
                key=each, size=1, modified_at=BEGUN - timedelta(hours=self.ages[each]), etag="e"
            )
            if each in self.ages
            else None
            for each in keys
        ]


@dataclass
class FromInventory(Stored):
    """The same, listed from an inventory."""

    earlier: ClassVar[EarlierListing | None] = EarlierListing(
        source="inventory s3://reports/manifest.json", begun_at=BEGUN
    )


def lacking(*numbers: int, others: frozenset[str] = frozenset()) -> Missing:
    return Missing({HEAD: UuidSet(map(uuid, numbers))} if numbers else {}, others)


def keys_of(missing: Missing) -> set[str]:
    found = {HEAD + artifact_name(None, each) for uuids in missing.heads.values() for each in uuids}
    return found | missing.others


def test_a_listing_is_believed() -> None:
    """No request more than today."""
    storage = Stored({key(1): -1})
    missing = lacking(1, 2)
    assert confirmed(missing, storage) is missing
    assert storage.asked == []


def test_what_is_younger_than_the_inventory_is_not_missing() -> None:
    """The latest checkpoint mostly names files of the last minutes."""
    storage = FromInventory({key(1): -5, "x/odd": -30, key(3): 0.5})
    found = confirmed(lacking(1, 2, 3, others=frozenset({"x/odd", "x/gone"})), storage)
    assert keys_of(found) == {key(2), "x/gone"}


def test_a_listing_that_was_gone_on_with_is_looked_up_too() -> None:
    """A part of it is older than this cycle; but it is of the whole root, so age proves nothing."""
    storage = Stored({key(1): -1, key(2): 1000})
    assert keys_of(confirmed(lacking(1, 2, 3), storage, is_resumed=True)) == {key(3)}


def test_every_name_is_asked_for_in_batches() -> None:
    """Thousands of them, and the last is gone."""
    storage = FromInventory({key(number): -1 for number in range(2499)})
    found = confirmed(lacking(*range(2500)), storage)
    assert keys_of(found) == {key(2499)}
    assert len(storage.asked) == 2500


@pytest.mark.parametrize("place", ["heads", "others"])
def test_an_old_file_that_the_inventory_lacks_shows_that_it_is_partial(place: str) -> None:
    """Its filter has another prefix: nothing of the rest would be known, so nothing is planned."""
    storage = FromInventory({key(1): 25, "x/odd": 25})
    missing = lacking(1) if place == "heads" else lacking(others=frozenset({"x/odd"}))
    with pytest.raises(RefusedError, match="covers only a part"):
        confirmed(missing, storage)


def test_a_file_of_the_last_day_before_the_inventory_may_be_in_it_or_not() -> None:
    """An inventory is no snapshot: what was stored shortly before is no proof."""
    assert keys_of(confirmed(lacking(1), FromInventory({key(1): 23}))) == set()


def test_a_partial_inventory_is_found_out_with_the_first_batch() -> None:
    """A whole job of a million files must not take a million requests to be refused."""
    storage = FromInventory({key(number): 100 for number in range(5000)})
    with pytest.raises(RefusedError):
        confirmed(lacking(*range(5000)), storage)
    assert len(storage.asked) == 1000


@dataclass
class Rooted(Stored):
    """A storage with a place of its own."""

    @property
    def location(self) -> Location:
        return BASE


def named_by(checkpoint_id: int, *numbers: int) -> Checkpoint:
    return a_root(checkpoint_id, names=[artifact_name(None, uuid(each)) for each in numbers])


def test_what_a_lasting_root_names_and_nothing_shows_is_missing():
    storage = Rooted({f"{JOB}/chk-42/_metadata": 1})
    roots = [named_by(42, 1, 2)]

    assert missing_of_lasting(lacking(2, 3), roots, storage, passing=()) == [key(2)]


def test_a_root_that_is_gone_by_now_was_being_deleted():
    """Flink deletes what only a subsumed checkpoint needed, then its metadata."""
    storage = Rooted({f"{JOB}/chk-43/_metadata": 1})
    roots = [named_by(42, 1, 2), named_by(43, 2)]

    assert missing_of_lasting(lacking(1, 2), roots, storage, passing=()) == [key(2)]


def test_a_root_that_only_one_reading_shows_says_nothing():
    """It came after the listing, or went with it: what it names need not be listed."""
    storage = Rooted({f"{JOB}/chk-42/_metadata": 1, f"{JOB}/chk-43/_metadata": 1})
    roots = [named_by(42, 1), named_by(43, 2)]

    missing = missing_of_lasting(lacking(1, 2), roots, storage, passing={roots[1].folder})
    assert missing == [key(1)]


def test_where_nothing_is_missing_nothing_is_asked():
    storage = Rooted({})

    assert missing_of_lasting(Missing(), [named_by(42, 1)], storage, passing=()) == []
    assert storage.asked == []


@dataclass
class Foldered(Rooted):
    """A storage that shows the folders of one job directory."""

    def folder(self, _: str) -> Folder:
        names = sorted({each.split("/")[1] for each in self.ages})
        return Folder(folders=tuple(names), objects=(), closed=())


@pytest.mark.parametrize("newest", [43, 44])
@pytest.mark.parametrize("others", [(), (4711,)])
def test_a_leftover_of_an_earlier_run_hides_no_damage(newest, others):
    """R8: ids begin anew, so the highest one may be of an earlier run (2.7)."""
    storage = Foldered({f"{JOB}/chk-{each}/_metadata": 1 for each in (newest, *others)})
    roots = {f"{JOB}/chk-{newest}": named_by(newest, 1), f"{JOB}/chk-4711": named_by(4711, 2)}
    ids = frozenset({42, *others})
    job = a_job(before=(some_facts(),), after=(some_facts(),), ids_before=ids, ids_after=ids)

    missing = lacked_by_newest([key(1)], job, storage, lambda key, _: roots[key], began=BEGUN)

    assert missing == [key(1)]
