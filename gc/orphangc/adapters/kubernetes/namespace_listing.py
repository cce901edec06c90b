"""Listings of one Kubernetes namespace, and of the namespaces themselves.

Nothing is watched or written.
"""

import base64
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from orphangc.adapters.kubernetes.api_client import KubernetesApi, KubernetesProblem, unavailable
from orphangc.core.cluster.kubernetes_json import KINDS
from orphangc.core.discovery.sources.operator_resources import Resource
from orphangc.core.discovery.sources.read_resources import NamespaceDocuments
from orphangc.errors import RegistryUnavailableError

_GROUP, _VERSION = "flink.apache.org", "v1beta1"
_WORKLOADS = {
    "Deployment": ("deployments", "apps"),
    "StatefulSet": ("statefulsets", "apps"),
    "Job": ("jobs", "batch"),
}
"""Plural and API group of the kinds whose pods may be JobManagers."""

_Found = TypeVar("_Found")


class NamespaceListing:
    """One namespace of the API server that this process can reach.

    Each listing is whole, or raises ``RegistryUnavailableError`` after bounded retries.
    """

    def __init__(self, namespace: str, *, timeout: timedelta) -> None:
        """Take the namespace; ``SettingsError`` if the extra ``kubernetes`` is missing."""
        self.namespace, self.uri = namespace, f"kubernetes:{namespace}"
        self._api = KubernetesApi(timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def config_map_keys(self, selector: str) -> list[tuple[str, list[str]]]:
        """Return name and keys of each ConfigMap that a label selector chooses."""
        found = self._config_maps(label_selector=selector)
        return [
            (each["metadata"]["name"], [*each.get("data", ()), *each.get("binaryData", ())])
            for each in found
        ]

    def config_map_texts(self, **selector: str) -> dict[str, dict[str, str | None]]:
        """Return the texts of each ConfigMap that a selector chooses, by its name.

        A text may be given as bytes; the value of what is none is ``None``.
        """
        return {
            each["metadata"]["name"]: {
                **{key: _text_of(data) for key, data in each.get("binaryData", {}).items()},
                **each.get("data", {}),
            }
            for each in self._config_maps(**selector)
        }

    def workloads(self) -> dict[str, list[Any]]:
        """Return what may run a JobManager without the operator, as JSON documents by kind."""
        return {
            kind: self._resources(plural, group, "v1")
            for kind, (plural, group) in _WORKLOADS.items()
        }

    def _config_maps(self, **selector: str) -> list[dict[str, Any]]:
        return self._api.listed(
            "configmaps",
            f"configmaps in namespace {self.namespace}",
            lambda client, **page: self._api.client.CoreV1Api(client).list_namespaced_config_map(
                self.namespace, **selector, **page
            ),
        )

    def operated(self) -> dict[str, list[Any]]:
        """Return the operator's resources by plural, as JSON documents, of all kinds of its group.

        A kind that the API server's discovery does not show has no resources. A kind that it shows
        in any version must be listed: if listing is forbidden or the kind is not found, its
        resources are unknown.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        return {plural: self._resources(plural) for plural in sorted(self._defined_kinds())}

    def _defined_kinds(self) -> frozenset[str]:
        where = f"the discovery of {_GROUP}"
        versions = self._discovered(where, lambda client: client.ApisApi, _versions_of)
        if versions is None:
            return frozenset()
        if _VERSION not in versions:
            raise RegistryUnavailableError(
                f"Kubernetes: {where} shows {sorted(versions)}, and not {_VERSION}: an operator of"
                " another release; who is alive is unknown"
            )
        return frozenset().union(
            *(
                self._discovered(
                    where, lambda client: client.CustomObjectsApi, partial(_plurals_of, version)
                )
                for version in sorted(versions)
            )
        )

    def _discovered(
        self, where: str, api: Callable[[Any], Any], read: Callable[[Any, Any], _Found]
    ) -> _Found:
        def call(client: Any, timeout: Any) -> _Found:
            return read(api(self._api.client)(client), timeout)

        try:
            return self._api.ask(call)
        except KubernetesProblem as err:
            raise unavailable(where, err) from err

    def _resources(
        self, plural: str, group: str = _GROUP, version: str = _VERSION
    ) -> list[dict[str, Any]]:
        place = {"group": group, "version": version, "namespace": self.namespace, "plural": plural}

        def call(client: Any, **page: Any) -> Any:
            api = self._api.client.CustomObjectsApi(client)
            return api.list_namespaced_custom_object(**place, **page)

        return self._api.listed(plural, f"{plural}.{group} in namespace {self.namespace}", call)


def _text_of(data: str) -> str | None:
    try:
        return base64.b64decode(data).decode()
    except ValueError:
        return None


def _versions_of(api: Any, timeout: Any) -> frozenset[str] | None:
    """Return the served versions of the operator's group, ``None`` if it is not installed."""
    groups = api.get_api_versions(**timeout).groups
    if not groups:
        raise ValueError("no API group at all")
    found = [each for each in groups if each.name == _GROUP]
    return frozenset(each.version for each in found[0].versions) if found else None


def _plurals_of(version: str, api: Any, timeout: Any) -> frozenset[str]:
    """Return the plurals of the kinds in a version of the operator's group, not their parts."""
    listed = api.get_api_resources(_GROUP, version, **timeout)
    return frozenset(each.name for each in listed.resources if "/" not in each.name)


def selected_namespaces(selector: str | None, *, timeout: timedelta) -> list[str]:
    """Return the namespaces that a label selector chooses, all without one; raises as a listing."""
    api = KubernetesApi(timeout=timeout)
    try:
        found = api.listed(
            "namespaces",
            "the list of namespaces",
            lambda client, **page: api.client.CoreV1Api(client).list_namespace(
                label_selector=selector, **page
            ),
        )
    finally:
        api.close()
    return [each["metadata"]["name"] for each in found]


_TYPES = ("flink-native-kubernetes", "flink-standalone-kubernetes")
"""Labels ``type`` of the ConfigMaps that Flink and its operator make for a cluster."""


def read_namespace(namespace: str, *, timeout: timedelta) -> NamespaceDocuments:
    """Return the documents of a namespace, or why not; ``SettingsError`` without the extra."""
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
