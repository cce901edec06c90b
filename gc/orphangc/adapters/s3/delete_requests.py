"""Sends DeleteObjects as botocore would, once, and without its costs.

botocore takes some 25 ms of CPU time for a thousand keys. So the first request goes through it, and
an event of botocore's tells how that one is addressed and signed. Later ones go to the same URL,
are signed by the same signer (so credentials are refreshed), and are sent by botocore's blocking
HTTP session (so proxies and certificates are the same). What is answered with a redirect or a
refusal, so that nothing was deleted, is asked again through botocore, whose word is final.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from xml.sax.saxutils import escape

from botocore import exceptions as boto
from botocore.awsrequest import AWSRequest
from botocore.parsers import create_parser
from urllib3.exceptions import HTTPError

from orphangc.adapters.s3.requests.request_template import Signer, Signing, signing_of
from orphangc.adapters.s3.requests.s3_client import Answer, S3Client

_BEFORE_SIGNING = "before-sign.s3.DeleteObjects"
_OF_ONE_REQUEST = ("amz-sdk-", "content-length", "content-md5", "x-amz-checksum", "x-amz-sdk-")
"""Beginnings of headers that are about one body, or about botocore's own attempts."""
_ENTITIES = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;", '"': "&quot;"}

_ANSWER = re.compile(
    rb'(?:<\?xml version="1\.0" encoding="UTF-8"\?>\s*)?<DeleteResult(?: xmlns="[^"<&]*")?>'
    rb"((?:<Deleted><Key>[^<>&]*</Key></Deleted>)*)</DeleteResult>\s*"
)
_KEY = re.compile(rb"<Key>([^<]*)</Key>")


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeleteRoute:
    """How botocore addressed and signed a request."""

    url: str
    headers: Mapping[str, str]
    signing: Signing


def _way(request: AWSRequest, **facts: Any) -> _DeleteRoute | None:
    """Return how a request goes that botocore is about to sign, ``None`` if in some special way."""
    signing = signing_of(request, **facts)
    if signing is None:
        return None
    headers = {
        name: value
        for name, value in request.headers.items()
        if not name.lower().startswith(_OF_ONE_REQUEST)
    }
    return _DeleteRoute(url=request.url, headers=headers, signing=signing)


class DeleteRequests:
    """Deletes keys of one bucket; may be used by many threads at once."""

    def __init__(self, client: S3Client) -> None:
        """Take a client that sends a request once."""
        self._client = client
        self._signer = Signer(client)
        self._way: _DeleteRoute | None = None
        with client.translated("open"):
            client.on(_BEFORE_SIGNING, self._learn)
            self._shape = client.output_shape("DeleteObjects")

    def send(self, wanted: Sequence[tuple[str, str | None]]) -> Answer:
        """Return the answer for these keys, each with the ETag that it must have; as botocore's.

        Raises:
            Exception: One of ``CALL_ERRORS``.

        """
        way = self._way
        if way is None:
            return self._through_botocore(wanted)
        status, body = self._post(way, _body(wanted))
        if status == HTTPStatus.OK:
            return _plain(body) or self._parsed(status, body)
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise boto.ClientError(self._parsed(status, body), "DeleteObjects")
        self._signer.forget()
        return self._through_botocore(wanted)

    def _through_botocore(self, wanted: Sequence[tuple[str, str | None]]) -> Answer:
        objects = [{"Key": key, **({"ETag": etag} if etag else {})} for key, etag in wanted]
        return self._client.call("delete_objects", Delete={"Objects": objects, "Quiet": False})

    def _post(self, way: _DeleteRoute, body: bytes) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        digest = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        headers = {**way.headers, "Content-MD5": digest}
        request = AWSRequest("POST", way.url, headers, data=body)
        try:
            answer = self._signer.send(request, way.signing, to=way.url)
            content: bytes = answer.content
        except HTTPError as err:  # those that botocore does not translate
            raise boto.HTTPClientError(error=err) from err
        return answer.status_code, content

    def _parsed(self, status: int, body: bytes) -> Answer:
        """Return an answer, or an error, as botocore reads it."""
        answer = {"status_code": status, "headers": {}, "body": body}
        parsed: Answer = create_parser("rest-xml").parse(answer, self._shape)
        return parsed

    def _learn(self, request: AWSRequest, **facts: Any) -> None:
        """Take note how botocore is about to send a request; on the I/O thread."""
        self._way = _way(request, **facts)


def _body(wanted: Sequence[tuple[str, str | None]]) -> bytes:
    parts = ['<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">']
    for key, etag in wanted:
        condition = f"<ETag>{escape(etag, _ENTITIES)}</ETag>" if etag else ""
        parts.append(f"<Object><Key>{escape(key, _ENTITIES)}</Key>{condition}</Object>")
    return "".join((*parts, "<Quiet>false</Quiet></Delete>")).encode()


def _plain(body: bytes) -> Answer | None:
    """Return an answer that tells of nothing but deleted keys, ``None`` for any other one."""
    match = _ANSWER.fullmatch(body)
    if match is None:
        return None
    return {"Deleted": [{"Key": key.decode()} for key in _KEY.findall(match[1])]}
