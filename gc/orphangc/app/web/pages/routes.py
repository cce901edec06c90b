"""Pages for people, made from memory; only single verdicts come from a plan on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import stops
from orphangc.app.status.status_store import Status, StatusStore
from orphangc.app.web.jobs import job_names, known_jobs, self_sustained, sightings, unknown_job
from orphangc.app.web.page_templates import assets, page
from orphangc.app.web.pages.checkpoint_page import (
    ReadPagePart,
    checkpoint_context,
    checkpoints_context,
)
from orphangc.app.web.pages.lineage_page import shown_lineages
from orphangc.app.web.pages.object_page import explanation
from orphangc.app.web.pages.overview import status_context
from orphangc.app.web.pages.page_view import due_days, history_of, job_rows, record_rows, stored_in
from orphangc.app.web.problem_documents import problem
from orphangc.app.web.runs import UNKNOWN_RUN, FoundRun, all_runs, find_run

_ASSET_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable"}
_RUNS_ON_PAGE = 500
_READERS = 2
"""Maximum number of pages that read files at a time, so that the daemon never waits."""


def pages_of(source: StatusStore, http: HttpSettings, page_part: ReadPagePart) -> APIRouter:
    """Return the routes for people."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    _add_assets(router)
    _add_status(router, source, http)
    _add_runs(router, source)
    reading = threading.BoundedSemaphore(_READERS)
    _add_objects(router, source, reading)
    _add_lineages(router, source, reading)
    _add_checkpoints(router, source, reading, page_part)

    @router.get("/ui/jobs/{job_id}")
    def job(request: Request, job_id: str) -> Response:
        status = source.status()
        seen = sightings(status, job_id)
        if not seen:
            raise problem(*unknown_job(status, job_id))
        names = job_names(status)
        context = {
            "status": status,
            "linked": {job_id},
            "name": names(job_id),
            "job_id": job_id,
            "rows": [row for row in job_rows(status) if row.job_id == job_id],
            "seen": seen,
            "sustained": self_sustained(status, seen),
            "stops": stops((known.record for known in seen), names),
            "growth": history_of(status, job_id),
        }
        return page(request, "job_page.html.j2", context)

    return router


def _add_assets(router: APIRouter) -> None:
    @router.get("/assets/{name}")
    def asset(name: str) -> Response:
        for each in assets().values():
            if name == each.name:
                return Response(each.text, media_type=each.media_type, headers=_ASSET_HEADERS)
        raise problem(HTTPStatus.NOT_FOUND, "No such file.")


def _add_status(router: APIRouter, source: StatusStore, http: HttpSettings) -> None:
    @router.get("/")
    def index(request: Request) -> Response:
        return page(request, "status.html.j2", status_context(source.status(), http))


def _add_runs(router: APIRouter, source: StatusStore) -> None:
    @router.get("/ui/runs")
    def runs(
        request: Request, root: Annotated[str | None, Query(max_length=4096)] = None
    ) -> Response:
        status = source.status()
        found = all_runs(status, root)
        shown = {"runs": found[:_RUNS_ON_PAGE], "kept": len(found), "root": root}
        context = {"status": status, **shown}
        return page(request, "runs.html.j2", context)

    @router.get("/ui/runs/{run_id}")
    def run(request: Request, run_id: str) -> Response:
        status = source.status()
        found = _found(status, run_id)
        record = found.record
        names = JobNames.of(record.jobs)
        context = {
            "names": names,
            "status": status,
            "linked": frozenset(known_jobs(status)),
            "found": found,
            "run": record,
            "stored": stored_in("All that is stored", record.amounts),
            "jobs": record_rows(record),
            "stops": stops(record.jobs, names),
            "due": due_days([record.tombstones], status.now.date()),
        }
        return page(request, "run.html.j2", context)


def _found(status: Status, run_id: str) -> FoundRun:
    found = find_run(status, run_id)
    if found is None:
        raise problem(HTTPStatus.NOT_FOUND, UNKNOWN_RUN)
    return found


@contextmanager
def _one_of(reading: threading.BoundedSemaphore) -> Iterator[None]:
    """Read files as one of a few; refuse while as many are being read as may be."""
    if not reading.acquire(blocking=False):
        raise problem(HTTPStatus.SERVICE_UNAVAILABLE, "Other pages are being read; try again.")
    try:
        yield
    finally:
        reading.release()


def _add_lineages(
    router: APIRouter, source: StatusStore, reading: threading.BoundedSemaphore
) -> None:
    @router.get("/ui/runs/{run_id}/lineages")
    def lineages(request: Request, run_id: str) -> Response:
        found = _found(source.status(), run_id)
        with _one_of(reading):
            shown = shown_lineages(found.record)
        return page(request, "lineage_page.html.j2", {"run": found.record, "shown": shown})


def _add_checkpoints(
    router: APIRouter,
    source: StatusStore,
    reading: threading.BoundedSemaphore,
    page_part: ReadPagePart,
) -> None:
    @router.get("/ui/runs/{run_id}/checkpoints")
    def checkpoints(
        request: Request,
        run_id: str,
        uri: Annotated[str | None, Query(max_length=4096)] = None,
        job: Annotated[str | None, Query(max_length=64)] = None,
    ) -> Response:
        found = _found(source.status(), run_id)
        with _one_of(reading):
            if uri is None:
                return page(request, "checkpoints.html.j2", checkpoints_context(found, job))
            context = checkpoint_context(found, uri, page_part)
        return page(request, "checkpoint_page.html.j2", context)


def _add_objects(
    router: APIRouter, source: StatusStore, reading: threading.BoundedSemaphore
) -> None:
    @router.get("/ui/runs/{run_id}/objects")
    def objects(
        request: Request, run_id: str, key: Annotated[str, Query(max_length=4096)] = ""
    ) -> Response:
        status = source.status()
        found = _found(status, run_id)
        with _one_of(reading):
            shown = explanation(found.record, key)
        context = {"run": found.record, "shown": shown, "linked": frozenset(known_jobs(status))}
        return page(request, "object.html.j2", context)
