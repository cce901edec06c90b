"""Sources of facts about jobs: Flink clusters, exporter folders, HA metadata."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol, TypeVar

from flinkstate.buffers import Buffer
from flinkstate.places.locations import Location
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.model.types import JobId

_FactsT_co = TypeVar("_FactsT_co", covariant=True)


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


class ExporterChannel(Protocol):
    """A folder that exporters inside JobManagers write registry snapshots into.

    A new snapshot is requested by a nonce: the only file written beside those of exporters.

    Attributes:
        location: Location of the folder; it has one folder for each job.
    """

    location: Location

    def jobs(self) -> list[JobId]:
        """Return the jobs that have a folder, sorted, or raise ``StorageUnreachableError``."""

    def names(self, job_id: JobId) -> list[str]:
        """Return the names of a job's finished snapshots, oldest first."""

    def read(self, job_id: JobId, name: str) -> Buffer | None:
        """Return the bytes of a snapshot in ``names``, ``None`` if the exporter has removed it."""

    def owners(self, job_id: JobId) -> Mapping[str, datetime | None]:
        """Return the markers of the JobManagers that export a job: store times by name."""

    def end(self, job_id: JobId) -> EndRecord | None:
        """Return the newest end of a job that an exporter wrote, ``None`` if it wrote none."""

    def nonce(self, job_id: JobId) -> str | None:
        """Return the nonce that the exporter has to repeat, ``None`` if there is none."""

    def write(self, job_id: JobId, nonce: str) -> None:
        """Replace the nonce of the job's exporter, or raise ``StorageUnreachableError``."""
