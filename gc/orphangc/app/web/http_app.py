"""The HTTP application: middleware, and routes for machines, from memory: REST, metrics, health."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Header, Path, Query
from fastapi.responses import Response
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from pydantic import BaseModel, Field
from starlette.middleware.gzip import GZipMiddleware

from orphangc import __version__
from orphangc.app.config.configuration import HttpSettings
from orphangc.app.status.status_store import Status, StatusStore
from orphangc.app.web.jobs_and_runs import (
    UNKNOWN_JOB,
    UNKNOWN_RUN,
    KnownJob,
    RestoredAnswer,
    all_runs,
    found_run,
    known_jobs,
    self_sustained,
    sightings,
)
from orphangc.app.web.pages.routes import pages_of
from orphangc.app.web.pages.run_pages import ReadPagePart
from orphangc.app.web.problem_documents import (
    PROBLEM_TYPE,
    Guarded,
    install_problems,
    problem,
    responses,
)
from orphangc.core.documents.plan import Tally
from orphangc.core.documents.run_record import JobRecord, RunRecord, RunResult
from orphangc.core.model.shown import RunMode

_JobId = Annotated[str, Path(description="Flink's job id: 32 lower-case hexadecimal digits.")]
_RunId = Annotated[str, Path(description="Identifier of a run, as in its logs and its record.")]


class JobInRoot(BaseModel):
    """A job in the newest plan of one storage root."""

    root: str = Field(description="The storage root.")
    run_id: str = Field(description="Identifier of the run that made the plan.")
    judged_at: datetime = Field(description="Start of that run.")
    job: JobRecord = Field(description="Findings about the job.")


class JobDocument(BaseModel):
    """A job over all storage roots that know it."""

    job_id: str = Field(description="Flink's job id.")
    state_self_sustained: bool | None = Field(
        description="Whether no retained checkpoint refers to files outside the job's own"
        " directories, seen twice with a newer completed checkpoint between; null if unknown."
    )
    state_self_sustained_reason: str = Field(description="Reason, as text.")
    state_self_sustained_since: datetime | None = Field(description="Time since which that is so.")
    restored_from: list[RestoredAnswer] = Field(
        description="Snapshots that it is known to be restored from, or still names files of."
    )
    roots: list[JobInRoot] = Field(
        description="One entry for each storage root that knows the job."
    )


class RunSummary(BaseModel):
    """One run, without its jobs."""

    run_id: str = Field(description="Identifier of the run; sorts by time.")
    root: str = Field(description="The storage root.")
    started_at: datetime = Field(description="Start of the run by the clock of its machine.")
    ended_at: datetime = Field(description="End of the run by the same clock.")
    result: RunResult = Field(description="Result of the run; only done is a success.")
    exit_code: int = Field(description="Exit code of the process.")
    error: str | None = Field(description="Error that ended the run, in one line.")
    mode: RunMode = Field(description="Configured mode.")
    effective_mode: RunMode = Field(description="Mode that the run was allowed to use.")
    plan_id: str | None = Field(description="Identifier of the plan; null if the run made none.")
    objects_listed: int = Field(description="Number of objects below the storage root.")
    bytes_listed: int = Field(description="Size of these objects in bytes.")
    missing_objects: int = Field(
        description="Number of objects that a checkpoint refers to and that are absent."
    )
    amounts: tuple[Tally, ...] = Field(description="Objects and bytes by verdict.")


def _add_jobs(app: FastAPI, source: StatusStore) -> None:
    unknown = responses(
        NOT_FOUND=UNKNOWN_JOB, SERVICE_UNAVAILABLE="The records of earlier runs are not read yet."
    )

    @app.get("/jobs", tags=["jobs"], summary="All jobs")
    def jobs() -> list[JobDocument]:
        """List every job in the newest plans, by id."""
        status = source.status()
        return [_job_answer(status, *each) for each in sorted(known_jobs(status).items())]

    @app.get("/jobs/{job_id}", tags=["jobs"], summary="One job", responses=unknown)
    def job(job_id: _JobId) -> JobDocument:
        """Return one job from the newest plans."""
        status = source.status()
        return _job_answer(status, job_id, sightings(status, job_id))

    @app.get(
        "/jobs/{job_id}/state-self-sustained",
        tags=["jobs"],
        summary="May the snapshot go that the job was restored from?",
        responses={**unknown, **responses(SERVICE_UNAVAILABLE="It cannot be known now.")},
    )
    def state_self_sustained(job_id: _JobId) -> bool:
        """Report whether no retained checkpoint of the job refers to files of other jobs.

        The answer is ``true`` only if every storage root that knows the job confirms it: twice,
        with a newer completed checkpoint of the job between, or once if the job has ended. Every
        configured storage root must have a plan, and no such plan may be older than the grace
        period.
        """
        status = source.status()
        sustained = self_sustained(status, sightings(status, job_id))
        if sustained.value is None:
            raise problem(HTTPStatus.SERVICE_UNAVAILABLE, sustained.why)
        return sustained.value


def _add_runs(app: FastAPI, source: StatusStore) -> None:
    @app.get(
        "/runs",
        tags=["runs"],
        summary="The last runs",
        responses=responses(UNPROCESSABLE_ENTITY="The limit is no number from 1 to 1000."),
    )
    def runs(
        limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of runs.")] = 50,
        root: Annotated[str | None, Query(description="Only runs of this storage root.")] = None,
    ) -> list[RunSummary]:
        """List the last runs of all storage roots, the newest first, without their jobs."""
        found = all_runs(source.status(), root)[:limit]
        return [RunSummary.model_validate(each, from_attributes=True) for each in found]

    @app.get(
        "/runs/{run_id}",
        tags=["runs"],
        summary="One run",
        responses=responses(NOT_FOUND=UNKNOWN_RUN),
    )
    def run(run_id: _RunId) -> RunRecord:
        """Return the whole record of one run."""
        return found_run(source.status(), run_id).record


def _job_answer(status: Status, job_id: str, seen: list[KnownJob]) -> JobDocument:
    sustained = self_sustained(status, seen)
    return JobDocument(
        job_id=job_id,
        state_self_sustained=sustained.value,
        state_self_sustained_reason=sustained.why,
        state_self_sustained_since=sustained.since,
        restored_from=[*sustained.places],
        roots=[
            JobInRoot(
                root=known.root.settings.root,
                run_id=known.run.run_id,
                judged_at=known.run.started_at,
                job=known.record,
            )
            for known in seen
        ],
    )


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


def _probes(source: StatusStore, registry: CollectorRegistry) -> APIRouter:
    """Return the routes for Prometheus and the kubelet; none of them touches the storage."""
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
    app.include_router(_probes(source, registry))
    _add_jobs(app, source)
    _add_runs(app, source)
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
