"""Sends list requests from botocore's request template, and retries them.

A page costs over a millisecond through botocore. After any answer but a page or "not now", the
same request goes through botocore, and botocore's answer counts: it follows a bucket to its region
and words the refusals. Requests without a template (directory buckets, signature version 4a) always
go through botocore.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import stamina
import structlog
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError, create_parser
from urllib3.exceptions import HTTPError

from orphangc.adapters.object_store.bucket import RequestError
from orphangc.adapters.s3.requests.request_template import RequestTemplate, TemplateSender
from orphangc.adapters.s3.requests.s3_client import (
    CALL_ERRORS,
    Answer,
    S3Client,
    request_error,
    requested,
)

Query = Mapping[str, str]
"""A list request by botocore's parameter names: ``Prefix``, ``ContinuationToken``, ..."""

_BODY = "OrphanGcBody"
_BEFORE_ALL_OTHERS = "before-parse.*.ListObjectsV2"
"""Event before those of ``before-parse.s3.*``, one of which parses the whole page for errors."""

_SMALL = 4096
"""Bytes. botocore parses smaller pages: ``check_bucket`` lists one key and must refuse garbage."""

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


class UnreadablePageError(RequestError):
    """The body is no page, or not a whole one."""


class _NotNowError(boto.ClientError):  # type: ignore[misc]
    """The store throttles requests or has an internal error."""


_AGAIN = (_NotNowError, UnreadablePageError, *_PASSING)


class AdaptivePageSize:
    """Number of keys to request in a page: fewer after a timeout, more again after some pages."""

    def __init__(self) -> None:
        self.keys = _MOST_KEYS
        self._good = 0

    def note_timeout(self) -> None:
        """Request half as many keys."""
        self.keys = max(self.keys // 2, _FEWEST_KEYS)
        self._good = 0

    def note_page(self) -> None:
        """Record that a page came; request twice as many keys after some pages."""
        self._good += 1
        if self._good >= _PAGES_TO_GROW and self.keys < _MOST_KEYS:
            self.keys = min(self.keys * 2, _MOST_KEYS)
            self._good = 0


class ListRequests:
    """Fetches pages of a listing; may be used by many threads at once."""

    def __init__(self, client: S3Client, *, on_request: Callable[[], None]) -> None:
        self._client = client
        self._on_request = on_request
        self._page_size = AdaptivePageSize()
        self._strikes = 0
        client.on(_BEFORE_ALL_OTHERS, _take_body)
        self._sender = TemplateSender(client, "ListObjectsV2", varying=_NAMES.values())

    def fetch(self, query: Query, read: Callable[[bytes], _Page]) -> _Page:
        """Return what ``read`` makes of a page; retry, then raise ``RequestError``."""
        again = stamina.retry(on=_AGAIN, attempts=8, timeout=600, wait_initial=0.2, wait_max=10)
        with requested():
            return again(lambda: self._fetch(query, read))()

    def _fetch(self, query: Query, read: Callable[[bytes], _Page]) -> _Page:
        if self._page_size.keys < _MOST_KEYS:
            query = {**query, "MaxKeys": str(self._page_size.keys)}
        try:
            body = self._body(query)
        except _TIMEOUTS:
            self._page_size.note_timeout()
            raise
        page = read(body)
        self._page_size.note_page()
        return page

    def _body(self, query: Query) -> bytes:
        template = self._sender.template
        if template is None or self._strikes >= _MOST_STRIKES:
            return self._through_botocore(query)
        self._on_request()
        try:
            status, body = self._send(template, query)
        except _ODD:
            return self._second_opinion(query)
        if status == HTTPStatus.OK:
            return body
        if status in _NOT_NOW:
            raise _not_now(status, body)
        return self._second_opinion(query)

    def _send(self, template: RequestTemplate, query: Query) -> tuple[int, bytes]:
        named = {_NAMES[name]: value for name, value in query.items()}
        try:
            return self._sender.get(template, template.request("GET", query=named))
        except HTTPError as err:  # botocore does not translate these
            raise boto.HTTPClientError(error=err) from err

    def _second_opinion(self, query: Query) -> bytes:
        """Return the page through botocore; after a few such pages, leave all requests to it."""
        self._sender.forget()
        body = self._through_botocore(query)
        self._strikes += 1
        if self._strikes == _MOST_STRIKES:
            _log.warning("listing.through_botocore", bucket=self._client.bucket)
        return body

    def _through_botocore(self, query: Query) -> bytes:
        self._on_request()
        try:
            return self.ask(query)[0]
        except _TIMEOUTS:
            raise
        except CALL_ERRORS as err:  # botocore has already retried errors that may pass
            raise request_error(err) from err

    def ask(self, query: Query) -> tuple[bytes, Answer]:
        """Return a page through botocore, and what botocore reads in it; it is not counted.

        Raises:
            UnreadablePageError: The answer is no page.
            Exception: One of ``CALL_ERRORS``.
        """
        request: dict[str, Any] = dict(query)
        if "MaxKeys" in request:
            request["MaxKeys"] = int(request["MaxKeys"])
        answer = self._client.call("list_objects_v2", **request)
        body: bytes | None = answer.get(_BODY)
        if body is None:
            raise UnreadablePageError("the listing has a page without a body")
        return body, answer


def _take_body(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    """Keep the body of a page from botocore's parser; botocore still parses a small one."""
    if response_dict["status_code"] == HTTPStatus.OK:
        customized_response_dict[_BODY] = response_dict["body"]
        if len(response_dict["body"]) > _SMALL:
            response_dict["body"] = b""


def _not_now(status: int, body: bytes) -> _NotNowError:
    answer = {"status_code": status, "headers": {}, "body": body}
    try:
        return _NotNowError(create_parser("rest-xml").parse(answer, None), "ListObjectsV2")
    except (ResponseParserError, TypeError, AttributeError):
        return _NotNowError({"Error": {"Code": str(status)}}, "ListObjectsV2")
