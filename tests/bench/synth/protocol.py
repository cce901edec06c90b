"""HTTP/1.1 on one port of the loopback interface; ends with the process that started it."""

import asyncio
import os
import re
import socket
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from bench.synth.endpoint import Endpoint, Request, Response

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_SPAN = re.compile(rb"\r\nrange:\s*([^\r]*)", re.IGNORECASE)
_EXPECTS = re.compile(rb"\r\nexpect:\s*100-continue", re.IGNORECASE)
_BUFFER = 2**20
_PARENT_SECONDS = 0.5


def serve(endpoint: Endpoint, port: int, announce: Callable[[int], None]) -> None:
    """Serve until the parent process ends; ``announce`` is told the port."""
    asyncio.run(_serve(endpoint, port, announce))


async def _serve(endpoint: Endpoint, port: int, announce: Callable[[int], None]) -> None:
    loop = asyncio.get_running_loop()
    parent = os.getppid()
    server = await loop.create_server(
        lambda: Connection(endpoint, loop), "127.0.0.1", port, backlog=1024
    )
    announce(server.sockets[0].getsockname()[1])
    while os.getppid() == parent:  # noqa: ASYNC110 - nobody tells of a parent's end
        await asyncio.sleep(_PARENT_SECONDS)


class Connection(asyncio.Protocol):
    """One client's connection: a request, its answer, the next request."""

    def __init__(self, endpoint: Endpoint, loop: asyncio.AbstractEventLoop) -> None:
        self._endpoint = endpoint
        self._loop = loop
        self._received = b""
        self._is_answering = False
        self._was_told_to_go_on = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Prepare for large answers."""
        self._transport = transport
        self._endpoint.connections += 1
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)

    def connection_lost(self, _: Exception | None) -> None:
        """Count one less: nothing that it asked for is carried out any more."""
        self._endpoint.connections -= 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._go_on()

    def _go_on(self) -> None:
        head, separator, rest = self._received.partition(b"\r\n\r\n")
        if self._is_answering or not separator:
            return
        found = _LENGTH.search(head)
        length = int(found[1]) if found else 0
        if len(rest) < length:
            if _EXPECTS.search(head) and not self._was_told_to_go_on:
                self._was_told_to_go_on = True
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        self._received, self._was_told_to_go_on = rest[length:], False
        self._is_answering = True
        response = self._endpoint.answer(request_of(head, rest[:length]))
        if response.is_never:
            return
        is_head = head.startswith(b"HEAD ")
        if response.delay:
            self._loop.call_later(response.delay, self._send, response, is_head)
        else:
            self._send(response, is_head)

    def _send(self, response: Response, is_head: bool) -> None:  # noqa: FBT001 - call_later's
        transport = self._transport
        if transport.is_closing():
            return
        body = b"" if is_head else response.body
        if response.sent is not None:
            if response.sent >= 0:
                transport.write(response.head() + body[: response.sent])
            transport.close()
            return
        transport.writelines([response.head(), body])
        self._endpoint.faults.counts["bytes_sent"] += len(body)
        self._is_answering = False
        self._go_on()


def request_of(head: bytes, body: bytes) -> Request:
    method, target, _ = head.split(b"\r\n", 1)[0].split(b" ", 2)
    path, _, query = target.partition(b"?")
    span = _SPAN.search(head)
    pairs = (pair.partition(b"=") for pair in query.split(b"&") if pair)
    decoded = {_decoded(name): _decoded(value) for name, _, value in pairs}
    return Request(method, path, decoded, body, span[1].strip() if span else b"")


def _decoded(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))
