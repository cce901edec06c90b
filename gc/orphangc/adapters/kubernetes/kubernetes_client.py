"""The official Kubernetes client, made once: who we are, how long we wait, what errors mean."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import stamina

from orphangc.errors import RegistryUnavailableError, SettingsError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ATTEMPTS = 4
_MAX_REASON_CHARS = 200
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})

Answer = TypeVar("Answer")


class KubernetesProblem(Exception):  # noqa: N818 - translated at the edge of each adapter
    """An answer that is none.

    Attributes:
        status: Of HTTP; ``None`` without any answer.

    """

    def __init__(self, message: str, *, status: int | None) -> None:
        """Keep the status beside the sentence."""
        super().__init__(message)
        self.status = status


class _PassingProblem(KubernetesProblem):
    """One that may be over at the next attempt."""


def own_namespace() -> str:
    """Return the namespace of the pod that this process runs in, ``default`` elsewhere."""
    try:
        return (_ACCOUNT / "namespace").read_text(encoding="ascii").strip() or "default"
    except OSError:
        return "default"


class KubernetesApi:
    """Asks one API server; where it is and who asks comes from the pod, else from kubeconfig."""

    def __init__(self, *, timeout: timedelta) -> None:
        """Make sure that the client is installed; nothing is asked or read yet.

        Args:
            timeout: For each attempt at one answer.

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
        """Return the configured client; service account tokens are read anew as they change.

        Raises:
            KubernetesProblem: Nothing says where the API server is.

        """
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
            raise KubernetesProblem(f"no usable access: {_one_line(err)}", status=None) from err
        configuration.retries = False  # ours are counted, and waited for
        self._opened = self.client.ApiClient(configuration)
        return self._opened

    def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def ask(self, call: Callable[[Any, Any], Answer], *, seconds: float | None = None) -> Answer:
        """Return the answer to one request, asked once.

        Args:
            call: Gets the client to build an API on, and the keyword of the time-out.
            seconds: Instead of the usual time-out.

        Raises:
            KubernetesProblem: No usable answer.

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
        except (ValueError, TypeError, AttributeError, KeyError) as err:
            raise KubernetesProblem(f"unusable answer: {_one_line(err)}", status=None) from err

    def ask_again(self, call: Callable[[Any, Any], Answer]) -> Answer:
        """Return the answer to one request, after a few attempts if it must be.

        Raises:
            KubernetesProblem: No usable answer.

        """
        for attempt in stamina.retry_context(
            on=_PassingProblem, attempts=_ATTEMPTS, timeout=None, wait_max=2
        ):
            with attempt:
                return self.ask(call)
        raise AssertionError("the last attempt neither returned nor raised")

    def unavailable(self, what: str, err: KubernetesProblem) -> RegistryUnavailableError:
        """Return a problem as the error of a source of evidence."""
        return RegistryUnavailableError(f"Kubernetes: {what}: {err}; who is alive is unknown")


def _reason(err: Exception) -> str:
    name = type(err).__name__
    return "no answer in time" if "Timeout" in name else _one_line(f"{name}: {err}")


def _said(err: Any) -> str:
    """Return the reason of a refusal; the body of an answer may repeat what was sent."""
    return _one_line(err.reason or "no reason given")


def _one_line(text: object) -> str:
    shown = "".join(char if char.isprintable() else " " for char in str(text))
    return " ".join(shown.split())[:_MAX_REASON_CHARS]
