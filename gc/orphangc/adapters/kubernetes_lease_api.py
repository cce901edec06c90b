"""One Kubernetes Lease, read and written by the official client: nobody overwrites unseen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from orphangc.adapters.kubernetes_api import KubernetesApi, KubernetesProblem, own_namespace
from orphangc.errors import SettingsError

__all__ = ["SHORT_SECONDS", "LeaseApi", "LeaseSettings", "SeenLease", "micro_time"]

SHORT_SECONDS = 1.0
"""Seconds that a request is given at least, and that a released Lease still runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Which Lease, and how patient everybody is.

    Attributes:
        name: Of the Lease.
        namespace: Of the Lease; ``None`` is the pod's own.
        lease_duration: How long others wait for a leader that renews no more.
        renew_deadline: How long a leader tries to renew before it stops leading.
        retry_period: How often is tried.

    """

    name: str = "orphangc"
    namespace: str | None = None
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        """Make sure that a leader stops before others may start.

        Raises:
            SettingsError: It would not, or it could not even renew once.

        """
        if not timedelta(0) < self.retry_period < self.renew_deadline < self.lease_duration:
            raise SettingsError(
                "leader election: retry_period must be shorter than renew_deadline, and that"
                " shorter than lease_duration"
            )
        if self.lease_duration < timedelta(seconds=1):
            raise SettingsError("leader election: lease_duration is at least a second")


@dataclass(frozen=True, slots=True)
class SeenLease:
    """The Lease as it was read.

    Attributes:
        lease: The client's object.
        holder: "" if nobody holds it.
        version: Changes with every write.
        seconds: Its duration, by its own word.

    """

    lease: Any
    holder: str
    version: str
    seconds: float


class LeaseApi:
    """Reads and writes the one Lease; every method raises ``KubernetesProblem``."""

    def __init__(self, settings: LeaseSettings) -> None:
        self._api = KubernetesApi(timeout=settings.renew_deadline)
        self.name = settings.name
        self.namespace = settings.namespace or own_namespace()

    @property
    def client(self) -> Any:
        """Return the client's module, for its models."""
        return self._api.client

    def read(self, seconds: float) -> SeenLease | None:
        """Return the Lease, ``None`` if there is none."""

        def call(client: Any, timeout: Any) -> Any:
            return self.client.CoordinationV1Api(client).read_namespaced_lease(
                self.name, self.namespace, **timeout
            )

        try:
            lease = self._api.ask(call, seconds=seconds)
        except KubernetesProblem as err:
            if err.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return _seen(lease)

    def create(self, spec: Any, seconds: float) -> SeenLease:
        """Make the Lease."""
        metadata = self.client.V1ObjectMeta(name=self.name, namespace=self.namespace)
        body = self.client.V1Lease(metadata=metadata, spec=spec)

        def call(client: Any, timeout: Any) -> Any:
            return self.client.CoordinationV1Api(client).create_namespaced_lease(
                self.namespace, body, **timeout
            )

        return _seen(self._api.ask(call, seconds=seconds))

    def replace(self, seen: SeenLease, spec: Any, seconds: float) -> SeenLease:
        """Write the Lease, if it is still the version that was read."""
        body = self.client.V1Lease(metadata=seen.lease.metadata, spec=spec)

        def call(client: Any, timeout: Any) -> Any:
            return self.client.CoordinationV1Api(client).replace_namespaced_lease(
                self.name, self.namespace, body, **timeout
            )

        return _seen(self._api.ask(call, seconds=seconds))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()


def _seen(lease: Any) -> SeenLease:
    spec = lease.spec
    return SeenLease(
        lease=lease,
        holder=(spec.holder_identity or "") if spec else "",
        version=f"{lease.metadata.uid}/{lease.metadata.resource_version}",
        seconds=float((spec.lease_duration_seconds or 0) if spec else 0),
    )


def micro_time(at: datetime) -> datetime:
    """Return an instant that is spelled with six digits of microseconds, which the API demands."""
    return at if at.microsecond else at.replace(microsecond=1)
