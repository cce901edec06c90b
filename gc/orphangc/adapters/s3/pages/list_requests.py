"""Sends list requests: as botocore would send them, but without its costs.

botocore and aiohttp cost over a millisecond a page. So the first request goes through botocore,
and an event of botocore's tells how it is addressed and signed: endpoint, region, addressing
style, headers and signer, whatever they were resolved from. Later requests have the same URL but
for the query, are signed by that signer (so credentials are refreshed), and are sent by
botocore's own blocking HTTP session (so proxies and certificates are the same). Whatever is
answered but a page or "not now" is asked again through botocore, whose word is final: it follows
a bucket to its region and words the refusals. What this module cannot sign (directory buckets,
signature version 4a) always goes through botocore.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import stamina
import structlog
from botocore import exceptions as boto
from botocore.awsrequest import AWSRequest
from botocore.parsers import ResponseParserError, create_parser
from botocore.response import StreamingBody
from urllib3.exceptions import HTTPError

from orphangc.adapters.s3.requests.request_template import Signer, Signing, signing_of
from orphangc.adapters.s3.requests.s3_client import CALL_ERRORS, S3Client
from orphangc.errors import StorageUnreachableError

Query = Mapping[str, str]
"""A list request, by botocore's names: ``Prefix``, ``ContinuationToken``, ..."""

_BODY = "OrphanGcBody"
_BEFORE_ALL_OTHERS = "before-parse.*.ListObjectsV2"
"""Handlers of ``before-parse.s3.*`` come later, of which one parses the whole page for errors."""
_BEFORE_SIGNING = "before-sign.s3.ListObjectsV2"

_SMALL = 4096
"""Bytes. Others list a single key to see whether a bucket is there: garbage must not pass."""

_NAMES = {
    "Prefix": "prefix",
    "Delimiter": "delimiter",
    "EncodingType": "encoding-type",
    "StartAfter": "start-after",
    "ContinuationToken": "continuation-token",
    "MaxKeys": "max-keys",
}
_MOST_STRIKES = 3

_NOT_NOW = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_TIMEOUTS = (boto.ReadTimeoutError, boto.ConnectTimeoutError, TimeoutError)
_ODD = (boto.SSLError, boto.ProxyConnectionError)
_PASSING = (
    *_TIMEOUTS,
    boto.EndpointConnectionError,
    boto.HTTPClientError,
    boto.IncompleteReadError,
)
_MOST_KEYS = 1000
_FEWEST_KEYS = 10
_PAGES_TO_GROW = 4

_Page = TypeVar("_Page")

_log = structlog.get_logger()


class UnreadablePageError(StorageUnreachableError):
    """A page is no page, or not a whole one."""


class _NotNowError(boto.ClientError):  # type: ignore[misc]
    """The store is throttling or in trouble."""


