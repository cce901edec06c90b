"""Sends GET requests over connections of botocore's HTTP session, without the layers above them.

botocore's session and urllib3 spend half a millisecond on each request, mostly on what HTTP allows
and no object store does. This module knows one form of answer: a status, headers, and a body of a
stated length. Connections come from the session's own pool, so certificates, timeouts and socket
options are the session's. It leaves everything else to the session: proxies, and answers in another
form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from socket import socket
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions as boto
from botocore.awsrequest import AWSPreparedRequest

_CHUNK = 1 << 16
_LONGEST_HEAD = 1 << 16
_STATUS = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [^\r\n]*)?")
_FIELD = re.compile(rb"([!#-'*+.0-9A-Z^_`a-z|~-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_LENGTH = re.compile(rb"[0-9]{1,12}")
_BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
_OTHER_BODIES = {b"transfer-encoding", b"content-encoding", b"upgrade", b"trailer"}
"""Headers of bodies that are not simply the bytes that follow."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class DirectAnswer:
    """The answer to a GET request.

    Attributes:
        status: HTTP status.
        date: The ``Date`` header, ``None`` without one.
        body: All bytes of the body.

    """

    status: int
    date: str | None
    body: bytes


class _OtherFormError(Exception):
    """The answer has a form that this module does not know."""


class DirectGet:
    """Gets from one origin; may be used by many threads at once.

    Attributes:
        is_possible: Whether requests can be sent this way: no proxy, and answers of known form.

    """

    def __init__(self, session: Any, url: str) -> None:
        """Take the pool of connections that the session has used for ``url`` before."""
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._host = _host(parts.scheme, parts.netloc, parts.port)
        self._pool: Any = _pool_of(session, url)
        self.is_possible = self._pool is not None

    def get(self, request: AWSPreparedRequest) -> DirectAnswer | None:
        """Return the answer, ``None`` if the session must send the request itself.

        Raises:
            botocore.exceptions.HTTPClientError: The connection broke, or timed out.
            botocore.exceptions.IncompleteReadError: The body ends early.

        """
        url: str = request.url
        if not self.is_possible or not url.startswith(f"{self._origin}/"):
            return None
        target = url[len(self._origin) :]
        connection = self._connected()
        if connection is None:
            return None
        try:
            answer, is_kept = _exchange(
                connection.sock, _written(target, self._host, request.headers.items())
            )
        except BaseException as err:
            connection.close()
            self._pool._put_conn(connection)  # noqa: SLF001 - see ``_pool_of``
            if isinstance(err, _OtherFormError):
                self.is_possible = False
                return None
            if isinstance(err, TimeoutError):
                raise boto.ReadTimeoutError(endpoint_url=url, error=err) from err
            if isinstance(err, OSError):
                raise boto.HTTPClientError(error=err) from err
            raise
        if not is_kept:
            connection.close()
        self._pool._put_conn(connection)  # noqa: SLF001
        return answer

    def _connected(self) -> Any | None:
        """Return a connection, kept or new; ``None`` if none can be opened: the session says why.

        urllib3 opens it, and checks the server's certificate, as in any request of the session.
        """
        pool = self._pool
        connection = pool._get_conn()  # noqa: SLF001
        try:
            if connection.sock is None:
                connection.timeout = pool.timeout.connect_timeout
                pool._validate_conn(connection)  # noqa: SLF001 - opens it, if it uses TLS
                if connection.sock is None:
                    connection.connect()
            connection.sock.settimeout(pool.timeout.read_timeout)
        except Exception:  # noqa: BLE001 - whatever it is, the session meets it again and words it
            connection.close()
            pool._put_conn(connection)  # noqa: SLF001
            return None
        return connection


def _pool_of(session: Any, url: str) -> Any | None:
    """Return urllib3's pool for ``url``; ``None`` behind a proxy, or if there is no such thing.

    These attributes are no promise of botocore's: where one is absent, the session sends all.
    """
    try:
        if session._proxy_config.proxy_url_for(url) is not None:  # noqa: SLF001
            return None
        pool = session._manager.connection_from_url(url)  # noqa: SLF001
        needed = (pool._get_conn, pool._put_conn, pool._validate_conn, pool.timeout.read_timeout)  # noqa: SLF001
    except AttributeError:
        return None
    return pool if all(each is not None for each in needed) else None


def _host(scheme: str, netloc: str, port: int | None) -> str:
    """Return the ``Host`` header as it was signed: without the usual port."""
    return netloc.removesuffix(f":{port}") if port == _PORTS.get(scheme) else netloc


def _written(target: str, host: str, headers: Iterable[tuple[str, str | bytes]]) -> bytes:
    """Return a request as bytes.

    Raises:
        _OtherFormError: A part of it would end its line.

    """
    texts = [f"GET {target} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity"]
    texts += [
        f"{name}: {value.decode('latin-1') if isinstance(value, bytes) else value}"
        for name, value in headers
        if name.lower() not in {"host", "accept-encoding"}
    ]
    text = "\r\n".join((*texts, "", ""))
    if text.count("\n") != len(texts) + 1 or text.count("\r") != len(texts) + 1:
        raise _OtherFormError
    return text.encode("latin-1")


def _exchange(sock: socket, request: bytes) -> tuple[DirectAnswer, bool]:
    """Return the answer to a request, and whether the connection may be used again.

    Raises:
        _OtherFormError: The form of the answer is not known.
        OSError: The connection broke.
        botocore.exceptions.IncompleteReadError: It ended before the body did.

    """
    sock.sendall(request)
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        more = sock.recv(_CHUNK)
        if not more:
            raise ConnectionResetError("the connection ended without an answer")
        received += more
        if len(received) > _LONGEST_HEAD and b"\r\n\r\n" not in received:
            raise _OtherFormError
    status, fields = _head(received[:end])
    size = int(fields[b"content-length"])
    begun = received[end + 4 :]
    if len(begun) > size:
        raise _OtherFormError
    date = fields.get(b"date")
    answer = DirectAnswer(
        status, None if date is None else date.decode("latin-1"), _body(sock, begun, size)
    )
    return answer, fields.get(b"connection", b"keep-alive").lower() == b"keep-alive"


def _head(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    """Return the status, and the headers by their names in lower case.

    Raises:
        _OtherFormError: The length of the body is not stated, or stated twice.

    """
    first, *lines = head.split(b"\r\n")
    status = _STATUS.fullmatch(first)
    fields: dict[bytes, bytes] = {}
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found is None or (found[1].lower() == b"content-length" and b"content-length" in fields):
            raise _OtherFormError
        fields[found[1].lower()] = found[2]
    is_sized = _LENGTH.fullmatch(fields.get(b"content-length", b""))
    if status is None or not is_sized or not _OTHER_BODIES.isdisjoint(fields):
        raise _OtherFormError
    if int(status[1]) in _BODILESS:
        raise _OtherFormError
    return int(status[1]), fields


def _body(sock: socket, begun: bytes, size: int) -> bytes:
    """Return the whole body, of which some bytes have come."""
    body = bytearray(size)
    body[: len(begun)] = begun
    at, rest = len(begun), memoryview(body)
    while at < size:
        count = sock.recv_into(rest[at:])
        if not count:
            raise boto.IncompleteReadError(actual_bytes=at, expected_bytes=size)
        at += count
    return bytes(body)
