"""Listings of a Kubernetes namespace, and of the namespaces, page by page by the official client.

Nothing is watched or written.
"""

import base64
import importlib
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import stamina

from flinkstate.text.redaction import one_line
from orphangc.core.cluster.kubernetes_json import KINDS
from orphangc.core.discovery.sources.operator_resources import Resource
from orphangc.core.discovery.sources.read_resources import NamespaceDocuments
from orphangc.errors import RegistryUnavailableError, SettingsError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ATTEMPTS = 4
_ADVICE: Mapping[int | None, str] = {
    HTTPStatus.UNAUTHORIZED: ": give a token or a kubeconfig that it accepts",
    HTTPStatus.FORBIDDEN: (
        ": correct the namespace, or let this account list it (kubectl auth can-i list; the chart"
        " grants it with rbac.create)"
    ),
}
"""What a person does about a refusal, by status."""
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})

_PAGE = 200
"""Items of a page: a HA ConfigMap or a resource with its history has some 10 kB."""
_MAX_PAGES = 5_000
_LISTINGS = 3

Answer = TypeVar("Answer")


class KubernetesProblem(Exception):  # noqa: N818 - translated at the edge of each adapter
    """The API server gave no usable answer.

    Attributes:
        status: HTTP status; ``None`` without an answer.
    """

    def __init__(self, message: str, *, status: int | None) -> None:
        super().__init__(message)
        self.status = status


class _PassingProblem(KubernetesProblem):
    """A problem that may pass until the next attempt."""


class _Expired(Exception):  # noqa: N818 - never leaves this module
    """A listing took so long that the server dropped its continuation token."""


class KubernetesApi:
    """Client of one API server; address and account come from the pod, else from kubeconfig."""

    def __init__(self, *, timeout: timedelta) -> None:
        """Raise ``SettingsError`` unless the client is installed; send no request yet."""
        try:
            self.client: Any = importlib.import_module("kubernetes.client")
            self._config: Any = importlib.import_module("kubernetes.config")
            self._http_errors: Any = importlib.import_module("urllib3.exceptions")
        except ImportError as err:
            raise SettingsError(
                "the Kubernetes client is not installed: pip install 'orphangc[kubernetes]'"
            ) from err
        self._timeout_seconds = timeout.total_seconds()
        self._opened: Any = None

    def _api_client(self) -> Any:
        """Return the configured client; it reads a changed service account token again."""
        if self._opened is not None:
            return self._opened
        configuration = self.client.Configuration()
        try:
            if os.environ.get("KUBERNETES_SERVICE_HOST") and (_ACCOUNT / "token").exists():
                self._config.load_incluster_config(client_configuration=configuration)
            else:
                self._config.load_kube_config(
                    config_file=os.environ.get("KUBECONFIG"), client_configuration=configuration
                )
        except (self._config.ConfigException, OSError, ValueError, TypeError, KeyError) as err:
            raise KubernetesProblem(
                f"no usable access: {one_line(err)} Set KUBECONFIG, or mount the token of the"
                " pod's account",
                status=None,
            ) from err
        configuration.retries = False  # ``ask`` counts attempts and waits between them
        self._opened = self.client.ApiClient(configuration)
        return self._opened

    def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def ask(self, call: Callable[[Any, Any], Answer]) -> Answer:
        """Return the answer to one request, after a few attempts if needed.

        Args:
            call: Function of the client and of the keyword argument for the time limit.

        Raises:
            KubernetesProblem: The API server gave no usable answer.
        """
        again = stamina.retry(on=_PassingProblem, attempts=_ATTEMPTS, timeout=None, wait_max=2)
        return again(lambda: self._attempt(call))()

    def _attempt(self, call: Callable[[Any, Any], Answer]) -> Answer:
        limit = {"_request_timeout": self._timeout_seconds}
        try:
            return call(self._api_client(), limit)
        except self.client.ApiException as err:
            status = int(err.status or 0)
            passing = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING
            kind = _PassingProblem if passing else KubernetesProblem
            # the body is left out, for it may repeat the request
            said = one_line(err.reason or "no reason given")
            raise kind(f"answered {status}: {said}", status=status) from err
        except (self._http_errors.HTTPError, OSError) as err:
            raise _PassingProblem(f"no answer: {_reason(err)}", status=None) from err
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as err:
            raise KubernetesProblem(f"unusable answer: {one_line(err)}", status=None) from err

    def listed(self, what: str, where: str, call: Callable[..., Any]) -> list[dict[str, Any]]:
        """Return the items of all pages of a listing as JSON documents, each with a name.

        A listing that expired half-way is begun again.

        Args:
            what: Plural of the items.
            where: The listing, for people.
            call: Method of the client's that lists, of the client and of keyword arguments for the
                page and the time limit.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        for _ in range(_LISTINGS):
            try:
                return self._pages(what, where, call)
            except _Expired:
                continue
        raise RegistryUnavailableError(f"Kubernetes: {where}: no listing came to its end")

    def _pages(self, what: str, where: str, call: Callable[..., Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        page: dict[str, str] = {}
        for _ in range(_MAX_PAGES):
            try:
                some, following = self._page(what, partial(call, limit=_PAGE, **page))
            except KubernetesProblem as err:
                if err.status == HTTPStatus.GONE and page:
                    raise _Expired from err
                raise unavailable(where, err) from err
            except (KeyError, TypeError, AttributeError) as err:
                raise RegistryUnavailableError(f"Kubernetes: {where}: unusable answer") from err
            found += some
            if not following:
                return found
            page = {"_continue": following}
        raise RegistryUnavailableError(f"Kubernetes: {where}: the listing has no end")

    def _page(self, what: str, call: Callable[..., Any]) -> tuple[list[dict[str, Any]], str | None]:
        """Return the items of a page and the token of the next one, which lacks no item."""
        listed = self.ask(lambda client, limit: _document(client, call(client, **limit)))
        metadata, items = listed["metadata"], listed["items"]
        if not all(isinstance(each["metadata"]["name"], str) for each in items):
            raise TypeError("an item has no name")
        following, remaining = metadata.get("continue"), metadata.get("remainingItemCount")
        if remaining and not following:
            raise RegistryUnavailableError(
                f"Kubernetes: the listing of {what} is cut off: {str(remaining)[:20]} items remain,"
                " and no page shows them; who is alive is unknown"
            )
        return items, following


def _document(client: Any, listed: Any) -> Any:
    """Return a listing as JSON has it; the client makes objects of what is no custom resource."""
    return listed if isinstance(listed, dict) else client.sanitize_for_serialization(listed)


def unavailable(what: str, err: KubernetesProblem) -> RegistryUnavailableError:
    """Return the error of this source of evidence for a problem."""
    hint = _ADVICE.get(err.status, "")
    return RegistryUnavailableError(f"Kubernetes: {what}: {err}; who is alive is unknown{hint}")


def _reason(err: Exception) -> str:
    name = type(err).__name__
    return "no answer in time" if "Timeout" in name else one_line(f"{name}: {err}")


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
