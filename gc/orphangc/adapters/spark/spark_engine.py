"""The Spark engine: executors list key ranges, and run passes over what they listed."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import structlog

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.spark.passes import DividingTask, FileGroup, LiveSlice, PassTask, lots
from orphangc.adapters.spark.reading import ObjectTask
from orphangc.adapters.spark.session import is_on_this_machine, opened_session
from orphangc.adapters.spark.spark_listing import (
    ListedParts,
    ListingTask,
    ReadingTask,
    list_ranges,
    read_parts,
)
from orphangc.adapters.spark.tasks import Cluster
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder, remove_left_behind
from orphangc.collect.listing.list_storage import listing_ranges
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import WholeMarking
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, landmarks
from orphangc.errors import SettingsError, StorageUnreachableError
from orphangc.ports import Progress, Storage
from orphangc.ports.engine import EngineName, Listed, ListingHints, ListingPass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")

_RANGES_PER_TASK = 2
_WEIGHT_OF_TOMBSTONE = 5
"""A tombstone takes 80 bytes where a live file takes 16."""
_MOST_ROWS = 1_000_000
"""Maximum number of rows of a task: its work is repeated if an executor dies."""


class SparkEngine:
    """Lists and runs passes on the executors of a session; the driver sees names and counts."""

    name: EngineName = "spark"

    def __init__(self, session: SparkSession, folder: WorkFolder, root: Location) -> None:
        """Read our settings among Spark's: ``spark.orphangc.<name>``."""
        self._cluster = Cluster(session, folder)
        self._folder = folder
        self._root = root
        self._listed = ListedParts()
        self._groups: list[FileGroup] = []
        self._slices: list[LiveSlice] = []
        self._streams = self._cluster.setting("streams", 16)
        self._rows = self._cluster.setting("rows", 250_000)
        self._most = self._cluster.setting("listed", 50_000)
        self._large = self._cluster.setting("large", 1 << 24)
        self._most_broadcast = self._cluster.setting("broadcast", 16_000_000)

    def prepare(self) -> None:
        """Check that executors can do the work; see ``Cluster``."""
        self._cluster.prepare(self._root)

    def close(self) -> None:
        """Remove everything from the work folder."""
        self._cluster.close()

    def read_apart(
        self,
        read: Callable[[Storage, StoredObject], _T],
        base: Location,
        objects: Sequence[StoredObject],
    ) -> Mapping[StoredObject, _T]:
        """See ``Engine``; each object is a task."""
        large = [each for each in objects if each.size > self._large]
        task = ObjectTask(self._folder, read, base)
        files = self._cluster.results(task, large, lambda _: None)
        found = dict(zip(large, map(self._folder.read_packed, files), strict=True))
        for each in files:
            self._folder.discard(each)
        return found

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """See ``Engine``."""
        parts = storage.earlier_parts()
        if parts:
            reading = ReadingTask(folder=self._folder, rows=self._rows)
            self._listed = read_parts(self._cluster, parts, reading, progress)
            storage.took_parts(self._listed.objects)
            ranges = 1
        else:
            ranges = self._list(storage, hints, progress)
        self._groups = []
        return Listed(objects=self._listed.rows, ranges=ranges)

    def _list(self, storage: Storage, hints: ListingHints, progress: Progress) -> int:
        known = landmarks(hints.directories, hints.names, hints.counts)
        is_one = not storage.is_ordered
        most = _RANGES_PER_TASK * self._cluster.tasks
        ranges = [EVERYTHING] if is_one else listing_ranges(known, most)
        work = ListingTask(
            root=self._root,
            server=storage.server,
            folder=self._folder,
            streams=self._streams,
            most=self._most,
            rows=self._rows,
        )
        self._listed = list_ranges(self._cluster, ranges, work, progress)
        storage.list_requests += self._listed.requests
        return len(self._listed.finished)

    def metadata_objects(self) -> Iterator[StoredObject]:
        """See ``Engine``."""
        yield from sorted(self._listed.roots, key=lambda each: each.key)

    def links(self) -> Iterator[str]:
        """See ``Engine``."""
        yield from self._listed.links

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """See ``Engine``; what does not fit into an executor's memory is cut into slices."""
        marking = WholeMarking(live, tombstones)
        weight = len(marking) + (_WEIGHT_OF_TOMBSTONE - 1) * len(tombstones)
        count = max(1, -(-weight // self._most_broadcast))
        files = map(self._folder.write_packed, marking.slices(count))
        self._slices = [LiveSlice(number, count, file) for number, file in enumerate(files)]
        self._groups = []

    def _grouped(self, progress: Progress) -> list[FileGroup]:
        """Return what each task goes over: rows, and the one slice that knows them all."""
        files, slices, tasks = self._listed.parts, self._slices, self._cluster.tasks
        if len(slices) <= 1:
            part = slices[0] if slices else None
            return [FileGroup(each, part) for each in grouped(files, tasks)]
        work = DividingTask(self._folder, len(slices))
        found = self._cluster.results(
            work, grouped(files, tasks), lambda rows: progress("dividing", rows, self._listed.rows)
        )
        if sum(each.rows for each in found) != self._listed.rows:
            raise StorageUnreachableError("rows of the listing were lost while they were divided")
        return [
            FileGroup(each, part)
            for part in slices
            for each in grouped(
                filter(None, (one.files[part.number] for one in found)), -(-tasks // len(slices))
            )
        ]

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """See ``Engine``."""
        self._groups = self._groups or self._grouped(progress)
        task = PassTask(
            folder=self._folder, work=self._folder.write_value(work), root_name=self._root.name
        )
        found = self._cluster.results(
            task, self._groups, lambda rows: progress(work.phase, rows, self._listed.rows)
        )
        self._folder.discard(task.work)
        self._groups = [
            replace(group, marks=each.marks)
            for group, each in zip(self._groups, found, strict=True)
        ]
        progress(work.phase, self._listed.rows, self._listed.rows)
        if not found:
            nothing = work.begin()
            work.end(nothing)
            return work.together([nothing])
        return work.together(each.unpickled(self._folder) for each in found)


def grouped(files: Iterable[ExchangeFile], tasks: int) -> list[tuple[ExchangeFile, ...]]:
    """Return the files in groups of similar size, several for each concurrent task."""
    largest_first = sorted(files, key=lambda each: -each.rows)
    wanted = sum(each.rows for each in largest_first) // tasks
    return lots(largest_first, min(_MOST_ROWS, wanted))


_NEEDS_WORK = (
    "engine spark on a cluster needs --work URI: a folder that all executors see,"
    " below which it keeps its files while it runs"
)


@contextmanager
def opened_spark_engine(root: Location, work: Location | None) -> Iterator[SparkEngine]:
    """Yield the Spark engine of a storage root; its files are removed when it is closed.

    Args:
        root: The storage root; executors reach it with credentials of their environment.
        work: Folder for files during the run; ``None``: on this machine, if its executors run here.

    Raises:
        SettingsError: PySpark or Java is missing, Spark cannot be reached, or its executors cannot
            reach ``work``.
    """
    is_verbose = structlog.get_logger().is_enabled_for(logging.DEBUG)
    with TemporaryFolder() as here, opened_session(is_verbose=is_verbose) as session:
        if work is None and not is_on_this_machine(session):
            raise SettingsError(_NEEDS_WORK)
        place = canonical(here) if work is None else work.child(f"orphangc-{uuid.uuid4().hex}")
        folder = WorkFolder(place)
        engine = SparkEngine(session, folder, root)
        try:
            engine.prepare()
            if work is not None:
                remove_left_behind(folder)
            yield engine
        finally:
            engine.close()
