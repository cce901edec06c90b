"""Ports: what the collection needs from other systems, one verb each; adapters implement them.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the errors of its library: a storage that cannot be reached raises ``StorageUnreachableError``.
No error becomes an empty answer.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeVar

from flinkstate.places.locations import Location
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.kernel import VERDICT_SCHEMA as VERDICT_SCHEMA
from orphangc.ports.row_files import OUTCOME_SCHEMA as OUTCOME_SCHEMA
from orphangc.ports.row_files import OutcomeSink as OutcomeSink
from orphangc.ports.row_files import Spool as Spool
from orphangc.ports.row_files import SpoolPart as SpoolPart
from orphangc.ports.row_files import VerdictSink as VerdictSink
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
