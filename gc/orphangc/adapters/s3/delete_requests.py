"""Sends DeleteObjects once, from botocore's request template.

An answer that is a redirect or a refusal, so that nothing was deleted, is asked again through
botocore, whose word is final.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from http import HTTPStatus
from xml.sax.saxutils import escape

from botocore import exceptions as boto
from botocore.parsers import create_parser
from urllib3.exceptions import HTTPError

from orphangc.adapters.s3.requests.request_template import RequestTemplate, TemplateSender
from orphangc.adapters.s3.requests.s3_client import Answer, S3Client

_ENTITIES = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;", '"': "&quot;"}

_HARMLESS = re.compile(r"[A-Za-z0-9/_.-]*").fullmatch
_ANSWER = re.compile(
    rb'(?:<\?xml version="1\.0" encoding="UTF-8"\?>\s*)?<DeleteResult(?: xmlns="[^"<&]*")?>'
    rb"((?:<Deleted><Key>[^<>&]*</Key></Deleted>)*)</DeleteResult>\s*"
)
_KEY = re.compile(rb"<Key>([^<]*)</Key>")


class DeleteRequests:
    """Deletes keys of one bucket; may be used by many threads at once."""

    def __init__(self, client: S3Client) -> None:
        """Take a client that sends each request once."""
        self._client = client
        with client.translated("open"):
            self._sender = TemplateSender(client, "DeleteObjects")
            self._shape = client.output_shape("DeleteObjects")

    def send(self, wanted: Sequence[tuple[str, str | None]]) -> Answer:
        """Return the answer for these keys, each with the ETag it must have, in botocore's form.

        Raises:
            Exception: One of ``CALL_ERRORS``.
        """
        template = self._sender.template
        if template is None:
            return self._through_botocore(wanted)
        status, body = self._post(template, _body(wanted))
        if status == HTTPStatus.OK:
            return _plain(body) or self._parsed(status, body)
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise boto.ClientError(self._parsed(status, body), "DeleteObjects")
        self._sender.forget()
        return self._through_botocore(wanted)

    def _through_botocore(self, wanted: Sequence[tuple[str, str | None]]) -> Answer:
        objects = [{"Key": key, **({"ETag": etag} if etag else {})} for key, etag in wanted]
        return self._client.call("delete_objects", Delete={"Objects": objects, "Quiet": False})

    def _post(self, template: RequestTemplate, body: bytes) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        digest = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        request = template.request("POST", headers={"Content-MD5": digest}, body=body)
        try:
            answer = self._sender.send(template, request)
            content: bytes = answer.content
        except HTTPError as err:  # botocore does not translate these
            raise boto.HTTPClientError(error=err) from err
        return answer.status_code, content

    def _parsed(self, status: int, body: bytes) -> Answer:
        """Return an answer, or an error, as botocore reads it."""
        answer = {"status_code": status, "headers": {}, "body": body}
        parsed: Answer = create_parser("rest-xml").parse(answer, self._shape)
        return parsed


def _body(wanted: Sequence[tuple[str, str | None]]) -> bytes:
    parts = ['<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">']
    for key, etag in wanted:
        condition = f"<ETag>{_escaped(etag)}</ETag>" if etag else ""
        parts.append(f"<Object><Key>{_escaped(key)}</Key>{condition}</Object>")
    return "".join((*parts, "<Quiet>false</Quiet></Delete>")).encode()


def _escaped(text: str) -> str:
    """Return a text as XML has it; to find that it is the same takes an eighth of the time."""
    return text if _HARMLESS(text) else escape(text, _ENTITIES)


def _plain(body: bytes) -> Answer | None:
    """Return an answer that reports deleted keys only, ``None`` for any other answer."""
    match = _ANSWER.fullmatch(body)
    if match is None:
        return None
    return {"Deleted": [{"Key": key.decode()} for key in _KEY.findall(match[1])]}
