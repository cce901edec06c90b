"""Reads one Kubernetes namespace: Flink's HA ConfigMaps, and the operator's resources.

It only lists, page by page; it neither watches nor writes.
"""

from __future__ import annotations

from datetime import timedelta

from orphangc.adapters.kubernetes.namespace_listing import NamespaceListing
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.kubernetes_json import HA_SELECTOR, kubernetes_facts


class KubernetesHa:
    """One namespace."""

    def __init__(self, namespace: str, *, timeout: timedelta) -> None:
        """Take the namespace; send no request yet.

        Raises:
            SettingsError: The extra ``kubernetes`` is not installed.
        """
        self._namespace = namespace
        self._listing = NamespaceListing(namespace, timeout=timeout)
        self.uri = f"kubernetes:{namespace}"

    def observe(self) -> HaFacts:
        """Return the facts of the namespace, all or nothing.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        try:
            maps = self._listing.config_map_keys(HA_SELECTOR)
            resources = self._listing.operated()
        finally:
            self._listing.close()
        return kubernetes_facts(self._namespace, maps, resources)
