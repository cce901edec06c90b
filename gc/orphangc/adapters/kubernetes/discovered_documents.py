"""Reads what one namespace says of Flink: resources, workloads, and the operator's ConfigMaps."""

from __future__ import annotations

from datetime import timedelta

from orphangc.adapters.kubernetes.namespace_listing import NamespaceListing
from orphangc.core.cluster.kubernetes_json import KINDS
from orphangc.core.discovery.sources.operator_resources import Resource
from orphangc.core.discovery.sources.read_resources import NamespaceDocuments
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
        return _read(listing, namespace)
    except RegistryUnavailableError as err:
        return NamespaceDocuments(namespace=namespace, problems=(str(err),))
    except RecursionError:
        why = "has a resource that is nested too deeply to be read"
        return NamespaceDocuments(namespace=namespace, problems=(why,))
    finally:
        listing.close()


def _read(listing: NamespaceListing, namespace: str) -> NamespaceDocuments:
    listed = listing.operated()
    operated = {KINDS[plural]: found for plural, found in listed.items() if plural in KINDS}
    workloads = listing.workloads()
    maps: dict[str, dict[str, str | None]] = {}
    for each in _TYPES:
        maps |= listing.config_map_texts(label_selector=f"type={each}")
    for kind, documents in operated.items():
        for document in documents:
            made = Resource(kind=kind, namespace=namespace, document=document).made
            for name in (each for each in made if each not in maps):
                maps |= listing.config_map_texts(field_selector=f"metadata.name={name}")
    return NamespaceDocuments(
        namespace=namespace,
        resources={**operated, **workloads},
        config_maps=maps,
        unknown_kinds=sorted(set(listed) - set(KINDS)),
    )
