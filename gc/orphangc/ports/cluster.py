"""What knows about jobs: Flink clusters, exporter folders, HA metadata."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.model.locations import Location
from orphangc.core.model.types import JobId


class ClusterClient(Protocol):
    """Tells what a cluster says of its jobs (Flink's REST API).

    Attributes:
        uri: Where it is asked, without credentials.

    """

    uri: str

    def observe(self) -> ClusterFacts:
        """Return the facts of this moment about every job that the cluster lists.

        Raises:
            RegistryUnavailableError: One answer is missing or unusable; never a part of them.

        """
        ...


class ExporterReader(Protocol):
    """A folder that exporters inside JobManagers write registry snapshots into.

    Attributes:
        location: The folder; it has one folder for each job.

    """

    location: Location

    def jobs(self) -> list[JobId]:
        """Return the jobs that have a folder, sorted.

        Raises:
            StorageUnreachableError: The folder cannot be listed.

        """
        ...

    def names(self, job_id: JobId) -> list[str]:
        """Return the names of a job's finished snapshots, oldest first."""
        ...

    def read(self, job_id: JobId, name: str) -> bytes | None:
        """Return one snapshot's bytes, ``None`` if the exporter has removed it by now."""
        ...

    def owners(self, job_id: JobId) -> Mapping[str, datetime | None]:
        """Return the markers of the JobManagers that export a job: store times by name."""
        ...

    def nonce(self, job_id: JobId) -> str | None:
        """Return the nonce that stands there for the exporter to repeat, ``None`` if none does."""
        ...


class NonceWriter(Protocol):
    """Asks the exporters for a new snapshot: the only thing that is ever written beside theirs."""

    def write(self, job_id: JobId, nonce: str) -> None:
        """Let the job's exporter find ``nonce``, in place of whatever stands there.

        Raises:
            StorageUnreachableError: It cannot be written.

        """
        ...


class ExporterChannel(ExporterReader, NonceWriter, Protocol):
    """Both sides of one folder."""


class HaMetadata(Protocol):
    """Tells who is not over, though no cluster shows it (Kubernetes, ZooKeeper).

    Attributes:
        uri: Where it is asked, without credentials.

    """

    uri: str

    def observe(self) -> HaFacts:
        """Return the facts of this moment.

        Raises:
            RegistryUnavailableError: One answer is missing, forbidden or unusable; never a part
                of them.

        """
        ...
