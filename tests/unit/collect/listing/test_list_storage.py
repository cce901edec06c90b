"""A listing in many streams is whole, or it is none; and it asks for little more than it must."""

import math
import random
import threading
import time
import uuid
from functools import cache

import pytest

from orphangc.collect.listing import list_storage as listing
from orphangc.collect.listing import work_stealing as streams
from orphangc.collect.listing.list_storage import RangeLister, list_all
from orphangc.collect.listing.work_stealing import RangeScheduler
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange, gaps, landmarks, split_at
from orphangc.errors import StorageUnreachableError
from orphangc.ports.engine import ListingHints
from support import speed
from unit.collect.listing.ordered_storage import MemorySpool, OrderedStorage

JOB = "4ae4a2986a0e1a49b0f165b58085d4b3"
SHARED = f"{JOB}/shared"
NO_HINTS = ListingHints()


def some_uuids(count: int, seed: int = 1) -> list[str]:
    drawn = random.Random(seed)
    return [str(uuid.UUID(int=drawn.getrandbits(128))) for _ in range(count)]


def in_shared(names) -> list[str]:
    return sorted(f"{SHARED}/{name}" for name in names)


def silent(phase: str, done: int, total: int | None = None) -> None:
    """Show nothing."""


def jobs_of_all_sizes() -> list[str]:
    drawn = random.Random(2)
    sizes = [10, 50, 50, 300, 300, 2000, 9000, 20_000]
    return sorted(
        f"{drawn.getrandbits(128):032x}/shared/{name}"
        for number, size in enumerate(sizes)
        for name in some_uuids(size, number)
    )


def ids_in_a_cluster() -> list[str]:
    drawn = random.Random(3)
    return in_shared(f"{drawn.randint(12_300, 12_450)}_{each}" for each in some_uuids(40_000))


KEY_SPACES = {
    "uuids": lambda: in_shared(some_uuids(50_000)),
    "ids": ids_in_a_cluster,
    "jobs": jobs_of_all_sizes,
    "folders": lambda: sorted(f"{JOB}/chk-{n}/{u}" for n in range(4000) for u in some_uuids(5, n)),
    "deep in one prefix": lambda: sorted(f"{SHARED}/00000000000{u}" for u in some_uuids(30_000)),
    "words": lambda: sorted({"file-" + u[:3] + u[9:12] for u in some_uuids(40_000)}),
    "a few": lambda: in_shared(some_uuids(20)),
    "a page": lambda: in_shared(some_uuids(1000)),
    "nothing": list,
}
HINTS = {
    "none": NO_HINTS,
    "the job": ListingHints(directories=(JOB,)),
    "live names": ListingHints(
        directories=(JOB,), names={SHARED: some_uuids(500)}, counts={SHARED: 20_000}
    ),
    "wrong names": ListingHints(
        directories=("b" * 32, "e" * 32), names={"x/shared": [f"{n}_x" for n in range(300)]}
    ),
}


@cache
def keys_of(space: str) -> list[str]:
    """Return the keys of a space, made once, and not while tests are only collected."""
    return KEY_SPACES[space]()


@pytest.mark.parametrize("hints", HINTS)
@pytest.mark.parametrize("space", KEY_SPACES)
def test_a_listing_asks_for_little_more_than_its_pages(space, hints) -> None:
    """At most 1.01 times the full pages, and one request a range; by turns of all streams."""
    keys = keys_of(space)
    storage, spool = OrderedStorage(keys), MemorySpool()
    known = landmarks(HINTS[hints].directories, HINTS[hints].names, HINTS[hints].counts)
    ends = [each.until for each in listing.listing_ranges(known, 64) if each.until is not None]
    scheduler = RangeScheduler(split_at(EVERYTHING, ends), known)
    turns, workers = 0, [RangeLister(storage, spool, scheduler).work(patience=0) for _ in range(32)]
    while workers:
        workers = [each for each in workers if next(each, "over") is None]
        turns += 1
    full_pages = math.ceil(len(keys) / 1000)
    assert spool.keys == keys
    assert storage.requests <= 1.01 * full_pages + scheduler.ranges
    assert scheduler.ranges <= 64 + streams._FREE_TRIES + full_pages
    assert turns <= 3 * full_pages / 32 + 20, "the streams did not share the work"


