"""Reads the jobs of a Flink cluster from its REST API: the ``ClusterClient`` of unmodified Flink.

Source: Flink 1.14-2.3, ``runtime.rest.messages`` (``/config``, ``/jobmanager/config``, ``/jobs``,
``/jobs/:jobid``, ``/jobs/:jobid/checkpoints``, ``/jobs/:jobid/checkpoints/config``).
"""

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from time import monotonic
from typing import TypeVar

import httpx
import stamina

from flinkstate.text.redaction import one_line
from orphangc.core.cluster.job_facts import ClusterFacts, JobFacts
from orphangc.core.cluster.rest_json import (
    CONFIG_PATH,
    JOBS_PATH,
    OPTIONS_PATH,
    JobAnswers,
    checkpoint_config_path,
    checkpoints_path,
    cluster_settings,
    is_checkpointing_off,
    job_facts,
    job_path,
    listed_jobs,
)
from orphangc.core.model.types import JobId
from orphangc.errors import RegistryUnavailableError, SettingsError

_Answer = TypeVar("_Answer")

_ATTEMPTS = 4
_MAX_ANSWER_BYTES = 64 << 20
_MOST_REASON_BYTES = 800
_NAMING_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_PLAIN = "identity"
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": _PLAIN,  # the size of a compressed answer would have no bound
    "Cache-Control": "no-cache",
}


@cache
def _authorities(*_: str | None) -> ssl.SSLContext:
    """Return what certificates are verified by, read once for each setting of the environment.

    Reading it takes longer than all requests to a cluster.
    """
    return httpx.create_ssl_context()


class _PassingError(Exception):
    """A failure that may pass until the next attempt: no connection, timeout, no leader."""


@dataclass(frozen=True, slots=True)
class _HttpAnswer:
    status: int
    body: bytes


