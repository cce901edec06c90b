"""Ports: what the collection needs from other systems, one verb each; adapters implement them.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the errors of its library: a storage that cannot be reached raises ``StorageUnreachableError``.
No error becomes an empty answer.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Protocol, TypeVar

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.kernel import VERDICT_SCHEMA as VERDICT_SCHEMA
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.ports.storage import Storage as Storage
from orphangc.ports.storage_values import HIDDEN_SCHEMA as HIDDEN_SCHEMA
from orphangc.ports.storage_values import LISTING_SCHEMA as LISTING_SCHEMA
from orphangc.ports.storage_values import DeletionResult as DeletionResult
from orphangc.ports.storage_values import DeletionStatus as DeletionStatus
from orphangc.ports.storage_values import EarlierListing as EarlierListing
from orphangc.ports.storage_values import EarlierPart as EarlierPart
from orphangc.ports.storage_values import Folder as Folder
from orphangc.ports.storage_values import HiddenKind as HiddenKind
from orphangc.ports.storage_values import StoreTime as StoreTime
from orphangc.ports.storage_values import Upload as Upload

OUTCOME_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("outcome", pa.string(), nullable=False))
    .append(pa.field("error", pa.string()))
    .append(pa.field("version_id", pa.string()))
)
"""One row for each verdict that requested an action, with its outcome."""


class OutcomeSink(Protocol):
    """Stores the outcome of each verdict, batch by batch."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``OUTCOME_SCHEMA``."""


class SpoolPart(Protocol):
    """Stores the rows of one key range; used by one thread at a time."""

    rows: int

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``LISTING_SCHEMA``."""

    def finish(self, within: KeyRange) -> None:
        """Record that these are all rows of a range: the range is listed from now on.

        The spool drops a part that is not finished.
        """


class Spool(Protocol):
    """Holds one listing on disk, so that memory does not grow with the bucket."""

    @property
    def rows(self) -> int:
        """Return how many rows the finished ranges have."""

    def part(self) -> SpoolPart:
        """Return a new part; may be called from several threads at once."""

    def finished(self) -> list[KeyRange]:
        """Return the listed ranges, those of an interrupted run included."""

    def batches(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield each row once of the finished ranges that share keys with a range.

        In large batches, by ascending ranges. May be called again.
        """


class VerdictSink(Protocol):
    """Stores verdicts, batch by batch; picklable once closed."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""

    def close(self) -> None:
        """Complete the files; may be called twice."""


_FactsT_co = TypeVar("_FactsT_co", covariant=True)


class Progress(Protocol):
    """Receives the progress of a run, and may show it."""

    def __call__(self, phase: str, done: int, total: int | None = None) -> None:
        """Report ``done`` objects of ``total`` in ``phase``.

        A ``total`` of ``None`` is unknown. The total of a listing is an estimate that changes.
        """


Waiter = Callable[[float], None]
"""Returns after some seconds."""


class FactsSource(Protocol[_FactsT_co]):
    """Something outside that knows of jobs."""

    @property
    def uri(self) -> str:
        """Return the URI of the source, without credentials."""

    def observe(self) -> _FactsT_co:
        """Return the present facts about every job that the source shows.

        Raises:
            RegistryUnavailableError: An answer is missing, forbidden or unusable; the call returns
                no part.
        """


ClusterClient = FactsSource[ClusterFacts]
"""Reads what a cluster reports about its jobs (Flink's REST API)."""

HaMetadata = FactsSource[HaFacts]
"""Finds jobs that have not ended though no cluster lists them (Kubernetes, ZooKeeper)."""


class StateFiles(Protocol):
    """The state location: tombstones, journal, history and lock; never inside a storage root."""

    location: Location

    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; empty if it does not exist."""

    def read(self, name: str) -> bytes | None:
        """Return a whole file, or ``None`` if it is absent."""

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically; replace an older one."""

    def create(self, name: str, data: bytes) -> bool:
        """Create a file unless it exists; return whether this call created it: one call does."""

    def remove(self, name: str) -> None:
        """Remove one file, or the folder of files that were; an absent one is no error."""

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file, ``None`` if absent: this reads the store's clock."""
