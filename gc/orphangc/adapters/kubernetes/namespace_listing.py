"""Listings of one Kubernetes namespace by the official client, page by page.

Nothing is watched or written.
"""

from __future__ import annotations

import base64
import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import stamina

from orphangc.core.cluster.kubernetes_json import KINDS
from orphangc.core.discovery.sources.operator_resources import Resource
from orphangc.core.discovery.sources.read_resources import NamespaceDocuments
from orphangc.errors import RegistryUnavailableError, SettingsError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ATTEMPTS = 4
_MAX_REASON_CHARS = 200
_ADVICE: Mapping[int | None, str] = {
    HTTPStatus.UNAUTHORIZED: ": give a token or a kubeconfig that it accepts",
    HTTPStatus.FORBIDDEN: (
        ": correct the namespace, or let this account list it (kubectl auth can-i list; the chart"
        " grants it with rbac.create)"
    ),
}
"""What a person does about a refusal, by status."""
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})

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
                f"no usable access: {_one_line(err)} Set KUBECONFIG, or mount the token of the"
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
            raise kind(f"answered {status}: {_said(err)}", status=status) from err
        except (self._http_errors.HTTPError, OSError) as err:
            raise _PassingProblem(f"no answer: {_reason(err)}", status=None) from err
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as err:
            raise KubernetesProblem(f"unusable answer: {_one_line(err)}", status=None) from err

    def unavailable(self, what: str, err: KubernetesProblem) -> RegistryUnavailableError:
        """Return the error of this source of evidence for a problem."""
        hint = _ADVICE.get(err.status, "")
        return RegistryUnavailableError(f"Kubernetes: {what}: {err}; who is alive is unknown{hint}")


def _reason(err: Exception) -> str:
    name = type(err).__name__
    return "no answer in time" if "Timeout" in name else _one_line(f"{name}: {err}")


def _said(err: Any) -> str:
    """Return the reason of a refusal; the body is left out, for it may repeat the request."""
    return _one_line(err.reason or "no reason given")


def _one_line(text: object) -> str:
    shown = "".join(char if char.isprintable() else " " for char in str(text))
    return " ".join(shown.split())[:_MAX_REASON_CHARS]


_GROUP, _VERSION = "flink.apache.org", "v1beta1"
_PAGE = 200
"""Items of a page: a HA ConfigMap or a resource with its history has some 10 kB."""
_MAX_PAGES = 5_000
_LISTINGS = 3
_WORKLOADS = {
    "Deployment": ("deployments", "apps"),
    "StatefulSet": ("statefulsets", "apps"),
    "Job": ("jobs", "batch"),
}
"""Plural and API group of the kinds whose pods may be JobManagers."""


_Found = TypeVar("_Found")


class _Expired(Exception):  # noqa: N818 - never leaves this module
    """A listing took so long that the server dropped its continuation token."""


