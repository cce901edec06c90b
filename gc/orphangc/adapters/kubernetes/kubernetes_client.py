"""The official Kubernetes client, created once: credentials, timeouts, meaning of errors."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import stamina

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
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status


class _PassingProblem(KubernetesProblem):
    """A problem that may pass until the next attempt."""


class KubernetesApi:
    """Client of one API server; address and account come from the pod, else from kubeconfig."""

    def __init__(self, *, timeout: timedelta) -> None:
        """Check that the client is installed; send no request yet.

        Raises:
            SettingsError: The extra ``kubernetes`` is not installed.
        """
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
        configuration.retries = False  # ``ask_again`` counts attempts and waits between them
        self._opened = self.client.ApiClient(configuration)
        return self._opened

    def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def ask(self, call: Callable[[Any, Any], Answer], *, seconds: float | None = None) -> Answer:
        """Return the answer to one request, sent once.

        Args:
            call: Function of the client and of the keyword argument for the time limit.
            seconds: Time limit instead of the usual one.

        Raises:
            KubernetesProblem: The API server gave no usable answer.
        """
        limit = {"_request_timeout": seconds or self._timeout_seconds}
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

    def ask_again(self, call: Callable[[Any, Any], Answer]) -> Answer:
        """Return the answer to one request, after a few attempts if needed.

        Raises:
            KubernetesProblem: The API server gave no usable answer.
        """
        for attempt in stamina.retry_context(
            on=_PassingProblem, attempts=_ATTEMPTS, timeout=None, wait_max=2
        ):
            with attempt:
                return self.ask(call)
        raise AssertionError("the last attempt neither returned nor raised")

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
