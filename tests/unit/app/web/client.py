"""Asks the app without a socket, as a browser or a program would."""

import anyio
import httpx
from prometheus_client import CollectorRegistry

from orphangc.app.render_checkpoint.checkpoint_html import page_part
from orphangc.app.web.http_app import create_app
from unit.app.web.statuses import Source, a_status

_SOURCE = Source(a_status())
_APP = create_app(_SOURCE, CollectorRegistry(), page_part)
"""To make an app takes longer than to ask it; its status is changed instead."""


class Client:
    """A client of an app with one status."""

    def __init__(
        self, status=None, *, registry=None, http=None, source=None, part=page_part
    ) -> None:
        self.status = a_status() if status is None else status
        is_usual = (registry, http, source, part) == (None, None, None, page_part)
        self.source = _SOURCE if is_usual else source or Source(self.status)
        self.app = (
            _APP
            if is_usual
            else create_app(self.source, registry or CollectorRegistry(), part, http)
        )

    def ask(self, method: str, path: str, **options) -> httpx.Response:
        if self.source is _SOURCE:
            _SOURCE.now = self.status

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                return await client.request(method, path, **options)

        return anyio.run(asked)

    def get(self, path: str, **options) -> httpx.Response:
        return self.ask("GET", path, **options)
