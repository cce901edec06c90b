"""The API server of Kubernetes by the official client: requests, and listings page by page.

Nothing is watched or written.
"""

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