class FlinkRest:
    """One cluster, addressed by the URL of its REST API.

    Attributes:
        uri: URL without credentials, fit to be shown.
    """

    def __init__(self, url: str, *, timeout: timedelta) -> None:
        """Parse the address; send no request yet.

        Args:
            url: ``http(s)://[user:password@]host[:port][/prefix]``; user and password become
                basic authentication and are never shown.
            timeout: Time limit of each attempt, from connecting to the last byte of the answer.

        Raises:
            SettingsError: ``url`` is no such URL.
        """
        address = _address(url)
        self._auth = (address.username, address.password) if address.userinfo else None
        self.uri = str(address.copy_with(userinfo=b"")).rstrip("/")
        self._timeout_seconds = timeout.total_seconds()

    def observe(self) -> ClusterFacts:
        """Return the facts about every listed job, or raise ``RegistryUnavailableError``.

        A job that disappears between two requests fails the observation, because its checkpoints
        would be missing.
        """
        return self._asked(self._observe)

    def options(self) -> Mapping[str, str]:
        """Return the cluster's configuration, asked once, or raise ``RegistryUnavailableError``."""
        return self._asked(
            lambda client: cluster_settings(*self._once(client, CONFIG_PATH, OPTIONS_PATH)).options
        )

    def listed(self) -> Mapping[JobId, str]:
        """Return the status word of each job, asked once, or raise ``RegistryUnavailableError``."""
        return self._asked(lambda client: listed_jobs(*self._once(client, JOBS_PATH)))

    def _once(self, client: httpx.Client, *paths: str) -> list[bytes]:
        try:
            answers = [self._attempt(client, each) for each in paths]
        except _PassingError as err:
            raise RegistryUnavailableError(str(err)) from err
        return list(map(_usable_body, answers, paths))

    def _asked(self, question: Callable[[httpx.Client], _Answer]) -> _Answer:
        try:
            with httpx.Client(
                auth=self._auth,
                verify=_authorities(*map(os.environ.get, _NAMING_AUTHORITIES)),
                timeout=self._timeout_seconds,
                headers=_HEADERS,
                follow_redirects=False,
            ) as client:
                return question(client)
        except RegistryUnavailableError as err:
            raise RegistryUnavailableError(
                f"Flink at {self.uri}: {err}; nothing is known of its jobs"
            ) from err

    def _observe(self, client: httpx.Client) -> ClusterFacts:
        settings = cluster_settings(
            self._body(client, CONFIG_PATH), self._body(client, OPTIONS_PATH)
        )
        jobs = {
            job_id: replace(
                self._job(client, job_id, status, settings.flink_version),
                is_id_fixed=settings.are_ids_fixed,
                has_high_availability=settings.has_high_availability,
            )
            for job_id, status in listed_jobs(self._body(client, JOBS_PATH)).items()
        }
        said = {each.name: getattr(settings, each.name) for each in fields(settings)}
        return ClusterFacts(uri=self.uri, jobs=jobs, **said)

    def _job(self, client: httpx.Client, job_id: JobId, status: str, version: str) -> JobFacts:
        """Return one job's facts.

        The details are requested last, because they carry the incarnation. If the JobManager
        changes between the requests of a later observation, that observation carries a new
        incarnation, although its numbers may still come from the former JobManager.
        """
        checkpoints = self._body_if_checkpointing(client, checkpoints_path(job_id))
        config = self._body_if_checkpointing(client, checkpoint_config_path(job_id))
        details = self._body(client, job_path(job_id))
        answers = JobAnswers(details=details, checkpoints=checkpoints, config=config)
        return job_facts(job_id, status, answers, version)

    def _body(self, client: httpx.Client, path: str) -> bytes:
        return _usable_body(self._answer(client, path), path)

    def _body_if_checkpointing(self, client: httpx.Client, path: str) -> bytes | None:
        answer = self._answer(client, path)
        if answer.status == HTTPStatus.NOT_FOUND and is_checkpointing_off(answer.body):
            return None
        return _usable_body(answer, path)

    def _answer(self, client: httpx.Client, path: str) -> _HttpAnswer:
        try:
            again = stamina.retry(on=_PassingError, attempts=_ATTEMPTS, timeout=None, wait_max=2)
            return again(lambda: self._attempt(client, path))()
        except _PassingError as err:
            raise RegistryUnavailableError(str(err)) from err

    def _attempt(self, client: httpx.Client, path: str) -> _HttpAnswer:
        """Return the whole answer, bounded in bytes and in time.

        httpx bounds each read only; this method also bounds a server that sends single bytes
        slowly.
        """
        deadline = monotonic() + self._timeout_seconds
        body = bytearray()
        try:
            with client.stream("GET", self.uri + path) as response:
                if response.headers.get("Content-Encoding", _PLAIN).lower() != _PLAIN:
                    raise RegistryUnavailableError(f"{path}: the answer is packed")
                for chunk in response.iter_raw():
                    body += chunk
                    if monotonic() > deadline:
                        raise _PassingError(f"{path}: the answer took too long")
                    if len(body) > _MAX_ANSWER_BYTES:
                        raise RegistryUnavailableError(f"{path}: the answer is too long")
        except httpx.RequestError as err:
            raise _PassingError(f"{path}: {_reason(err)}") from err
        status = response.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise _PassingError(f"{path}: answered {status}: {_said(bytes(body))}")
        return _HttpAnswer(status, bytes(body))


def _address(url: str) -> httpx.URL:
    """Return the parsed URL; no message repeats it, because it may hold a password."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as err:
        raise SettingsError("the address of Flink's REST API is no URL") from err
    if address.scheme not in {"http", "https"} or not address.host:
        raise SettingsError("the address of Flink's REST API must be http(s)://host[:port]")
    if address.query or address.fragment:
        raise SettingsError("the address of Flink's REST API must end with its path")
    return address


def _usable_body(answer: _HttpAnswer, path: str) -> bytes:
    """Return the body of a 200.

    Redirects are not followed: credentials stay with the configured host, and Flink itself never
    redirects.
    """
    if answer.status == HTTPStatus.OK:
        return answer.body
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        raise RegistryUnavailableError(
            f"{path}: answered {answer.status}, a redirect, which is not followed"
        )
    raise RegistryUnavailableError(f"{path}: answered {answer.status}: {_said(answer.body)}")


def _reason(err: httpx.RequestError) -> str:
    if isinstance(err, httpx.TimeoutException):
        return "no answer in time"
    return one_line(f"{type(err).__name__}: {err}")


def _said(body: bytes) -> str:
    text = body[:_MOST_REASON_BYTES].decode("utf-8", "replace").split("\\n")[0]
    return one_line(text.strip() or "no reason given")
