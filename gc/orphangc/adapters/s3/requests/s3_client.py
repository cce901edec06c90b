"""One bucket behind s3fs: bounded requests and translated errors.

s3fs and its botocore resolve endpoint, region, profile and credentials (``AWS_*``, shared
configuration files, web identity, instance roles); ``storage_options``, ``FSSPEC_S3_*`` and
fsspec's configuration files stand before them. Its own retries, caches and listings are not used.
"""

import inspect
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from aiobotocore.session import AioSession
from aiohttp import ClientError as HttpError
from botocore import exceptions as boto
from botocore.endpoint import EndpointCreator
from botocore.httpsession import URLLib3Session
from botocore.parsers import ResponseParserError
from fsspec.asyn import sync
from fsspec.config import apply_config
from s3fs import S3FileSystem

from flinkstate.places.locations import Location
from orphangc.adapters.files.translate import host_now
from orphangc.adapters.object_store.answer_clock import DatedAnswer
from orphangc.adapters.object_store.bucket import RequestError, understood
from orphangc.adapters.storage_options import storage_options
from orphangc.core.times.instants import from_http, from_iso, from_microseconds, known_microseconds
from orphangc.core.world.store_servers import host_of, server_at
from orphangc.errors import SettingsError

CALL_ERRORS: tuple[type[Exception], ...] = (
    boto.BotoCoreError,
    boto.ClientError,
    boto.HTTPClientError,
    ResponseParserError,
    HttpError,
    OSError,
)
"""Errors that a request may raise: a refusal, a broken answer, a broken connection."""

ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})
"""Codes of an answer that says that there is no such object."""
_STATUS: dict[str, HTTPStatus] = {
    **dict.fromkeys(
        ("SlowDown", "Throttling", "ThrottlingException", "TooManyRequests", "429"),
        HTTPStatus.TOO_MANY_REQUESTS,
    ),
    **dict.fromkeys(
        ("InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable"),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    ),
    **dict.fromkeys(
        ("PreconditionFailed", "ConditionalRequestConflict", "412"), HTTPStatus.PRECONDITION_FAILED
    ),
    **dict.fromkeys(ABSENT, HTTPStatus.NOT_FOUND),
    **dict.fromkeys(
        ("ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "RequestTimeTooSkewed"),
        HTTPStatus.BAD_REQUEST,
    ),
    "SignatureDoesNotMatch": HTTPStatus.BAD_REQUEST,
}
"""What codes mean, whatever status says: S3 gives each of several keys a code of its own, and
credentials that the store does not take are no right that is missing."""
_NEVER_SENT = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.SSOError,
    boto.ParamValidationError,
    boto.ConnectTimeoutError,
)
"""Any other error may follow a request that reached the store."""

_CONFIG = {
    "connect_timeout": 5,
    "read_timeout": 60,
    "max_pool_connections": 64,  # the default of 10 would cap the concurrent requests
}
_CACHES = {"use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache"}
"""Options of fsspec's that other programs may have configured; a collector caches nothing."""

Answer = dict[str, Any]
_HINTS = {
    **dict.fromkeys(
        ("AccessDenied", "AllAccessDisabled"),
        "orphangc policy --provider aws|ceph prints what these credentials must be allowed",
    ),
    "NoSuchBucket": "check the name of the bucket, and AWS_ENDPOINT_URL",
    "InvalidAccessKeyId": "the store does not know AWS_ACCESS_KEY_ID; check AWS_ENDPOINT_URL too",
    "SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY",
    **dict.fromkeys(("ExpiredToken", "InvalidToken"), "renew the credentials"),
    **dict.fromkeys(
        ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"),
        "set AWS_REGION to the region of the bucket",
    ),
    "301": "set AWS_REGION to the region of the bucket; check AWS_ENDPOINT_URL too",
    "RequestTimeTooSkewed": "synchronise the clock of this machine (NTP)",
}
"""What to check when the store refuses with a code."""


def error_code(err: BaseException) -> str:
    """Return the S3 code of a refusal, "" for any other error."""
    if isinstance(err, boto.ClientError):
        return str(err.response.get("Error", {}).get("Code", ""))
    return ""


