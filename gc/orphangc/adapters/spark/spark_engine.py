"""The Spark engine: list by key range, join with the evidence, run passes over the marked rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location
from orphangc.adapters.spark.broadcast import REMEMBERED, Evidence, write_evidence
from orphangc.adapters.spark.exchange.exchange_rows import ExchangeSpace
from orphangc.adapters.spark.exchange.work_folder import WorkFolder
from orphangc.adapters.spark.join import PART_BITS
from orphangc.adapters.spark.passes import UUID_ROWS, ExecutorResult, PassPart, PassWork, UuidWork
from orphangc.adapters.spark.spark_listing import ListedParts, ListingWork, list_ranges
from orphangc.adapters.spark.tasks import Cluster, packed, unpacked
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange, landmarks, split_at
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Progress, Storage
from orphangc.ports.engine import EngineName, Listed, ListingHints, ListingPass

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_T = TypeVar("_T")

_KNOWN_PER_RANGE = 32
"""Referenced objects for each first range: a range costs a request, so it should not be empty."""

_MOST_PARTS = 16
"""Maximum number of parts of a task: its work is repeated if an executor dies."""


class SparkEngine:
    """Lists and runs passes on the executors of a session; the driver sees file names and counts.

    Attributes:
        name: Name of the engine: ``spark``.

    """

    name: EngineName = "spark"

    def __init__(self, session: SparkSession, folder: WorkFolder, root: Location) -> None:
        """Read our settings among Spark's: ``spark.orphangc.<name>``."""
        self._cluster = Cluster(session, folder)
        self._folder = folder
        self._root = root
        self._listed = ListedParts()
        self._parts: list[PassPart] = []
        self._evidence: Evidence | None = None
        self._streams = self._cluster.setting("streams", 16)
        self._rows = self._cluster.setting("rows", 250_000)
        self._pages = self._cluster.setting("pages", 64)
        self._most_broadcast = self._cluster.setting("broadcast", 2_000_000)

    def prepare(self) -> None:
        """Check that executors can do the work; see ``Cluster``."""
        self._cluster.prepare()

    def close(self) -> None:
        """Remove everything from the work folder."""
        self._cluster.close()

    # --- distributing work

    @property
    def slots(self) -> int:
        """Return the number of concurrent tasks."""
        return self._cluster.slots

    @property
    def scratch(self) -> ExchangeSpace:
        """Return temporary space that executors see."""
        return ExchangeSpace(self._folder)

    def run_partitions(self, work: Callable[[int, Any], Any], piles: Sequence[Any]) -> list[Any]:
        """Return the results of the work on each partition without ``None``; one task for each
        slot.

        Spark may run a partition twice: the work must be safe to repeat.
        """
        shares = [
            pa.Table.from_batches([packed([(number, pile)])]) for number, pile in enumerate(piles)
        ]
        if not shares:
            return []
        found = self._cluster.results(self._cluster.rows(shares), partial(_on_shares, work))
        return [each for each in found if each is not None]

    # --- listing

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """See ``Engine``."""
        ranges = self._ranges(hints) if storage.is_ordered else [EVERYTHING]
        work = ListingWork(
            root=self._root,
            folder=self._folder,
            streams=self._streams,
            most_pages=self._pages if storage.is_ordered else None,
            rows=self._rows,
        )
        self._listed = list_ranges(self._cluster, ranges, work, progress)
        self._parts = [PassPart(file) for file in self._listed.parts]
        storage.list_requests += self._listed.requests
        return Listed(objects=self._listed.objects, ranges=self._listed.ranges)

    def _ranges(self, hints: ListingHints) -> list[KeyRange]:
        """Return the first ranges: few if few objects are known."""
        known = landmarks(hints.directories, hints.names, hints.counts)
        most = 2 * self._cluster.slots * self._streams
        wanted = max(1, min(most, int(known.weight) // _KNOWN_PER_RANGE))
        return split_at(EVERYTHING, known.boundaries(wanted))

    def objects_named(self, name: str) -> Iterator[StoredObject]:
        """See ``Engine``; the listing collects objects called ``_metadata`` only."""
        if name != METADATA_NAME:
            raise ValueError(f"nobody looked out for {name!r}")
        yield from self._listed.roots

    # --- passes

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """See ``Engine``; the next pass, the first to need the marks, joins the rows."""
        self._parts = [PassPart(each.listed) for each in self._parts]
        self._evidence = write_evidence(self._folder, live, tombstones, self._root.name)

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """See ``Engine``."""
        evidence, self._evidence = self._evidence, None
        is_joined = evidence is not None and evidence.rows > 0
        passing = PassWork(
            folder=self._folder,
            parts=self._folder.write_value(self._parts),
            work=self._folder.write_value(work),
            root_name=self._root.name,
            is_joined=is_joined,
            others=tuple(evidence.others) if evidence is not None else (),
        )
        frame = self._numbers()
        if evidence is not None and is_joined:
            frame = self._joined(frame, passing, evidence)
        found: list[ExecutorResult] = self._cluster.results(frame, passing) if self._parts else []
        self._take(found)
        progress(work.phase, self._listed.objects)
        values = [each.unpickled(self._folder) for each in found]
        return work.together(values or [self._nothing(work)])

    def _nothing(self, work: ListingPass[_T]) -> _T:
        """Return the result of a pass over no rows."""
        found = work.begin()
        work.end(found)
        return found

    def _numbers(self) -> DataFrame:
        """Return the numbers of the parts, neighbours in one partition."""
        count = len(self._parts)
        tasks = max(min(count, 3 * self._cluster.slots), -(-count // _MOST_PARTS))
        groups = [range(at * count // tasks, (at + 1) * count // tasks) for at in range(tasks)]
        return self._cluster.rows(
            [pa.table({"part": pa.array(each, pa.int32())}) for each in groups]
        )

    def _joined(self, numbers: DataFrame, passing: PassWork, evidence: Evidence) -> DataFrame:
        """Return each UUID of the listing joined with live set and tombstones."""
        from pyspark.sql import functions as f  # noqa: PLC0415 - an optional extra

        uuids = UuidWork(folder=self._folder, parts=passing.parts, root_name=self._root.name)
        rows = self._cluster.map(numbers, uuids, UUID_ROWS)
        flags, remembered = f.lit(0).cast("byte"), []
        is_small = evidence.rows <= self._most_broadcast
        if evidence.live:
            live = self._hinted(evidence.live_frame(self._cluster), is_small=is_small)
            is_it = (rows.hi == live.live_hi) & _is_equal(rows.lo, live.live_lo)
            rows = rows.join(live, is_it, "left")
            flags = f.coalesce("flags", flags)
        if evidence.tombstones:
            old = self._hinted(evidence.tombstone_frame(self._cluster), is_small=is_small)
            is_it = (rows.hi == old.tombstone_hi) & _is_equal(rows.lo, old.tombstone_lo)
            rows = rows.join(old, is_it, "left")
            remembered = REMEMBERED.names
        rows = rows.select("id", flags.alias("flags"), *remembered)
        number = f.shiftright("id", PART_BITS)
        return rows if is_small else rows.repartition(len(self._parts), number)

    def _hinted(self, frame: DataFrame, *, is_small: bool) -> DataFrame:
        """Return a frame that Spark sends to all executors if it is small.

        Spark does not know the size of the frame, and would sort both sides.
        """
        from pyspark.sql import functions as f  # noqa: PLC0415 - an optional extra

        return f.broadcast(frame) if is_small else frame

    def _take(self, found: list[ExecutorResult]) -> None:
        """Store the marks, and check that the pass saw each part exactly once.

        Raises:
            StorageUnreachableError: A part is missing or was seen twice.

        """
        passed = [number for each in found for number in each.marks]
        if sorted(passed) != list(range(len(self._parts))):
            raise StorageUnreachableError("Spark passed over other parts than were listed")
        for each in found:
            for number, marks in each.marks.items():
                if marks is not None:
                    self._parts[number] = replace(self._parts[number], marks=marks)


def _is_equal(left: Column, right: Column) -> Column:
    """Return whether two words are equal, as an expression that Spark makes no join key of.

    A join by a single number is twice as fast. One half of a UUID distinguishes almost all UUIDs;
    this condition distinguishes the rest.
    """
    return left.bitwiseXOR(right) == 0


def _on_shares(
    work: Callable[[int, Any], Any], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do the shares of one task."""
    for batch in batches:
        for number, pile in unpacked(pa.Table.from_batches([batch])):
            yield packed([work(number, pile)])
