"""Pages for people, made from memory; only single verdicts come from a plan on this machine."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import stops
from orphangc.app.status.status_store import StatusStore
from orphangc.app.web.jobs_and_runs import (
    all_runs,
    found_run,
    job_names,
    known_jobs,
    self_sustained,
    sightings,
)
from orphangc.app.web.page_templates import assets, page
from orphangc.app.web.pages.overview import status_context
from orphangc.app.web.pages.page_view import due_days, history_of, job_rows, record_rows, stored_in
from orphangc.app.web.pages.run_pages import (
    ReadPagePart,
    checkpoint_context,
    checkpoints_context,
    explanation,
    shown_lineages,
)
from orphangc.app.web.problem_documents import problem

_ASSET_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable"}
_RUNS_ON_PAGE = 500
_READERS = 2
"""Maximum number of pages that read files at a time, so that the daemon never waits."""


def pages_of(source: StatusStore, http: HttpSettings, page_part: ReadPagePart) -> APIRouter:
    """Return the routes for people."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    pages = _Pages(source, http, page_part)
    routes: dict[str, Callable[..., Response]] = {
        "/assets/{name}": pages.asset,
        "/": pages.index,
        "/ui/runs": pages.runs,
        "/ui/runs/{run_id}": pages.run,
        "/ui/runs/{run_id}/lineages": pages.lineages,
        "/ui/runs/{run_id}/checkpoints": pages.checkpoints,
        "/ui/runs/{run_id}/objects": pages.objects,
        "/ui/jobs/{job_id}": pages.job,
    }
    for path, answer in routes.items():
        router.get(path)(answer)
    return router


@contextmanager
def _one_of(reading: threading.BoundedSemaphore) -> Iterator[None]:
    """Read files as one of a few; refuse while as many are being read as may be."""
    if not reading.acquire(blocking=False):
        raise problem(HTTPStatus.SERVICE_UNAVAILABLE, "Other pages are being read; try again.")
    try:
        yield
    finally:
        reading.release()


@dataclass(frozen=True, slots=True)
class _Pages:
    source: StatusStore
    http: HttpSettings
    page_part: ReadPagePart
    reading: threading.BoundedSemaphore = field(
        default_factory=partial(threading.BoundedSemaphore, _READERS)
    )

    def asset(self, name: str) -> Response:
        for each in assets().values():
            if name == each.name:
                return Response(each.text, media_type=each.media_type, headers=_ASSET_HEADERS)
        raise problem(HTTPStatus.NOT_FOUND, "No such file.")

    def index(self, request: Request) -> Response:
        return page(request, "status.html.j2", status_context(self.source.status(), self.http))

    def runs(
        self, request: Request, root: Annotated[str | None, Query(max_length=4096)] = None
    ) -> Response:
        status = self.source.status()
        found = all_runs(status, root)
        shown = {"runs": found[:_RUNS_ON_PAGE], "kept": len(found), "root": root}
        return page(request, "runs.html.j2", {"status": status, **shown})

    def run(self, request: Request, run_id: str) -> Response:
        status = self.source.status()
        found = found_run(status, run_id)
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

    def lineages(self, request: Request, run_id: str) -> Response:
        found = found_run(self.source.status(), run_id)
        with _one_of(self.reading):
            shown = shown_lineages(found.record)
        return page(request, "lineage_page.html.j2", {"run": found.record, "shown": shown})

    def checkpoints(
        self,
        request: Request,
        run_id: str,
        uri: Annotated[str | None, Query(max_length=4096)] = None,
        job: Annotated[str | None, Query(max_length=64)] = None,
    ) -> Response:
        found = found_run(self.source.status(), run_id)
        with _one_of(self.reading):
            if uri is None:
                return page(request, "checkpoints.html.j2", checkpoints_context(found, job))
            context = checkpoint_context(found, uri, self.page_part)
        return page(request, "checkpoint_page.html.j2", context)

    def objects(
        self, request: Request, run_id: str, key: Annotated[str, Query(max_length=4096)] = ""
    ) -> Response:
        status = self.source.status()
        found = found_run(status, run_id)
        with _one_of(self.reading):
            shown = explanation(found.record, key)
        context = {"run": found.record, "shown": shown, "linked": frozenset(known_jobs(status))}
        return page(request, "object.html.j2", context)

    def job(self, request: Request, job_id: str) -> Response:
        status = self.source.status()
        seen, names = sightings(status, job_id), job_names(status)
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