class AdaptivePageSize:
    """How one stream fares: it asks for fewer keys after a timeout, and for more again later.

    Attributes:
        keys: How many keys to ask for.
        seconds: How long the last page took.

    """

    def __init__(self) -> None:
        self.keys = _MOST_KEYS
        self.seconds = 0.0
        self._good = 0

    def note_timeout(self) -> None:
        """Ask for half as many."""
        self.keys = max(self.keys // 2, _FEWEST_KEYS)
        self._good = 0

    def note_page(self, seconds: float) -> None:
        """Take note of a page that came; ask for twice as many after some of them."""
        self.seconds = seconds
        self._good += 1
        if self._good >= _PAGES_TO_GROW and self.keys < _MOST_KEYS:
            self.keys = min(self.keys * 2, _MOST_KEYS)
            self._good = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListRoute:
    """How botocore addressed and signed a list request.

    Attributes:
        url: Without query.
        query: What botocore adds to the query by itself.
        headers: But those about botocore's own attempts.
        signing: By whom, and with what.

    """

    url: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    signing: Signing

    def request(self, query: Query) -> AWSRequest:
        """Return a request that is not signed yet."""
        named = [*self.query, *((_NAMES[name], value) for name, value in query.items())]
        text = urlencode(named, quote_via=quote, safe="-_.~")
        return AWSRequest("GET", f"{self.url}?{text}", self.headers, stream_output=True)


def _way(request: AWSRequest, **facts: Any) -> _ListRoute | None:
    """Return how a request goes that botocore is about to sign, ``None`` if in some special way."""
    signing = signing_of(request, **facts)
    if signing is None:
        return None
    parts = urlsplit(request.url)
    return _ListRoute(
        url=urlunsplit(parts._replace(query="")),
        query=tuple(
            (name, value)
            for name, value in parse_qsl(parts.query, keep_blank_values=True)
            if name not in _NAMES.values()
        ),
        headers={
            name: value
            for name, value in request.headers.items()
            if not name.lower().startswith("amz-sdk-")  # the count of botocore's own attempts
        },
        signing=signing,
    )


class ListRequests:
    """Fetches pages; may be used by many threads at once.

    Attributes:
        through_botocore: How many requests took the slow way.

    """

    def __init__(self, client: S3Client, *, on_request: Callable[[], None]) -> None:
        self._client = client
        self._on_request = on_request
        self._lock = threading.Lock()
        self._way: _ListRoute | None = None
        self._signer = Signer(client)
        self._strikes = 0
        self.through_botocore = 0
        with client.translated("open"):
            client.on(_BEFORE_ALL_OTHERS, _take_body)
            client.on(_BEFORE_SIGNING, self._learn)

    def fetch(self, query: Query, read: Callable[[bytes], _Page], pace: AdaptivePageSize) -> _Page:
        """Return what ``read`` makes of a page; tries again what may pass.

        Raises:
            StorageUnreachableError: It does not pass, or is refused.

        """
        try:
            for attempt in stamina.retry_context(
                on=(_NotNowError, UnreadablePageError, *_PASSING),
                attempts=8,
                timeout=600,
                wait_initial=0.2,
                wait_max=10,
            ):
                with attempt:
                    return self._fetch(query, read, pace)
        except CALL_ERRORS as err:
            raise self._client.explained("list", err) from err
        raise AssertionError("an attempt returns or raises")

    def _fetch(self, query: Query, read: Callable[[bytes], _Page], pace: AdaptivePageSize) -> _Page:
        if pace.keys < _MOST_KEYS:
            query = {**query, "MaxKeys": str(pace.keys)}
        begun = time.monotonic()
        try:
            body = self._body(query)
        except _TIMEOUTS:
            pace.note_timeout()
            raise
        seconds = time.monotonic() - begun
        page = read(body)
        pace.note_page(seconds)
        return page

    def _body(self, query: Query) -> bytes:
        way = self._way
        if way is None or self._strikes >= _MOST_STRIKES:
            return self._through_botocore(query)
        self._on_request()
        try:
            status, body = self._send(way, query)
        except _ODD:
            return self._second_opinion(query)
        if status == HTTPStatus.OK:
            return body
        if status in _NOT_NOW:
            raise _not_now(status, body)
        return self._second_opinion(query)

    def _send(self, way: _ListRoute, query: Query) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        answer = self._signer.send(way.request(query), way.signing, to=way.url)
        body = StreamingBody(answer.raw, answer.headers.get("content-length"))
        try:
            return answer.status_code, body.read()
        except HTTPError as err:  # those that botocore does not translate
            raise boto.HTTPClientError(error=err) from err

    def _second_opinion(self, query: Query) -> bytes:
        """Return the page through botocore; where it often knows better, leave all to it."""
        self._signer.forget()
        body = self._through_botocore(query)
        self._strikes += 1
        if self._strikes == _MOST_STRIKES:
            _log.warning("listing.through_botocore", bucket=self._client.bucket)
        return body

    def _through_botocore(self, query: Query) -> bytes:
        self._on_request()
        with self._lock:
            self.through_botocore += 1
        request: dict[str, Any] = dict(query)
        if "MaxKeys" in request:
            request["MaxKeys"] = int(request["MaxKeys"])
        try:
            answer = self._client.call("list_objects_v2", **request)
        except _TIMEOUTS:
            raise
        except CALL_ERRORS as err:  # botocore has tried again, where it may pass
            raise self._client.explained("list", err) from err
        body: bytes | None = answer.get(_BODY)
        if body is None:
            raise UnreadablePageError("the listing has a page without a body")
        return body

    def _learn(self, request: AWSRequest, **facts: Any) -> None:
        """Take note how botocore is about to send a list request; on the I/O thread."""
        self._way = _way(request, **facts)


def _take_body(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    """Take a page out of botocore's hands before it parses it; a small one it may parse too."""
    if response_dict["status_code"] == HTTPStatus.OK:
        customized_response_dict[_BODY] = response_dict["body"]
        if len(response_dict["body"]) > _SMALL:
            response_dict["body"] = b""


def _not_now(status: int, body: bytes) -> _NotNowError:
    """Return the error that the body tells of, with its code."""
    answer = {"status_code": status, "headers": {}, "body": body}
    try:
        return _NotNowError(create_parser("rest-xml").parse(answer, None), "ListObjectsV2")
    except ResponseParserError:
        return _NotNowError({"Error": {"Code": str(status)}}, "ListObjectsV2")