def test_names_that_mislead_cost_a_bounded_number_of_empty_ranges(monkeypatch) -> None:
    """Only two digits of ten are ever used, so most middles lie in a gap."""
    monkeypatch.setattr(streams, "_FREE_TRIES", 8)
    drawn = random.Random(5)
    digits = ["".join(drawn.choice("07") for _ in range(20)) for _ in range(40_000)]
    keys = in_shared(f"{each}{number:05}" for number, each in enumerate(digits))
    storage, spool = OrderedStorage(keys), MemorySpool()
    scheduler = RangeScheduler([EVERYTHING], landmarks([], {}))
    workers = [RangeLister(storage, spool, scheduler).work(patience=0) for _ in range(32)]
    while workers:
        workers = [each for each in workers if next(each, "over") is None]
    assert spool.keys == keys
    assert scheduler._empty <= 8 + 40 // 16 + 32, "32 may be under way at once"


def test_few_known_objects_are_not_asked_for_in_many_ranges() -> None:
    """A small storage costs one request, as it always did."""
    storage, spool = OrderedStorage(in_shared(some_uuids(30))), MemorySpool()
    hints = ListingHints(directories=(JOB,), names={SHARED: some_uuids(30)})
    listed = list_all(storage, spool, hints=hints, progress=silent)
    assert (listed.objects, listed.ranges, listed.is_resumed) == (30, 1, False)
    assert storage.requests == 1


@pytest.mark.parametrize(
    "block", [0, *(pytest.param(each, marks=pytest.mark.ci) for each in range(1, 8))]
)
def test_no_schedule_of_threads_loses_or_doubles_a_key(block, monkeypatch) -> None:
    """Pages that come at random times, streams that rob each other of the smallest halves."""
    monkeypatch.setattr(
        listing, "RangeScheduler", lambda *a, **k: RangeScheduler(*a, **k, worth_cutting=2)
    )
    drawn = random.Random(block)
    keys = in_shared(some_uuids(60, block))
    for _ in range(100):
        delays = [drawn.choice([0, 0, 0, 0.0003]) for _ in range(7)]
        storage = OrderedStorage(
            keys,
            page_size=drawn.randint(1, 6),
            before=lambda number, delays=delays: time.sleep(delays[number % 7]),
            is_ahead=drawn.random() < 0.5,
        )
        spool = MemorySpool()
        hints = drawn.choice([NO_HINTS, HINTS["the job"], HINTS["live names"]])
        listed = list_all(storage, spool, hints=hints, streams=drawn.randint(2, 6), progress=silent)
        assert spool.keys == keys
        assert listed.objects == 60
        assert gaps(spool.finished()) == []


@pytest.mark.parametrize(
    "error", [StorageUnreachableError("page lost"), MemoryError(), SystemExit(143)]
)
@pytest.mark.parametrize("number", [1, 5, 17])
def test_an_error_of_any_stream_ends_the_listing(error, number) -> None:
    """It is raised as it is; there is no shorter listing."""

    def fail(request: int) -> None:
        if request == number:
            raise error

    storage = OrderedStorage(keys_of("uuids"), before=fail)
    spool = MemorySpool()
    with pytest.raises(type(error)) as raised:
        list_all(storage, spool, hints=HINTS["live names"], progress=silent)
    assert raised.value is error
    assert gaps(spool.finished())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_listing_ends_at_once(error, monkeypatch) -> None:
    """Also while every stream waits for a server that does not answer."""
    monkeypatch.setattr(listing, "_PARTING_SECONDS", 0.2)
    stuck = threading.Event()

    def interrupt(*_: object) -> None:
        raise error

    answered: list[bool] = []

    def hang(_: int) -> None:
        answered.append(stuck.wait(speed.patience()))

    storage = OrderedStorage(keys_of("uuids"), before=hang)
    with pytest.raises(error):
        list_all(storage, MemorySpool(), hints=HINTS["live names"], progress=interrupt)
    assert answered == [], "it waited for an answer"
    stuck.set()


def test_streams_that_are_given_up_add_nothing_afterwards() -> None:
    """The spool may be gone by then, or belong to the next run."""
    stuck, begun = threading.Event(), threading.Event()

    def hold(number: int) -> None:
        if number == 7:
            begun.wait(speed.patience())
            raise StorageUnreachableError("page lost")
        if number > 7:
            begun.set()
            stuck.wait(speed.patience())

    storage, spool = OrderedStorage(keys_of("uuids"), before=hold), MemorySpool()
    with pytest.raises(StorageUnreachableError):
        list_all(storage, spool, hints=HINTS["live names"], progress=silent)
    before = spool.rows
    stuck.set()
    for thread in threading.enumerate():
        if thread.name.startswith("listing-"):
            thread.join(speed.patience())
    assert spool.rows == before


