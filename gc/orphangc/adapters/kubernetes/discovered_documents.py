"""Reads what one namespace says of Flink: resources, Deployments, and the ConfigMaps they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from orphangc.adapters.kubernetes.namespace_listing import NamespaceListing
from orphangc.core.cluster.kubernetes_json import KINDS
from orphangc.core.discovery.sources.plain_deployments import named_config_maps
from orphangc.core.discovery.sources.read_resources import DEPLOYMENT, NamespaceDocuments
from orphangc.errors import RegistryUnavailableError

_TYPES = ("flink-native-kubernetes", "flink-standalone-kubernetes")
"""Labels ``type`` of the ConfigMaps that Flink and its operator make for a cluster."""


def read_namespace(namespace: str, *, timeout: timedelta) -> NamespaceDocuments:
    """Return the documents of a namespace, or why they cannot be read.

    Raises:
        SettingsError: The extra ``kubernetes`` is not installed.

    """
    listing = NamespaceListing(namespace, timeout=timeout)
    try:
        operated = listing.operated(KINDS)
        unknown = {each for each in listing.defined_kinds() if "/" not in each} - set(KINDS)
        deployments = listing.deployments()
        maps = _made_by_flink(listing)
        for name in named_config_maps(deployments):
            if name not in maps:
                maps |= listing.config_map_texts(field_selector=f"metadata.name={name}")
    except RegistryUnavailableError as err:
        return NamespaceDocuments(namespace=namespace, problems=(str(err),))
    finally:
        listing.close()
    return NamespaceDocuments(
        namespace=namespace,
        resources={**_by_kind(operated), DEPLOYMENT: deployments},
        config_maps=maps,
        unknown_kinds=sorted(unknown),
    )


def _by_kind(operated: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    return {KINDS[plural]: list(documents) for plural, documents in operated.items()}


def _made_by_flink(listing: NamespaceListing) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for each in _TYPES:
        found |= listing.config_map_texts(label_selector=f"type={each}")
    return found
