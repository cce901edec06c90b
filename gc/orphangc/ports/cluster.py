"""Sources of facts about jobs: Flink clusters, exporter folders, HA metadata."""

from typing import Protocol, TypeVar

from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts

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
