"""A job beside the storage root keeps a checkpoint at each moment; a search misses none."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from cli.helpers import metadata
from flinkstate.places.locations import canonical
from orphangc.collect.observe.storage_search import StorageSearch
from orphangc.core.decision.evidence import UnreadableCheckpoint
from safety.simulation.cloud import Cloud, Storage

STORE = canonical("s3://flink")
JOB = f"team-b/{'2' * 32}"
FILE = f"s3://flink/ck/{'1' * 32}/shared/00000000-0000-4000-8000-000000000001"


@dataclass
class Flink:
    """A running job; each request of the collector is a moment at which it may go on."""

    cloud: Cloud  # its bucket
    number: int  # of its checkpoint
    # requests before which a checkpoint completes and the one before it goes
    at: Collection[int] = ()
    requests: int = 0  # number of requests so far
    own: int = 4  # files in a checkpoint's folder beside its ``_metadata``
    asked: list[str] = field(default_factory=list)
    # whether each checkpoint is of another job, which claimed the one before it
    is_redeployed: bool = False
    deployment: int = 90  # counts down: its directory sorts before the one that was listed
    one_moment: threading.RLock = field(default_factory=threading.RLock)  # requests come together

    @property
    def job(self) -> str:
        return f"team-b/{self.deployment:032x}" if self.is_redeployed else JOB

    def checkpoint(self) -> None:
        for each in range(self.own):
            self.cloud.put(f"{self.job}/chk-{self.number}/{each}")
        self.cloud.put(f"{self.job}/chk-{self.number}/_metadata", metadata(self.number, [FILE]))

    def call(self, kind: str, do: Callable[[], Any], *_: object, **__: object) -> Any:
        """Answer a request, after what happens first; see ``Process``."""
        with self.one_moment:
            self.requests += 1
            self.asked.append(kind)
            if self.requests in self.at:
                old = f"{self.job}/chk-{self.number}/"
                self.number += 1
                self.deployment -= 1
                self.checkpoint()
                for key in [key for key in self.cloud.blobs if key.startswith(old)]:
                    self.cloud.drop(key)
            return do()


def search_of(flink: Flink) -> StorageSearch:
    storage = Storage(STORE, flink.cloud, flink, lambda _: None)
    return StorageSearch(
        named=[(STORE, "a setting")],
        storage_of=lambda _: STORE,
        open_storage=lambda _: storage,
        own=None,
    )


def contents(search: StorageSearch, listings: Any, named: Collection[Any] = ()) -> Any:
    """Return what was found, read after the listings."""
    return search.contents(listings, named, read=[], links=[], seen={})


def searched(
    at: Collection[int],
    *,
    number: int = 9,
    has_old: bool = False,
    has_areas: bool = True,
    is_redeployed: bool = False,
) -> tuple[Flink, bool]:
    """Return the job after a search, and whether this found a checkpoint that names the file."""
    flink = Flink(Cloud(timedelta(0)), number, at, is_redeployed=is_redeployed)
    if has_areas:
        flink.cloud.put(f"{JOB}/shared/x")
    if has_old:
        flink.cloud.put(f"{JOB}/chk-3/_metadata", metadata(3, []))
        flink.cloud.put(f"{JOB}/chk-5/failed")
    for each in ("a/1", "a/2", "z/1", "z/2", "z/3"):
        flink.cloud.put(each)
    flink.checkpoint()
    search = search_of(flink)
    (found,) = contents(search, search.listings([]))
    is_named = any(
        FILE[-36:] in names for each in found.checkpoints for names in each.files.values()
    )
    return flink, is_named or any(isinstance(e, UnreadableCheckpoint) for e in found.unreadable)


@pytest.mark.parametrize("has_areas", [True, False])
@pytest.mark.parametrize("has_old", [True, False])
def test_a_checkpoint_that_is_replaced_before_any_request_is_not_missed(has_old, has_areas) -> None:
    """Keys sort chk-10 before chk-9: a listing may pass the one before it is there."""
    still, is_kept = searched((), has_old=has_old, has_areas=has_areas)
    assert is_kept
    for first in range(1, still.requests + 6):
        for second in (0, first + 1, first + 2, first + 4):
            flink, is_kept = searched((first, second), has_old=has_old, has_areas=has_areas)
            assert is_kept, (first, second, flink.asked)


def test_a_checkpoint_that_a_new_job_claimed_before_any_request_is_not_missed() -> None:
    """Its folder was listed and is gone, and that of the new job is in no listing yet."""
    still, is_kept = searched((), is_redeployed=True)
    assert is_kept
    read = still.asked.index("read")
    for second in (0, 1, 2, 5):
        flink, is_kept = searched((read + 1, read + 1 + second), is_redeployed=True)
        assert is_kept, (second, flink.asked)


def test_a_savepoint_that_is_disposed_meanwhile_stops_nothing() -> None:
    """The second listing shows that nothing is left of it."""
    flink = Flink(Cloud(timedelta(0)), 9)
    flink.cloud.put("savepoints/savepoint-1/_metadata", metadata(1, [FILE]))
    search = search_of(flink)
    listings = search.listings([])
    flink.cloud.drop("savepoints/savepoint-1/_metadata")
    (found,) = contents(search, listings)
    assert (found.unreadable, found.checkpoints) == ((), ())


def test_a_job_that_goes_on_at_each_request_cannot_be_read() -> None:
    """It keeps every file, or one of its checkpoints was read."""
    _, is_kept = searched(range(1, 1000))
    assert is_kept


AZURE = "abfs://c@a.dfs.core.windows.net/ck"


@pytest.mark.parametrize(
    ("own", "pinned", "is_one"),
    [
        (AZURE, "az://c/ck/job/shared", True),
        ("az://c/ck", f"{AZURE}/job/shared", True),
        ("hdfs://nn:8020/ck", "hdfs:///ck/job", True),
        ("hdfs://nn:8020/ck", "hdfs://NN/ck/job", True),
        ("hdfs://flink@nn:8020/ck", "hdfs://nn:8020/ck/job", True),
        (AZURE, "wasbs://c@a.blob.core.windows.net/ck/job", False),
        (AZURE, "abfs://c@b.dfs.core.windows.net/ck/job", False),
        ("az://c/ck", "az://d/ck/job", False),
    ],
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_place_under_another_name_of_its_storage_stops(own, pinned, is_one, is_whole) -> None:
    """It is another one than that of the storage root: no pin would keep a file."""
    root, pin = canonical(own), canonical(pinned)
    flink = Flink(Cloud(timedelta(0)), 9)
    search = StorageSearch(
        named=[(root, "the settings")] if is_whole else [],
        scanned=[] if is_whole else [root],
        roots=[root],
        storage_of=lambda place: place.top if is_whole else place,
        open_storage=lambda place: Storage(place, flink.cloud, flink, lambda _: None),
        own=root if is_whole else None,
        is_whole=is_whole,
    )
    named = [(pin, "a pin")]
    listings = search.listings(named)
    found = contents(search, listings, named=named)
    problems = {each.location for each in found if each.problem is not None}
    assert problems == ({pin} if is_one else set())


def test_what_stops_as_another_name_is_read_all_the_same() -> None:
    """A checkpoint there needs its files, whatever the place is called."""
    root, pin = canonical(AZURE), canonical("az://c")
    flink = Flink(Cloud(timedelta(0)), 9)
    flink.checkpoint()
    search = replace(
        search_of(flink),
        named=[],
        scanned=[root],
        roots=[root],
        storage_of=lambda place: place,
        open_storage=lambda place: Storage(place, flink.cloud, flink, lambda _: None),
        is_whole=False,
    )
    named = [(pin, "a pin")]
    (found,) = contents(search, search.listings(named), named)
    assert found.problem is not None
    assert [each.checkpoint_id for each in found.checkpoints] == [9]


def test_a_storage_root_that_was_named_otherwise_before_stops_nothing() -> None:
    """The state location still serves the first name: who follows the advice would stay blocked."""
    root, before = canonical("hdfs://nn:8020/ck"), canonical("hdfs:///ck")
    flink = Flink(Cloud(timedelta(0)), 9)
    search = replace(
        search_of(flink),
        named=[(root, "the settings"), (before, "another storage root")],
        roots=[root],
        storage_of=lambda place: place.top,
        open_storage=lambda place: Storage(place, flink.cloud, flink, lambda _: None),
    )
    named = [(root.child(JOB), "a cluster")]
    found = contents(search, search.listings(named), named)
    assert not [each.problem for each in found if each.problem is not None]
