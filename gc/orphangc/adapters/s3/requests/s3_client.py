"""One bucket behind s3fs's session: bounded requests and translated errors.

s3fs resolves endpoint, region, profile and credentials (``AWS_*``, ``FSSPEC_S3_*``, shared
configuration files, web identity, instance roles). Its own calls are not used: they retry five
times around botocore's five, cache listings and drop per-key errors.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import aiohttp
import s3fs
from botocore import exceptions as boto
from botocore.endpoint import EndpointCreator
from botocore.httpsession import URLLib3Session
from botocore.parsers import ResponseParserError
from fsspec.asyn import sync

from orphangc.adapters.files.translate import unreachable
from orphangc.core.model.locations import Location
from orphangc.core.times.instants import (
    from_http,
    from_iso,
    from_microseconds,
    known_microseconds,
)
from orphangc.errors import StorageUnreachableError

CALL_ERRORS: tuple[type[Exception], ...] = (
    boto.BotoCoreError,
    boto.ClientError,
    boto.HTTPClientError,
    ResponseParserError,
    aiohttp.ClientError,
    asyncio.TimeoutError,
    OSError,
)
"""Errors that a request may raise: a refusal, a broken answer, a broken connection."""

_CONFIG = {
    "connect_timeout": 5,
    "read_timeout": 60,
    "max_pool_connections": 64,  # the default of 10 would cap the concurrent HEAD requests
}

Answer = dict[str, Any]


def error_code(err: BaseException) -> str:
    """Return the S3 code of a refusal, "" for any other error."""
    if isinstance(err, boto.ClientError):
        return str(err.response.get("Error", {}).get("Code", ""))
    return ""


def error_text(err: BaseException) -> str:
    """Return the reason of an error without the request: botocore's messages quote URLs."""
    match err:
        case boto.ClientError():
            error = err.response.get("Error", {})
            return ": ".join(filter(None, (error.get("Code") or "unknown", error.get("Message"))))
        case boto.NoCredentialsError() | boto.PartialCredentialsError():
            return (
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, "
                "or a role"
            )
        case boto.CredentialRetrievalError() | boto.TokenRetrievalError() | boto.SSOError():
            return f"no credentials: {type(err).__name__}"
        case boto.EndpointConnectionError() | boto.ConnectionClosedError():
            return "cannot connect to the endpoint"
        case asyncio.TimeoutError() | boto.ReadTimeoutError() | boto.ConnectTimeoutError():
            return "timed out"
        case _:
            return f"{type(err).__name__}: {err}"


def _instant(value: str | float) -> datetime | None:
    """Return the time in an answer, ``None`` (unknown) if it is malformed or out of range.

    botocore's own reader guesses, and raises three kinds of foreign errors.
    """
    if isinstance(value, str):
        return from_iso(value) or from_http(value)
    return from_microseconds(known_microseconds(value * 1_000_000))


class S3Client:
    """Sends requests about one storage root in a bucket on fsspec's I/O thread.

    Attributes:
        root: Start of every key of the root: "" or ending in a slash.

    """

    def __init__(self, location: Location, *, attempts: int = 4) -> None:
        """Take the location and the maximum attempts of a request; four take some 7 s in all."""
        self.bucket = location.authority
        self.root = location.path[1:] + "/" if location.path != "/" else ""
        with self.translated("open"):
            self._fs = s3fs.S3FileSystem(
                use_listings_cache=False,
                skip_instance_cache=True,
                config_kwargs={
                    **_CONFIG,
                    "retries": {"mode": "standard", "total_max_attempts": attempts},
                },
            )

    def call(self, operation: str, **request: Any) -> Answer:
        """Return the answer to one request; raise botocore's own errors."""
        answer: Answer = self.run(self.request(operation, **request))
        return answer

    async def request(self, operation: str, **request: Any) -> Answer:
        """Return the answer to one request, as ``call`` does, on the I/O thread."""
        client = await self._fs.set_session()
        parsers = self._fs.session.get_component("response_parser_factory")
        parsers.set_parser_defaults(timestamp_parser=_instant)
        answer: Answer = await getattr(client, operation)(Bucket=self.bucket, **request)
        return answer

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what ``work`` returns on the I/O thread."""

        async def await_it() -> Any:
            return await work

        return sync(self._fs.loop, await_it)

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start ``work`` on the I/O thread."""
        return asyncio.run_coroutine_threadsafe(work, self._fs.loop)

    def on(self, event: str, handler: Callable[..., None]) -> None:
        """Register a handler for an event of botocore's, such as ``before-parse.s3.HeadObject``."""

        async def register() -> None:
            client = await self._fs.set_session()
            client.meta.events.register(event, handler)

        self.run(register())

    def http_session(self, url: str) -> URLLib3Session:
        """Return botocore's blocking HTTP session with the proxies and certificates for ``url``.

        As many threads may use it at once as the client allows concurrent requests.
        """
        client = self.run(self._fs.set_session())
        config, session = client.meta.config, self._fs.session
        verify = self._fs.client_kwargs.get("verify")
        endpoint = EndpointCreator(client.meta.events).create_endpoint(
            client.meta.service_model,
            client.meta.region_name,
            url,
            verify=session.get_config_variable("ca_bundle") if verify is None else verify,
            timeout=(config.connect_timeout, config.read_timeout),
            max_pool_connections=config.max_pool_connections,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            proxies=config.proxies,
            proxies_config=config.proxies_config,
            client_cert=config.client_cert,
        )
        return endpoint.http_session

    def output_shape(self, operation: str) -> Any:
        """Return botocore's shape of an answer."""
        client = self.run(self._fs.set_session())
        return client.meta.service_model.operation_model(operation).output_shape

    def explained(self, action: str, err: BaseException) -> StorageUnreachableError:
        """Return the error to raise ``from err``."""
        return unreachable(f"{action} s3://{self.bucket}", error_text(err))

    @contextmanager
    def translated(self, action: str) -> Iterator[None]:
        """Translate errors of requests into ``StorageUnreachableError``."""
        try:
            yield
        except CALL_ERRORS as err:
            raise self.explained(action, err) from err
