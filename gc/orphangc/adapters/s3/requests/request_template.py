"""Sends S3 requests as botocore sends the first one of their operation, without botocore's costs.

A request through botocore costs half a millisecond of CPU time, and 25 ms if it deletes a thousand
keys. So the first request of an operation goes through botocore, and an event of
botocore's shows how it is addressed and signed: endpoint, region, addressing style, headers and
signer, whatever they were resolved from. That is the template of later requests. The same signer
signs them, so credentials are refreshed; botocore's blocking HTTP session sends them, so proxies
and certificates are the same.
"""

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote_plus, urlencode, urlsplit, urlunsplit

import botocore
from botocore.awsrequest import AWSRequest
from botocore.response import StreamingBody

from orphangc.adapters.files.translate import host_now
from orphangc.adapters.s3.requests.s3_client import S3Client

_SIGNATURES = {"s3v4", "v4", botocore.UNSIGNED}
_SPECIAL = {"request_credentials", "identity_cache"}
_CONTEXT_OF_ONE_REQUEST = {"signing", "checksum"}
_HEADERS_OF_ONE_REQUEST = (
    "amz-sdk-",
    "content-length",
    "content-md5",
    "x-amz-checksum",
    "x-amz-sdk-",
)
"""Beginnings of headers that describe one body, or count botocore's own attempts."""
_SIGNER_SECONDS = 60.0
"""How long credentials are used before the signer is asked again: refreshed ones last minutes."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTemplate:
    """How botocore addresses and signs requests of one operation.

    Attributes:
        query: Parts of the query that are equal in all requests, encoded.
        signer: Object whose ``get_auth_instance(**signature)`` signs; ``None`` if requests are not
            signed.
    """

    url: str
    query: tuple[str, ...]
    headers: Mapping[str, str]
    context: Mapping[str, Any]
    signer: Any
    signature: Mapping[str, Any]

    def request(
        self,
        method: str,
        *,
        path: str = "",
        query: Mapping[str, str] = _NOTHING,
        headers: Mapping[str, str] = _NOTHING,
        body: bytes | None = None,
    ) -> AWSRequest:
        """Return a request that is not signed yet; the answer to a GET request is streamed."""
        varying = urlencode(query, quote_via=quote, safe="-_.~")
        text = "&".join((*self.query, *((varying,) if varying else ())))
        request = AWSRequest(
            method,
            f"{self.url}{path}?{text}" if text else self.url + path,
            {**self.headers, **headers},
            data=body,
            stream_output=method == "GET",
        )
        request.context.update(self.context)
        return request


def template_of(
    request: AWSRequest, *, varying: Collection[str], signature_version: Any, **facts: Any
) -> RequestTemplate | None:
    """Return the template of a request that botocore is about to sign.

    Args:
        varying: Names of query parameters that differ between requests.
        facts: Further arguments of ``before-sign``: ``request_signer``, ``signing_name``,
            ``region_name`` and others.

    Returns:
        ``None`` if botocore signs the request in a special way: directory buckets, version 4a.
    """
    signing = request.context.get("signing", {})
    if signature_version not in _SIGNATURES or _SPECIAL & {*signing}:
        return None
    parts = urlsplit(request.url)
    return RequestTemplate(
        url=urlunsplit(parts._replace(query="")),
        query=tuple(
            part
            for part in parts.query.split("&")
            if part and unquote_plus(part.partition("=")[0]) not in varying
        ),
        headers={
            name: value
            for name, value in request.headers.items()
            if not name.lower().startswith(_HEADERS_OF_ONE_REQUEST)
        },
        context={k: v for k, v in request.context.items() if k not in _CONTEXT_OF_ONE_REQUEST},
        signer=None if signature_version is botocore.UNSIGNED else facts["request_signer"],
        signature={
            "signing_name": signing.get("signing_name") or facts["signing_name"],
            "region_name": signing.get("region") or facts["region_name"],
            "signature_version": signature_version,
        },
    )


class TemplateSender:
    """Learns the template of one operation and sends requests; may be used by many threads at once.

    Attributes:
        template: Template from botocore's latest request; ``None`` before the first one, and where
            botocore must send every request.
    """

    def __init__(self, client: S3Client, operation: str, *, varying: Collection[str] = ()) -> None:
        """Learn from every request that botocore sends."""
        self.template: RequestTemplate | None = None
        self._client = client
        self._varying = frozenset(varying)
        self._lock = threading.Lock()
        self._auth: tuple[float, RequestTemplate, Any] | None = None
        self._sessions: dict[str, Any] = {}
        client.on(f"before-sign.s3.{operation}", self._learn)

    def send(self, template: RequestTemplate, request: AWSRequest) -> Any:
        """Return the HTTP session's answer; raise errors of botocore's or urllib3's."""
        if (auth := self._auth_for(template)) is not None:
            auth.add_auth(request)
        asked_at = host_now()
        answer = self._session(template.url).send(request.prepare())
        self._client.note_date(asked_at, answer.headers.get("date"))
        return answer

    def get(self, template: RequestTemplate, request: AWSRequest) -> tuple[int, bytes]:
        """Return status and body of the answer to a GET request, as ``send`` does."""
        answer = self.send(template, request)
        body: bytes = StreamingBody(answer.raw, answer.headers.get("content-length")).read()
        return answer.status_code, body

    def forget(self) -> None:
        """Ask the signer for credentials again before the next request."""
        self._auth = None

    def _learn(self, request: AWSRequest, **facts: Any) -> None:
        self.template = template_of(request, varying=self._varying, **facts)

    def _auth_for(self, template: RequestTemplate) -> Any:
        if template.signer is None:
            return None
        auth = self._auth
        if auth is not None and auth[0] > time.monotonic() and auth[1] is template:
            return auth[2]
        fresh = self._client.run(template.signer.get_auth_instance, **template.signature)
        self._auth = (time.monotonic() + _SIGNER_SECONDS, template, fresh)
        return fresh

    def _session(self, url: str) -> Any:
        with self._lock:
            if url not in self._sessions:
                self._sessions[url] = self._client.http_session(url)
            return self._sessions[url]