def test_a_store_that_breaks_its_order_is_an_error() -> None:
    """A range would be given up as finished while keys of it are still to come."""
    keys = in_shared(some_uuids(30))
    shuffled = [*keys[10:20], *keys[:10], *keys[20:]]

    class Disordered(OrderedStorage):
        def pages(self, within: KeyRange = EVERYTHING):
            del within
            return super().pages(EVERYTHING)

    storage = Disordered(shuffled, page_size=10)
    with pytest.raises(StorageUnreachableError, match="order"):
        list_all(storage, MemorySpool(), hints=NO_HINTS, progress=silent)


def test_a_store_without_order_is_listed_by_one_stream() -> None:
    """Whatever the hints say; a key range of it would not be one."""
    keys = in_shared(some_uuids(5000))
    random.Random(1).shuffle(keys)
    storage, spool = OrderedStorage(keys, is_ordered=False), MemorySpool()
    told: list[int] = []
    listed = list_all(
        storage,
        spool,
        hints=HINTS["live names"],
        progress=lambda _, done, __=None: told.append(done),
    )
    assert (listed.ranges, storage.requests, spool.finished()) == (1, 5, [EVERYTHING])
    assert spool.keys == sorted(keys)
    assert told == [1000, 2000, 3000, 4000, 5000, 5000]


def test_a_spool_that_lacks_a_part_in_the_end_is_an_error() -> None:
    """The last look before anything is judged by the listing."""

    class Forgetful(MemorySpool):
        def finished(self) -> list[KeyRange]:
            return super().finished()[1:]

    storage = OrderedStorage(keys_of("uuids"))
    with pytest.raises(StorageUnreachableError, match="not complete"):
        list_all(storage, Forgetful(), hints=HINTS["live names"], progress=silent)


def test_an_interrupted_listing_is_gone_on_with() -> None:
    """Only what is missing is asked for, and it is said that a part of it is old."""
    keys = keys_of("uuids")

    def fail(request: int) -> None:
        if request == 40:
            raise StorageUnreachableError("page lost")

    spool = MemorySpool()
    with pytest.raises(StorageUnreachableError):
        list_all(
            OrderedStorage(keys, before=fail), spool, hints=HINTS["live names"], progress=silent
        )
    kept = spool.rows
    assert kept > 5000
    storage = OrderedStorage(keys)
    listed = list_all(storage, spool, hints=HINTS["live names"], progress=silent)
    assert (spool.keys, listed.objects, listed.is_resumed) == (keys, len(keys), True)
    assert storage.requests < 50 - kept // 1000 + 64


def test_a_long_range_is_finished_piece_by_piece() -> None:
    """A crash loses the last piece of each stream, not all that it has listed for an hour."""
    storage, spool = OrderedStorage(keys_of("uuids")), MemorySpool()
    scheduler = RangeScheduler([EVERYTHING], landmarks([], {}))
    for _ in RangeLister(storage, spool, scheduler).work(patience=0, rows_per_part=8000):
        pass
    rows = [sum(batch.num_rows for batch in batches) for _, batches in spool.parts]
    assert rows == [8000] * 6 + [2000]
    assert gaps(spool.finished()) == []
    assert storage.requests == 50


def test_a_stream_that_has_listed_all_is_not_cut_any_more() -> None:
    """Its range is being written down as finished: a part of it would be listed again."""
    scheduler = RangeScheduler([EVERYTHING], landmarks([], {}), worth_cutting=0)
    cursor = scheduler.take()
    scheduler.advance(cursor, f"{SHARED}/0", f"{SHARED}/1", 1000)
    assert scheduler.seal(cursor) == EVERYTHING
    assert scheduler.take() is None
    scheduler.finish(cursor)
    assert (cursor.until, scheduler.is_over) == (None, True)


def test_the_total_is_estimated_from_what_is_done() -> None:
    """From the part of the key space that is done; it ends with the true number."""
    keys = keys_of("uuids")
    storage, spool = OrderedStorage(keys), MemorySpool()
    known = landmarks([JOB], {})
    scheduler = RangeScheduler([EVERYTHING], known)
    assert scheduler.progress() == (0, None)
    workers = [RangeLister(storage, spool, scheduler).work(patience=0) for _ in range(4)]
    guesses = []
    while workers:
        workers = [each for each in workers if next(each, "over") is None]
        guesses.append(scheduler.progress())
    for done, total in guesses[2:]:
        assert total == pytest.approx(50_000, rel=0.1)
        assert total >= done
    assert guesses[-1] == (50_000, 50_000)