def is_broken_body(err: Exception) -> bool:
    """Return whether the body of an answer is incomplete, which botocore does not retry."""
    return isinstance(err, CALL_ERRORS) and not error_code(err)


@contextmanager
def requested() -> Iterator[None]:
    """Translate errors of requests into ``RequestError``."""
    try:
        yield
    except CALL_ERRORS as err:
        raise request_error(err) from err


def request_error(err: Exception) -> RequestError:
    """Return the failure that one of ``CALL_ERRORS`` stands for."""
    if not isinstance(err, boto.ClientError):
        return RequestError(_text_of(err), is_sent=not isinstance(err, _NEVER_SENT))
    said = err.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return refusal(error_code(err), err.response.get("Error", {}).get("Message"), said)


def refusal(code: str, text: str | None, status: int) -> RequestError:
    """Return what the store said, and what to check; ``status`` is for codes without a meaning."""
    said = "; ".join(filter(None, (text, _HINTS.get(code))))
    return RequestError(said, code=code or "unknown", status=_STATUS.get(code, status))


def _text_of(err: BaseException) -> str:
    """Return the reason of an error without the request: botocore's messages quote URLs."""
    match err:
        case boto.NoCredentialsError() | boto.PartialCredentialsError():
            return (
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, "
                "or a role"
            )
        case boto.CredentialRetrievalError() | boto.TokenRetrievalError() | boto.SSOError():
            return f"no credentials: {type(err).__name__}"
        case boto.EndpointConnectionError() | boto.ConnectionClosedError():
            return f"cannot connect to the endpoint {_host_of(err)}".rstrip()
        case TimeoutError() | boto.ReadTimeoutError() | boto.ConnectTimeoutError():
            return "timed out"
        case _:
            return f"{type(err).__name__}: {err}"


def _host_of(err: Exception) -> str:
    asked = urlsplit(str(getattr(err, "kwargs", {}).get("endpoint_url", "")))
    return asked.netloc.rpartition("@")[2]


def _instant(value: str | float) -> datetime | None:
    """Return the time in an answer, ``None`` (unknown) if it is malformed or out of range.

    botocore's own reader guesses, and raises three kinds of foreign errors.
    """
    if isinstance(value, str):
        return from_iso(value) or from_http(value)
    return from_microseconds(known_microseconds(value * 1_000_000))


@lru_cache(4)
def _session(profile: str | None, environment: tuple[tuple[str, str], ...]) -> AioSession:
    """Return botocore's session for an environment: credentials are resolved once.

    Its second client costs a tenth of the first, which reads botocore's description of S3.
    """
    del environment  # read by botocore itself
    session = AioSession(profile=profile)
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=_instant)
    return session


def _open(options: Mapping[str, Any], attempts: int) -> S3FileSystem:
    named = {k: v for k, v in apply_config(S3FileSystem, {**options}).items() if k not in _CACHES}
    config = {
        **_CONFIG,
        "retries": {"mode": "standard", "total_max_attempts": attempts},
        **named.pop("config_kwargs", {}),
    }
    environment = tuple(
        sorted(each for each in os.environ.items() if each[0].startswith(("AWS_", "HOME")))
    )
    session = _session(named.pop("profile", None), environment)
    if unknown := named.keys() - inspect.signature(S3FileSystem.__init__).parameters:
        raise SettingsError(f"storage_options: s3fs has no option {', '.join(sorted(unknown))}")
    uncached = {"use_listings_cache": False, "skip_instance_cache": True}
    try:
        opened = S3FileSystem(**named, **uncached, config_kwargs=config, session=session)
        opened.retries = 1  # botocore repeats a request; s3fs would repeat its repetitions
        opened.connect()
        opened.s3.meta.events.register("before-call.s3.HeadBucket", _asked_for_no_region)
    except (ValueError, TypeError) as err:
        raise SettingsError(_unusable(err)) from err
    return opened


