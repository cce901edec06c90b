"""Listing on Spark: each task lists some key ranges into files, and leaves the rest to others."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.adapters.spark.reading import opened_at
from orphangc.adapters.spark.tasks import Cluster
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.collect.listing.list_storage import list_some
from orphangc.collect.listing.noted_names import NotedNames
from orphangc.collect.listing.work_stealing import RemainingRange
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange, gaps
from orphangc.core.ranges.split_points import midpoint
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA, EarlierPart, Progress, SpoolPart

_MOST_ROUNDS = 64
_PART_OF_ALL = 10
"""A task lists no more than this part of what was listed before it began."""
_RANGES_PER_TASK = 2
_WORTH_A_RANGE = 4000
"""Minimum number of objects of a range: each range costs a request."""


@dataclass(slots=True)
class ListedParts:
    """Result of one or more listing tasks.

    Attributes:
        parts: Files of ``LISTING_SCHEMA``.
        roots: Objects that may be a ``_metadata``, which are few.
        links: Keys of links, as ``links_in`` has them.
        objects: Number of objects in parts of an earlier listing, see ``EarlierPart``.
    """

    parts: list[ExchangeFile] = field(default_factory=list)
    requests: int = 0
    finished: list[KeyRange] = field(default_factory=list)
    roots: list[StoredObject] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    objects: int = 0
    rests: list[RemainingRange] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return sum(each.rows for each in self.parts)

    def add(self, other: ListedParts) -> None:
        """Add what another task listed; its remainders belong to the next round."""
        self.parts += other.parts
        self.requests += other.requests
        self.finished += other.finished
        self.roots += other.roots
        self.links += other.links
        self.objects += other.objects


class PartFiles:
    """The spool of one task: rows of all its ranges together, in files of the work folder.

    They count only if the whole task succeeds, so nothing has to be dropped range by range.
    """

    def __init__(self, folder: WorkFolder, rows_per_file: int) -> None:
        self.files: list[ExchangeFile] = []
        self.noted = NotedNames()
        self._finished: list[KeyRange] = []
        self._folder = folder
        self._rows_per_file = rows_per_file
        self._lock = threading.Lock()
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0

    @property
    def rows(self) -> int:
        """Return the number of rows; see ``Spool``."""
        return sum(each.rows for each in self.files) + self._held_rows

    def part(self) -> SpoolPart:
        """Return a new part; see ``Spool``."""
        return _Part(self)

    def finished(self) -> list[KeyRange]:
        """Return the listed ranges; see ``Spool``."""
        return self._finished

    def batches(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield all rows; see ``Spool``."""
        del within
        return map(self._folder.read_rows, self.files)

    def close(self) -> None:
        """Write what is held."""
        self._write(self._held)
        self._held, self._held_rows = [], 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Hold a batch; write what is held if it fills a file."""
        self.noted.note(batch)
        with self._lock:
            self._held.append(batch)
            self._held_rows += batch.num_rows
            if self._held_rows < self._rows_per_file:
                return
            full, self._held, self._held_rows = self._held, [], 0
        self._write(full)

    def _write(self, pages: Sequence[pa.RecordBatch]) -> None:
        batches = pa.Table.from_batches(pages, LISTING_SCHEMA).combine_chunks().to_batches()
        if batches:
            self.files.append(self._folder.write_rows("listed", batches))


@dataclass(slots=True)
class _Part:
    files: PartFiles
    rows: int = 0

    def append(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self.files.take(batch)

    def finish(self, within: KeyRange) -> None:
        self.files.finished().append(within)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingTask:
    """Lists ranges of a storage root in an executor.

    Attributes:
        root: Location of the storage root; credentials come from the executor's environment.
        server: Where the driver's requests for it go.
        streams: Number of concurrent requests.
        most: Number of objects after which a task leaves the rest to others.
        rows: Approximate number of rows of a file.
    """

    root: Location
    server: str
    folder: WorkFolder
    streams: int
    most: int
    rows: int

    def __call__(self, ranges: list[KeyRange]) -> ListedParts:
        """Return what was listed, and what is left."""
        storage = opened_at(self.root, self.server)
        before = storage.list_requests
        files = PartFiles(self.folder, self.rows)
        left = list_some(storage, files, ranges, streams=self.streams, most=self.most)
        files.close()
        return ListedParts(
            parts=files.files,
            requests=storage.list_requests - before,
            finished=files.finished(),
            roots=files.noted.objects,
            links=files.noted.links,
            rests=left,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingTask:
    """Reads parts of an earlier listing in an executor."""

    folder: WorkFolder
    rows: int

    def __call__(self, parts: Sequence[EarlierPart]) -> ListedParts:
        """Return what the parts hold."""
        files = PartFiles(self.folder, self.rows)
        objects = sum(each.read(files.take) for each in parts)
        files.close()
        return ListedParts(
            parts=files.files, roots=files.noted.objects, links=files.noted.links, objects=objects
        )


def read_parts(
    cluster: Cluster, parts: Sequence[EarlierPart], work: ReadingTask, progress: Progress
) -> ListedParts:
    """Read an earlier listing, in tasks of similar weight.

    Raises:
        RefusedError: A part is absent or damaged; nothing was planned.
        StorageUnreachableError: A part cannot be read, or Spark lost a task.
    """
    heaviest_first = sorted(parts, key=lambda each: -each.weight)
    tasks = min(len(parts), cluster.tasks)
    total = ListedParts()
    given = [heaviest_first[number::tasks] for number in range(tasks)]
    for each in cluster.results(work, given, lambda rows: progress("listing", rows)):
        total.add(each)
    progress("listing", total.rows, total.rows)
    return total


def list_ranges(
    cluster: Cluster, ranges: Sequence[KeyRange], work: ListingTask, progress: Progress
) -> ListedParts:
    """List ranges in rounds of ever larger tasks, or raise ``StorageUnreachableError``."""
    total = ListedParts()
    left, expected = list(ranges), None
    for _ in range(_MOST_ROUNDS):
        tasks = min(len(left), cluster.tasks)
        now = replace(work, most=max(work.most, total.rows // _PART_OF_ALL))
        given = [left[number::tasks] for number in range(tasks)]
        show = partial(_show, progress, total.rows, expected)
        found = cluster.results(now, given, show)
        for each in found:
            total.add(each)
        rests = [rest for each in found for rest in each.rests]
        expected = total.rows + round(sum(rest.objects for rest in rests))
        progress("listing", total.rows, expected)
        if not rests:
            _check_whole(total, ranges, work.root)
            return total
        left = _split_all(rests, _RANGES_PER_TASK * cluster.tasks)
    raise StorageUnreachableError(f"{work.root} grows faster than it is listed")


def _show(progress: Progress, before: int, expected: int | None, rows: int) -> None:
    """Show how many objects are listed, of an estimate that a round may exceed."""
    listed = before + rows
    progress("listing", listed, None if expected is None else max(listed, expected))


def _check_whole(listed: ListedParts, ranges: Sequence[KeyRange], root: Location) -> None:
    """Make sure that each key belongs to exactly one listed range."""
    try:
        missing = [gap for each in ranges for gap in gaps(listed.finished, each)]
    except ValueError as err:
        raise StorageUnreachableError(f"{root} was listed twice in part: {err}") from err
    if missing:
        raise StorageUnreachableError(f"{root}: the listing lacks {len(missing)} ranges of keys")


def _split_all(rests: Sequence[RemainingRange], wanted: int) -> list[KeyRange]:
    size = max(sum(rest.objects for rest in rests) / wanted, _WORTH_A_RANGE)
    return [part for rest in rests for part in _split(rest, int(rest.objects / size))]


def _split(rest: RemainingRange, count: int) -> list[KeyRange]:
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
