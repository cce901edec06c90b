"""Rules for every answer: read-only, known hosts, security headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orphangc.app.web.problem_documents import NOT_KEPT, SAFE_HEADERS, problem_response

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
