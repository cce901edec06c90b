"""Rules for every answer: read-only, known hosts, headers; errors as documents of RFC 9457, and as
pages for people.
"""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orphangc.app.web.page_templates import page

SAFE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';"
        " img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""For every answer: one script of our own, which makes no text to code; no frame, no other host, no
guessing of types.
"""

NOT_KEPT = ("Cache-Control", "no-store")
"""Default for every answer: no cache, as the status changes with every run."""


PROBLEM_TYPE = "application/problem+json"


class Problem(BaseModel):
    """Error of a request (RFC 9457)."""

    type: str = Field(
        default="about:blank", description="Always about:blank: the status gives the kind of error."
    )
    title: str = Field(description="Name of the status.")
    status: int = Field(description="The HTTP status code.")
    detail: str = Field(description="Explanation of this error, for people.")


def problem(status: HTTPStatus, detail: str) -> HTTPException:
    """Return the exception that becomes a problem document, or a page with the same contents."""
    return HTTPException(status.value, detail)


def responses(**described: str) -> dict[int | str, dict[str, Any]]:
    """Return the error answers in a route's description, by names of ``HTTPStatus``."""
    return {
        HTTPStatus[name].value: {"model": Problem, "description": text}
        for name, text in described.items()
    }


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a problem document."""
    content = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(
        content.model_dump(), status, headers=dict(headers or {}), media_type=PROBLEM_TYPE
    )


def install_problems(app: FastAPI) -> None:
    """Answer every error of the app with a problem: a page for browsers, a document for others."""

    async def on_http(request: Request, err: Exception) -> Response:
        assert isinstance(err, HTTPException)  # noqa: S101 - registered for it
        return _answer(request, err.status_code, str(err.detail), err.headers)

    async def on_invalid(request: Request, err: Exception) -> Response:
        assert isinstance(err, RequestValidationError)  # noqa: S101 - registered for it
        first = err.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _answer(request, HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}: {first['msg']}", None)

    async def on_bug(request: Request, _: Exception) -> Response:
        detail = "A mistake in orphangc; its log on stderr says which."
        headers = {**SAFE_HEADERS, NOT_KEPT[0]: NOT_KEPT[1]}  # no middleware adds any here
        return _answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, detail, headers)

    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(Exception, on_bug)


def _answer(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None
) -> Response:
    if not _is_for_people(request):
        return problem_response(status, detail, headers)
    phrase = HTTPStatus(status).phrase
    answer = page(request, "problem.html.j2", {"phrase": phrase, "detail": detail}, status)
    answer.headers.update(headers or {})
    return answer


def _is_for_people(request: Request) -> bool:
    path = request.scope["path"]
    return (
        path in {"", "/"}
        or path.startswith("/ui/")
        or "text/html" in request.headers.get("accept", "")
    )


_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]@/]+)(?::[0-9]+)?", re.ASCII)
_READING = frozenset({"GET", "HEAD"})
_PROBED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that the kubelet and Prometheus call by the pod's address, with any Host header."""


class Guarded:
    """Middleware that answers only GET and HEAD, for known hosts.

    Args:
        hosts: Accepted names in the Host header; empty means any. With names, a page of another
            site cannot read this one through a DNS name of its own that points here.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _Answering(send, is_head=scope["method"] == "HEAD")
        app = self._app
        if scope["method"] not in _READING:
            app = problem_response(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "Nothing can be changed over HTTP: only GET and HEAD are answered.",
                {"Allow": "GET, HEAD"},
            )
        elif not self._is_known(scope):
            app = problem_response(
                HTTPStatus.MISDIRECTED_REQUEST, "This host name is none of http.allowed_hosts."
            )
        await app({**scope, "method": "GET"}, receive, answering)

    def _is_known(self, scope: Scope) -> bool:
        if not self._hosts or scope["path"] in _PROBED:
            return True
        host = Headers(scope=scope).get("host", "").lower()
        spelled = _HOST.fullmatch(host)
        return spelled is not None and spelled[1] in self._hosts


class _Answering:
    def __init__(self, send: Send, *, is_head: bool) -> None:
        self._send = send
        self._is_head = is_head

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFE_HEADERS.items():
                headers[name] = value
            headers.setdefault(*NOT_KEPT)
        elif self._is_head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)