def _asked_for_no_region(context: Answer, **_: Any) -> None:
    """Let a redirected question for the bucket's region be no reason to ask for it once more.

    Of a store that redirects without naming a region botocore asks it without end.
    """
    context["s3_redirect"]["redirected"] = True


def _unusable(err: Exception) -> str:
    """Return what is wrong with the settings of the S3 client: botocore only names the value."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    for name in names:
        value = os.environ.get(name, "")
        if value and urlsplit(value).scheme not in {"http", "https"}:
            return f"{name} is no URL: write its scheme too, such as http://{value}"
    return f"the settings of S3 are not usable: {err}"


def server_of(location: Location) -> str:
    """Return where the requests about a bucket go, as ``S3Client.server``.

    No credentials are looked for; raises ``CALL_ERRORS``.
    """
    nameless = {"key": "-", "secret": "-"}
    return _server(_open({**storage_options(location), **nameless}, attempts=1))


def _server(opened: S3FileSystem) -> str:
    return server_at(host_of(opened.s3.meta.endpoint_url))


class S3Client:
    """Sends requests about one bucket; may be used by many threads at once.

    Attributes:
        dated: Times of the last answer; ``None`` before the first.
    """

    dated: DatedAnswer | None = None

    def __init__(self, location: Location, *, attempts: int = 4) -> None:
        """Take the bucket and the attempts of a request, four take 7 s; raises ``CALL_ERRORS``."""
        self.bucket = location.authority
        self._fs = _open(storage_options(location), attempts)

    @property
    def server(self) -> str:
        """Return the host of the endpoint; buckets of AWS have one name in all its regions."""
        return _server(self._fs)

    def call(self, operation: str, **request: Any) -> Answer:
        """Return the answer to one request; raise botocore's own errors.

        A key of a request is literal: s3fs's methods for files would cut ``?versionId=`` off it.
        """
        asked_at = host_now()
        try:
            with understood():
                answer: Answer = self._fs.call_s3(operation, Bucket=self.bucket, **request)
        except OSError as err:
            raise err.__cause__ if isinstance(err.__cause__, boto.ClientError) else err from None
        self.note_date(asked_at, answer["ResponseMetadata"]["HTTPHeaders"].get("date"))
        return answer

    def body(self, answer: Answer) -> bytes:
        """Return the body of an answer; ``ConnectionError`` if it is not whole."""
        data: bytes = self.run(answer["Body"].read)
        if len(data) != answer["ContentLength"]:
            raise ConnectionError(f"{len(data)} of {answer['ContentLength']} bytes came")
        return data

    def run(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """Return what a coroutine of the file system's loop returns."""
        return sync(self._fs.loop, function, *args, **more)

    def note_date(self, asked_at: datetime, date: str | None) -> None:
        """Record what an answer that just came says of the store's time."""
        self.dated = DatedAnswer(asked_at, host_now(), date)

    def on(self, event: str, handler: Callable[..., None]) -> None:
        """Register a handler for an event of botocore's, such as ``before-parse.s3.HeadObject``."""
        self._fs.s3.meta.events.register(event, handler)

    def http_session(self, url: str) -> URLLib3Session:
        """Return botocore's blocking HTTP session with the proxies and certificates for ``url``.

        As many threads may use it at once as the client allows concurrent requests.
        """
        meta = self._fs.s3.meta
        verify = self._fs.client_kwargs.get("verify")
        endpoint = EndpointCreator(meta.events).create_endpoint(
            meta.service_model,
            meta.region_name,
            url,
            verify=self._fs.session.get_config_variable("ca_bundle") if verify is None else verify,
            timeout=(meta.config.connect_timeout, meta.config.read_timeout),
            max_pool_connections=meta.config.max_pool_connections,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            proxies=meta.config.proxies,
            proxies_config=meta.config.proxies_config,
            client_cert=meta.config.client_cert,
        )
        session: URLLib3Session = endpoint.http_session
        return session

    def output_shape(self, operation: str) -> Any:
        """Return botocore's shape of an answer."""
        return self._fs.s3.meta.service_model.operation_model(operation).output_shape
