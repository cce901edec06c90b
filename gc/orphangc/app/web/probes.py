"""Metrics, liveness and readiness: for Prometheus and the kubelet."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Header
from fastapi.responses import Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from pydantic import BaseModel, Field

from orphangc.app.status.status_store import StatusStore
from orphangc.app.web.problem_documents import problem, responses

_VERSIONS = frozenset(f"version={each}" for each in ("0.0.1", "0.0.4", "1.0.0", "2.0.0"))


class Health(BaseModel):
    """The process works."""

    status: Literal["alive"] = Field(
        default="alive", description="The only value; otherwise the status is 503."
    )


class Readiness(BaseModel):
    """The daemon is ready, and runs start on schedule."""

    status: Literal["ready"] = Field(
        default="ready", description="The only value; otherwise the status is 503."
    )


def probes_of(source: StatusStore, registry: CollectorRegistry) -> APIRouter:
    """Return the routes for machines; none of them touches the storage."""
    router = APIRouter(tags=["probes"])

    @router.get(
        "/healthz",
        summary="Is the process alive?",
        responses=responses(SERVICE_UNAVAILABLE="The scheduler does nothing any more: restart."),
    )
    async def healthz() -> (
        Health
    ):  # async: pages that occupy all threads must not fail the liveness probe
        """Report whether the scheduler still works; never touches the storage."""
        if not source.is_alive():
            raise problem(HTTPStatus.SERVICE_UNAVAILABLE, "The scheduler has stopped.")
        return Health()

    @router.get(
        "/readyz",
        summary="Is it ready?",
        responses=responses(SERVICE_UNAVAILABLE="Not ready; the detail says why."),
    )
    async def readyz() -> Readiness:
        """Report whether runs start on schedule."""
        status = source.status()
        if status.not_ready is not None:
            raise problem(HTTPStatus.SERVICE_UNAVAILABLE, status.not_ready)
        return Readiness()

    @router.get(
        "/metrics",
        summary="Metrics",
        response_class=Response,
        responses={
            HTTPStatus.OK.value: {
                "description": "In the format that the Accept header asks for.",
                "content": {
                    "text/plain": {"schema": {"type": "string"}},
                    "application/openmetrics-text": {"schema": {"type": "string"}},
                },
            }
        },
    )
    def metrics(accept: Annotated[str, Header(include_in_schema=False)] = "") -> Response:
        """Return all metrics, in Prometheus' text format or in OpenMetrics."""
        encoder, content_type = _encoder(accept)
        return Response(encoder(registry), media_type=None, headers={"Content-Type": content_type})

    return router


def _encoder(accept: str) -> tuple[Callable[[CollectorRegistry], bytes], str]:
    """Return the writer of the metrics format, and its content type.

    The library compares the version that a client names with numbers, which ends in a TypeError
    for ``1.x``, and hands it back in its answer.
    """
    known = [part for part in accept.split(",") if _has_usual_version(part)]
    encoder, content_type = choose_encoder(",".join(known))
    return encoder, content_type


def _has_usual_version(part: str) -> bool:
    versions = [each.strip() for each in part.split(";")[1:] if each.strip().startswith("version=")]
    return all(each in _VERSIONS for each in versions)
