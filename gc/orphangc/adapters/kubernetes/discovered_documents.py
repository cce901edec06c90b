"""Reads what one namespace says of Flink: resources, workloads, and the ConfigMaps they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from orphangc.adapters.kubernetes.namespace_listing import NamespaceListing
from orphangc.core.cluster.kubernetes_json import KINDS
from orphangc.core.discovery.sources.operator_specs import named_config_maps
from orphangc.core.discovery.sources.plain_deployments import (
    is_job_manager,
    made_config_maps,
)
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
        operated = listing.operated(KINDS)
        defined = listing.defined_kinds()
        unknown = {each for each in defined if "/" not in each} - set(KINDS)
        workloads = listing.workloads()
        maps = _made_by_flink(listing)
        started = [each for found in workloads.values() for each in found if is_job_manager(each)]
        templates = [each for found in operated.values() for each in found]
        made = [
            name
            for kind, documents in _by_kind(operated).items()
            for name in made_config_maps(kind, documents)
        ]
        for name in (*made, *named_config_maps([*started, *templates])):
            if name not in maps:
                maps |= listing.config_map_texts(field_selector=f"metadata.name={name}")
    except RegistryUnavailableError as err:
        return NamespaceDocuments(namespace=namespace, problems=(str(err),))
    except RecursionError:
        why = "has a resource that is nested too deeply to be read"
        return NamespaceDocuments(namespace=namespace, problems=(why,))
    finally:
        listing.close()
    return NamespaceDocuments(
        namespace=namespace,
        resources={**_by_kind(operated), **workloads},
        config_maps=maps,
        unknown_kinds=sorted(unknown),
        is_operated=bool(defined),
    )


def _by_kind(operated: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    return {KINDS[plural]: list(documents) for plural, documents in operated.items()}


def _made_by_flink(listing: NamespaceListing) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {}
    for each in _TYPES:
        found |= listing.config_map_texts(label_selector=f"type={each}")
    return found
