"""Listing on Spark: tasks list groups of key ranges into files; heavy ranges are split again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location
from orphangc.adapters.open import open_storage
from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder
from orphangc.adapters.spark.range_reader import RangeReaders, RemainingRange
from orphangc.adapters.spark.tasks import Cluster, packed
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.core.ranges.split_points import midpoint
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA, Progress, Storage

_RANGE = pa.schema([("after", pa.binary()), ("until", pa.binary())])
_MOST_ROUNDS = 64
_WORTH_A_RANGE = 4000
"""Minimum number of objects of a range: each range costs a request."""


@dataclass(slots=True)
class ListedParts:
    """Result of one or more listing tasks.

    Attributes:
        parts: Files of ``LISTING_SCHEMA``.
        objects: Number of objects in the files; folders are rows, but no objects.
        requests: Number of list requests.
        ranges: Number of listed ranges; each part of a split range counts.
        roots: Objects called ``_metadata``, which are few.
        rests: Ranges that remain to be listed.

    """

    parts: list[ExchangeFile] = field(default_factory=list)
    objects: int = 0
    requests: int = 0
    ranges: int = 0
    roots: list[StoredObject] = field(default_factory=list)
    rests: list[RemainingRange] = field(default_factory=list)

    def add(self, other: ListedParts) -> None:
        """Add the files and counts of another task; its remainders belong to the next round."""
        self.parts += other.parts
        self.objects += other.objects
        self.requests += other.requests
        self.ranges += other.ranges
        self.roots += other.roots


@lru_cache(maxsize=4)
def _opened(root: Location) -> Storage:
    """Return the storage, opened once for each executor process, which runs tasks in turn."""
    return open_storage(root)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingWork:
    """Work of one task: list its ranges, several at once, into files.

    Attributes:
        root: Location of the storage root; credentials come from the executor's environment.
        folder: Work folder for the files.
        streams: Number of concurrent ranges.
        most_pages: Maximum number of pages of a range; ``None`` lists all of it.
        rows: Approximate number of rows of a file.

    """

    root: Location
    folder: WorkFolder
    streams: int
    most_pages: int | None
    rows: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one ``ListedParts``."""
        ranges = [each for batch in batches for each in _ranges_of(batch)]
        storage = _opened(self.root)
        before = storage.list_requests
        streams = RangeReaders(storage, self.most_pages)
        found = ListedParts(ranges=len(ranges))
        held: list[pa.RecordBatch] = []
        count = 0
        for page in streams.pages(ranges, min(self.streams, max(1, len(ranges)))):
            held.append(page)
            count += page.num_rows
            if count >= self.rows:
                self._write(held, found)
                held, count = [], 0
        if count:
            self._write(held, found)
        found.rests = streams.rests
        found.requests = storage.list_requests - before
        yield packed([found])

    def _write(self, pages: Sequence[pa.RecordBatch], found: ListedParts) -> None:
        table = pa.Table.from_batches(pages, LISTING_SCHEMA).combine_chunks()
        batches = table.to_batches()
        found.parts.append(self.folder.write_rows("listed", batches))
        for batch in batches:
            found.objects += batch.num_rows - batch.column("size").null_count
            found.roots += _roots_in(batch)


def _roots_in(batch: pa.RecordBatch) -> list[StoredObject]:
    """Return the objects called ``_metadata``."""
    keys = batch.column("key")
    is_root = pc.or_(pc.equal(keys, METADATA_NAME), pc.ends_with(keys, f"/{METADATA_NAME}"))
    is_object = batch.column("size").is_valid()
    rows = batch.filter(pc.and_(is_root, is_object)).to_pylist()
    return [StoredObject(**row) for row in rows]


def _table_of(ranges: Sequence[KeyRange]) -> pa.Table:
    """Return ranges as rows, with keys in bytes so that no layer in between can alter them."""
    edges = [[each.after for each in ranges], [each.until for each in ranges]]
    columns = [
        pa.array([None if key is None else key.encode() for key in keys], pa.binary())
        for keys in edges
    ]
    return pa.Table.from_arrays(columns, schema=_RANGE)


def _ranges_of(batch: pa.RecordBatch) -> Iterator[KeyRange]:
    edges = (batch.column("after").to_pylist(), batch.column("until").to_pylist())
    for after, until in zip(*edges, strict=True):
        yield KeyRange(
            None if after is None else after.decode(), None if until is None else until.decode()
        )


def list_ranges(
    cluster: Cluster, ranges: Sequence[KeyRange], work: ListingWork, progress: Progress
) -> ListedParts:
    """List ranges in rounds; split the remainders of heavy ranges for the next round.

    Each round allows a range twice as many pages as the round before, so that the number of rounds
    stays small for any distribution of keys.

    Raises:
        StorageUnreachableError: A range could not be listed completely.

    """
    wanted = max(len(ranges), cluster.slots * work.streams)
    total = ListedParts()
    left = list(ranges)
    most_pages = work.most_pages
    for _ in range(_MOST_ROUNDS):
        found = _round(cluster, left, work, most_pages)
        for each in found:
            total.add(each)
        progress("listing", total.objects)
        rests = [rest for each in found for rest in each.rests]
        if not rests:
            return total
        left = _split_all(rests, wanted)
        most_pages = None if most_pages is None else 2 * most_pages
    raise StorageUnreachableError(f"{work.root} grows faster than it is listed")


def _round(
    cluster: Cluster, ranges: Sequence[KeyRange], work: ListingWork, most_pages: int | None
) -> list[ListedParts]:
    """Return the result of each task; neighbouring ranges go to different tasks."""
    tasks = min(len(ranges), 2 * cluster.slots)
    frame = cluster.rows([_table_of(ranges[number::tasks]) for number in range(tasks)])
    now = ListingWork(
        root=work.root,
        folder=work.folder,
        streams=work.streams,
        most_pages=most_pages,
        rows=work.rows,
    )
    found: list[ListedParts] = cluster.results(frame, now)
    if len(found) != tasks or sum(each.ranges for each in found) != len(ranges):
        raise StorageUnreachableError(f"{work.root}: Spark lost a part of the listing")
    return found


def _split_all(rests: Sequence[RemainingRange], wanted: int) -> list[KeyRange]:
    """Split the remainders into about ``wanted`` ranges of similar size, none too small."""
    size = max(sum(rest.objects for rest in rests) / wanted, _WORTH_A_RANGE)
    return [part for rest in rests for part in _split(rest, int(rest.objects / size))]


def _split(rest: RemainingRange, count: int) -> list[KeyRange]:
    """Split a remainder into at most ``count`` ranges of similar size."""
    found = [rest.within]
    while len(found) < count:
        halves = [half for each in found for half in _halves(each, rest)]
        if len(halves) == len(found):
            break
        found = halves
    return found


def _halves(within: KeyRange, rest: RemainingRange) -> list[KeyRange]:
    middle = midpoint(within.after or "", within, rest.scale)
    if middle is None:
        return [within]
    return [KeyRange(within.after, middle), KeyRange(middle, within.until)]
