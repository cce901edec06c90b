"""Signs and sends requests as botocore has signed and sent one of their kind.

An event of botocore's tells who signs, and with what. Later requests are signed by the same signer,
so credentials are refreshed, and sent by botocore's blocking HTTP session, so proxies and
certificates are the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import botocore
from botocore.awsrequest import AWSRequest

from orphangc.adapters.s3.requests.s3_client import S3Client

_SIGNATURES = {"s3v4", "v4", botocore.UNSIGNED}
_SPECIAL = {"request_credentials", "identity_cache"}
_OF_ONE_REQUEST = {"signing", "checksum"}
_SIGNER_SECONDS = 60.0
"""How long credentials are used before they are asked for again: refreshed ones have minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """How botocore signs requests of one kind.

    Attributes:
        context: What a request's context holds for the signer to read.
        signer: Makes ``get_auth_instance(**arguments)``; ``None`` if requests are not signed.
        arguments: Name, region and version of the signature.

    """

    context: Mapping[str, Any]
    signer: Any
    arguments: Mapping[str, Any]


def signing_of(request: AWSRequest, *, signature_version: Any, **facts: Any) -> Signing | None:
    """Return how a request is signed that botocore is about to sign, ``None`` if in a special way.

    Args:
        request: As ``before-sign`` gives it.
        signature_version: The same.
        facts: The same: ``request_signer``, ``signing_name``, ``region_name`` and others.

    """
    signing = request.context.get("signing", {})
    if signature_version not in _SIGNATURES or _SPECIAL & {*signing}:
        return None
    return Signing(
        context={k: v for k, v in request.context.items() if k not in _OF_ONE_REQUEST},
        signer=None if signature_version is botocore.UNSIGNED else facts["request_signer"],
        arguments={
            "signing_name": signing.get("signing_name") or facts["signing_name"],
            "region_name": signing.get("region") or facts["region_name"],
            "signature_version": signature_version,
        },
    )


class Signer:
    """Signs and sends; may be used by many threads at once."""

    def __init__(self, client: S3Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._auth: tuple[float, Signing, Any] | None = None
        self._sessions: dict[str, Any] = {}

    def send(self, request: AWSRequest, signing: Signing, *, to: str) -> Any:
        """Return the HTTP session's answer to a request that is not signed yet.

        Args:
            request: What to send.
            signing: How to sign it.
            to: URL that proxies and certificates are chosen by.

        Raises:
            Exception: One of botocore's or urllib3's.

        """
        request.context.update(signing.context)
        if (auth := self._auth_for(signing)) is not None:
            auth.add_auth(request)
        return self._session(to).send(request.prepare())

    def forget(self) -> None:
        """Ask for the credentials anew before the next request."""
        self._auth = None

    def _auth_for(self, signing: Signing) -> Any:
        """Return botocore's signer with credentials that are valid now."""
        if signing.signer is None:
            return None
        auth = self._auth
        if auth is not None and auth[0] > time.monotonic() and auth[1] is signing:
            return auth[2]
        fresh = self._client.run(signing.signer.get_auth_instance(**signing.arguments))
        self._auth = (time.monotonic() + _SIGNER_SECONDS, signing, fresh)
        return fresh

    def _session(self, url: str) -> Any:
        with self._lock:
            if url not in self._sessions:
                self._sessions[url] = self._client.http_session(url)
            return self._sessions[url]
