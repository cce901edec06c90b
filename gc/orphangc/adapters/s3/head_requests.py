"""Sends HeadObject for many keys, from botocore's request template.

Through botocore a request costs twice the CPU time. An answer that is neither the facts of an
object nor "there is none" is asked again through botocore, which repeats and has the final word.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

from botocore import exceptions as boto
from urllib3.exceptions import HTTPError

from orphangc.adapters.s3.requests.request_template import RequestTemplate, TemplateSender
from orphangc.adapters.s3.requests.s3_client import CALL_ERRORS, Answer, S3Client, error_code
from orphangc.core.times.instants import from_http

ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})
"""Codes of an answer that says that there is no such object."""


class HeadRequests:
    """Asks for facts of objects of one bucket; may be used by many threads at once."""

    def __init__(self, client: S3Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._is_possible = True
        self._template: RequestTemplate | None = None
        with client.translated("open"):
            self._sender = TemplateSender(client, "HeadObject")

    def send(self, key: str) -> Answer:
        """Return the answer for a whole key, in botocore's form.

        Raises:
            Exception: One of ``CALL_ERRORS``.
        """
        if self._template is None and self._is_possible:
            with self._lock:
                if self._template is None and self._is_possible:
                    return self._learn(key)
        if self._template is None:
            return self._through_botocore(key)
        return self._from(self._template, key)

    def _learn(self, key: str) -> Answer:
        """Send the first request through botocore, and take its address without the key."""
        try:
            answer = self._through_botocore(key)
        except CALL_ERRORS as err:
            if error_code(err) in ABSENT:
                self._take_template(key)
            raise
        self._take_template(key)
        return answer

    def _take_template(self, key: str) -> None:
        template, path = self._sender.template, _path(key)
        if template is not None and template.url.endswith(f"/{path}"):
            self._template = replace(template, url=template.url.removesuffix(path))
        self._is_possible = self._template is not None

    def _from(self, template: RequestTemplate, key: str) -> Answer:
        try:
            answer = self._sender.send(template, template.request("HEAD", path=_path(key)))
        except (HTTPError, boto.HTTPClientError, boto.ConnectionError):
            return self._through_botocore(key)
        if answer.status_code == HTTPStatus.NOT_FOUND:
            raise boto.ClientError({"Error": {"Code": "404"}}, "HeadObject")
        found = _facts(answer.headers) if answer.status_code == HTTPStatus.OK else None
        if found is None:
            self._sender.forget()
            return self._through_botocore(key)
        return found

    def _through_botocore(self, key: str) -> Answer:
        return self._client.call("head_object", Key=key)


def _path(key: str) -> str:
    """Return a key as botocore writes it in a URL."""
    return quote(key, safe="/~")


def _facts(headers: Mapping[str, str]) -> Answer | None:
    """Return the facts in the headers of an answer, ``None`` if one of them is absent or odd."""
    size, etag, at = (headers.get(name) for name in ("content-length", "etag", "last-modified"))
    if size is None or not (size.isascii() and size.isdigit()) or etag is None or at is None:
        return None
    return {"ContentLength": int(size), "ETag": etag, "LastModified": from_http(at)}