class NamespaceListing:
    """One namespace of the API server that this process can reach."""

    def __init__(self, namespace: str, *, timeout: timedelta) -> None:
        """Take the namespace; ``SettingsError`` if the extra ``kubernetes`` is missing."""
        self.namespace, self.uri = namespace, f"kubernetes:{namespace}"
        self._api = KubernetesApi(timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def config_map_keys(self, selector: str) -> list[tuple[str, list[str]]]:
        """Return name and keys of each ConfigMap that a label selector chooses.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        found = self._config_maps(label_selector=selector)
        return [
            (each.metadata.name, [*(each.data or {}), *(each.binary_data or {})]) for each in found
        ]

    def config_map_texts(self, **selector: str) -> dict[str, dict[str, str | None]]:
        """Return the texts of each ConfigMap that a selector chooses, by its name.

        A text may be given as bytes; the value of what is none is ``None``.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        return {
            each.metadata.name: {
                **{key: _text_of(data) for key, data in (each.binary_data or {}).items()},
                **(each.data or {}),
            }
            for each in self._config_maps(**selector)
        }

    def workloads(self) -> dict[str, list[Any]]:
        """Return what may run a JobManager without the operator, as JSON documents by kind.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        return {
            kind: list(self._resources(plural, group, "v1"))
            for kind, (plural, group) in _WORKLOADS.items()
        }

    def _config_maps(self, **selector: str) -> list[Any]:
        def asked(limit: int, page: str | None) -> tuple[list[Any], str | None]:
            def call(client: Any, timeout: Any) -> Any:
                return self._api.client.CoreV1Api(client).list_namespaced_config_map(
                    self.namespace, limit=limit, _continue=page, **selector, **timeout
                )

            listed = self._api.ask(call)
            if not all(isinstance(each.metadata.name, str) for each in listed.items):
                raise TypeError("a ConfigMap has no name")
            page = listed.metadata._continue  # noqa: SLF001 - "continue" is a keyword of Python
            return list(listed.items), _next_page(
                "configmaps", page, listed.metadata.remaining_item_count
            )

        return list(self._listed("configmaps", asked))

    def operated(self) -> dict[str, list[Any]]:
        """Return the operator's resources by plural, as JSON documents, of all kinds of its group.

        A kind that the API server's discovery does not show has no resources. A kind that it shows
        must be listed: if listing is forbidden or the kind is not found, its resources are unknown.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.
        """
        return {plural: list(self._resources(plural)) for plural in sorted(self._defined_kinds())}

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
        return self._discovered(where, lambda client: client.CustomObjectsApi, _plurals_of)

    def _discovered(
        self, where: str, api: Callable[[Any], Any], read: Callable[[Any, Any], _Found]
    ) -> _Found:
        def call(client: Any, timeout: Any) -> _Found:
            return read(api(self._api.client)(client), timeout)

        try:
            return self._api.ask(call)
        except KubernetesProblem as err:
            raise self._api.unavailable(where, err) from err

    def _resources(
        self, plural: str, group: str = _GROUP, version: str = _VERSION
    ) -> Iterator[Any]:
        def asked(limit: int, page: str | None) -> tuple[list[Any], str | None]:
            def call(client: Any, timeout: Any) -> Any:
                return self._api.client.CustomObjectsApi(client).list_namespaced_custom_object(
                    group,
                    version,
                    self.namespace,
                    plural,
                    limit=limit,
                    **({"_continue": page} if page else {}),
                    **timeout,
                )

            listed = self._api.ask(call)
            metadata = listed["metadata"]
            page = _next_page(plural, metadata.get("continue"), metadata.get("remainingItemCount"))
            return listed["items"], page

        return self._listed(f"{plural}.{group}", asked)

    def _listed(
        self, what: str, asked: Callable[[int, str | None], tuple[list[Any], str | None]]
    ) -> Iterator[Any]:
        """Return all pages of one listing; restart a listing that expired half-way."""
        where = f"{what} in namespace {self.namespace}"
        for _ in range(_LISTINGS):
            try:
                return iter(self._pages(where, asked))
            except _Expired:
                continue
        raise RegistryUnavailableError(f"Kubernetes: {where}: no listing came to its end")

    def _pages(
        self, where: str, asked: Callable[[int, str | None], tuple[list[Any], str | None]]
    ) -> list[Any]:
        found: list[Any] = []
        page: str | None = None
        for _ in range(_MAX_PAGES):
            try:
                some, page = asked(_PAGE, page)
                found += some
            except KubernetesProblem as err:
                if err.status == HTTPStatus.GONE and page:
                    raise _Expired from err
                raise self._api.unavailable(where, err) from err
            except (KeyError, TypeError, AttributeError) as err:
                raise RegistryUnavailableError(f"Kubernetes: {where}: unusable answer") from err
            if not page:
                return found
        raise RegistryUnavailableError(f"Kubernetes: {where}: the listing has no end")


def _text_of(data: str) -> str | None:
    try:
        return base64.b64decode(data).decode()
    except ValueError:
        return None


def _next_page(what: str, page: str | None, remaining: object) -> str | None:
    """Return the token of the next page; to lack it while items remain is an error."""
    if remaining and not page:
        raise RegistryUnavailableError(
            f"Kubernetes: the listing of {what} is cut off: {str(remaining)[:20]} items remain, and"
            " no page shows them; who is alive is unknown"
        )
    return page


def _versions_of(api: Any, timeout: Any) -> frozenset[str] | None:
    """Return the served versions of the operator's group, ``None`` if it is not installed."""
    groups = api.get_api_versions(**timeout).groups
    if not groups:
        raise ValueError("no API group at all")
    found = [each for each in groups if each.name == _GROUP]
    return frozenset(each.version for each in found[0].versions) if found else None


def _plurals_of(api: Any, timeout: Any) -> frozenset[str]:
    """Return the plurals of the kinds in the operator's group and version, not their parts."""
    listed = api.get_api_resources(_GROUP, _VERSION, **timeout)
    return frozenset(each.name for each in listed.resources if "/" not in each.name)


def selected_namespaces(selector: str | None, *, timeout: timedelta) -> list[str]:
    """Return the names of the namespaces that a label selector chooses, of all without one.

    Raises:
        RegistryUnavailableError: After bounded retries; one line.
        SettingsError: The extra ``kubernetes`` is not installed.
    """
    api = KubernetesApi(timeout=timeout)
    found: list[str] = []
    page: str | None = None
    try:
        while True:

            def call(client: Any, limit: Any, page: str | None = page) -> Any:
                return api.client.CoreV1Api(client).list_namespace(
                    label_selector=selector, limit=_PAGE, _continue=page, **limit
                )

            listed = api.ask(call)
            found += [each.metadata.name for each in listed.items]
            page = _next_page(
                "namespaces",
                listed.metadata._continue,  # noqa: SLF001 - "continue" is a keyword of Python
                listed.metadata.remaining_item_count,
            )
            if not page:
                return found
    except KubernetesProblem as err:
        raise api.unavailable("the list of namespaces", err) from err
    finally:
        api.close()


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
