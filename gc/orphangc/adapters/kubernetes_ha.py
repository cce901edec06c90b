"""Reads one Kubernetes namespace: Flink's HA ConfigMaps, and the operator's resources.

Lists only, page by page; nothing is watched, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from orphangc.adapters.kubernetes_api import KubernetesApi, KubernetesProblem
from orphangc.core.ha import HaFacts
from orphangc.core.kubernetes_answers import HA_SELECTOR, KINDS, kubernetes_facts
from orphangc.errors import RegistryUnavailableError

__all__ = ["KubernetesHa"]

_GROUP, _VERSION = "flink.apache.org", "v1beta1"
_PAGE = 200
"""A HA ConfigMap or a resource with its history has some 10 kB."""
_MAX_PAGES = 5_000
_LISTINGS = 3


class _Expired(Exception):  # noqa: N818 - never leaves this module
    """A listing took so long that the server forgot where it was."""


class KubernetesHa:
    """One namespace.

    Attributes:
        uri: Names it.

    """

    def __init__(self, namespace: str, *, timeout: timedelta) -> None:
        """Take the namespace; nothing is asked yet.

        Args:
            namespace: Its name.
            timeout: For each attempt at one answer.

        Raises:
            SettingsError: The extra ``kubernetes`` is not installed.

        """
        self._namespace = namespace
        self._api = KubernetesApi(timeout=timeout)
        self.uri = f"kubernetes:{namespace}"

    def observe(self) -> HaFacts:
        """Return what the namespace says, all or nothing.

        A kind of resource that is not defined in the cluster (404) has none; one that may not be
        listed is unknown.

        Raises:
            RegistryUnavailableError: After bounded retries; one line.

        """
        try:
            maps = list(self._listed("configmaps", self._config_maps))
            resources = {plural: list(self._resources(plural)) for plural in KINDS}
        finally:
            self._api.close()
        return kubernetes_facts(self._namespace, maps, resources)

    def _config_maps(self, limit: Any, page: str | None) -> tuple[list[Any], str | None]:
        def call(client: Any, timeout: Any) -> Any:
            return self._api.client.CoreV1Api(client).list_namespaced_config_map(
                self._namespace, label_selector=HA_SELECTOR, limit=limit, _continue=page, **timeout
            )

        listed = self._api.ask_again(call)
        found = [
            (each.metadata.name, [*(each.data or {}), *(each.binary_data or {})])
            for each in listed.items
        ]
        if not all(name and isinstance(name, str) for name, _ in found):
            raise TypeError("a ConfigMap has no name")
        return found, listed.metadata._continue  # noqa: SLF001 - "continue" is a keyword of Python

    def _resources(self, plural: str) -> Iterator[Any]:
        def asked(limit: int, page: str | None) -> tuple[list[Any], str | None]:
            def call(client: Any, timeout: Any) -> Any:
                return self._api.client.CustomObjectsApi(client).list_namespaced_custom_object(
                    _GROUP,
                    _VERSION,
                    self._namespace,
                    plural,
                    limit=limit,
                    **({"_continue": page} if page else {}),
                    **timeout,
                )

            listed = self._api.ask_again(call)
            return listed["items"], listed["metadata"].get("continue")

        return self._listed(f"{plural}.{_GROUP}", asked, is_optional=True)

    def _listed(
        self,
        what: str,
        asked: Callable[[int, str | None], tuple[list[Any], str | None]],
        *,
        is_optional: bool = False,
    ) -> Iterator[Any]:
        """Return all pages of one listing; one that expired half-way is begun again."""
        where = f"{what} in namespace {self._namespace}"
        for _ in range(_LISTINGS):
            try:
                return iter(self._pages(where, asked, is_optional=is_optional))
            except _Expired:
                continue
        raise RegistryUnavailableError(f"Kubernetes: {where}: no listing came to its end")

    def _pages(
        self,
        where: str,
        asked: Callable[[int, str | None], tuple[list[Any], str | None]],
        *,
        is_optional: bool,
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
                if err.status == HTTPStatus.NOT_FOUND and is_optional and not page:
                    return []
                raise self._api.unavailable(where, err) from err
            except (KeyError, TypeError, AttributeError) as err:
                raise RegistryUnavailableError(f"Kubernetes: {where}: unusable answer") from err
            if not page:
                return found
        raise RegistryUnavailableError(f"Kubernetes: {where}: the listing has no end")
