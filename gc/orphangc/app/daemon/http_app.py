"""The HTTP application with its middleware and routes."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry
from starlette.middleware.gzip import GZipMiddleware

from orphangc import __version__
from orphangc.app.config.configuration import HttpSettings
from orphangc.app.status.status_store import StatusStore
from orphangc.app.web.pages.routes import pages_of
from orphangc.app.web.pages.run_pages import ReadPagePart
from orphangc.app.web.problem_documents import PROBLEM_TYPE, Guarded, install_problems
from orphangc.app.web.rest import probes_of, rest_of

_NO_TELEMETRY: TelemetryConfig = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
}
"""OpenTelemetry is off: requests, which hold keys of objects, are reported to no third party."""

_DESCRIPTION = """\
What the garbage collector for Apache Flink's checkpoint files knows. Everything is read-only and
told from memory: nothing can be changed or deleted over HTTP.
"""
_TAGS = [
    {"name": "jobs", "description": "Flink jobs, as the newest plans have them."},
    {"name": "runs", "description": "Passes over storage roots."},
    {"name": "probes", "description": "For Prometheus and Kubernetes."},
]


def create_app(
    source: StatusStore,
    registry: CollectorRegistry,
    page_part: ReadPagePart,
    http: HttpSettings | None = None,
) -> FastAPI:
    """Return the ASGI application.

    Args:
        source: Source of the status, read at every request and from several threads.
    """
    settings = http or HttpSettings()
    app = FastAPI(
        title="orphangc",
        version=__version__,
        description=_DESCRIPTION,
        openapi_tags=_TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,  # their pages load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    app.include_router(probes_of(source, registry))
    app.include_router(rest_of(source))
    app.include_router(pages_of(source, settings, page_part))
    install_problems(app)
    app.add_middleware(GZipMiddleware, minimum_size=1024)
    app.add_middleware(Guarded, hosts=settings.known_hosts)
    app.openapi = cache(lambda: _openapi_of(app))  # type: ignore[method-assign]
    return app


def _openapi_of(app: FastAPI) -> dict[str, Any]:
    document = FastAPI.openapi(app)
    for operations in document["paths"].values():
        for status, answer in operations["get"]["responses"].items():
            if int(status) >= 400:  # noqa: PLR2004 - where errors begin
                answer["content"] = {PROBLEM_TYPE: answer["content"].pop("application/json")}
    return document
