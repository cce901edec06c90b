"""GET requests without the layers of urllib3: one form of answer, all others to the session."""

from __future__ import annotations

import socket
import threading
from types import SimpleNamespace

import pytest
from botocore.awsrequest import AWSRequest
from botocore.exceptions import HTTPClientError, IncompleteReadError, ReadTimeoutError
from urllib3 import PoolManager, Timeout

from orphangc.adapters.s3.requests.direct_get import DirectGet
from support import speed

OPEN: list[Server] = []
GOOD = b"HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """Sends one prepared answer after another, on as many connections as come."""

    def __init__(self, answers: list[bytes], *, closes: bool = False) -> None:
        self.answers, self.closes = answers, closes
        self.pool = PoolManager(timeout=Timeout(connect=speed.answer(), read=speed.answer()))
        self.seen: list[bytes] = []
        self.connections = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        OPEN.append(self)

    def _serve(self) -> None:
        while self.answers:
            try:
                client, _ = self.socket.accept()
            except OSError:  # the test is over
                return
            self.connections += 1
            with client:
                while self.answers and (request := client.recv(65536)):
                    self.seen.append(request)
                    client.sendall(self.answers.pop(0))
                    if self.closes:
                        break


@pytest.fixture(autouse=True)
def closed_servers():
    """Close whatever a test opened."""
    yield
    while OPEN:
        server = OPEN.pop()
        server.pool.clear()
        server.socket.shutdown(socket.SHUT_RDWR)
        server.socket.close()
        server.thread.join()


def opened(server: Server, *, proxy: str | None = None) -> DirectGet:
    """Return the way to a server, as botocore's session would open it."""
    session = SimpleNamespace(
        _proxy_config=SimpleNamespace(proxy_url_for=lambda _: proxy),
        _manager=server.pool,
    )
    return DirectGet(session, server.url)


def asked(server: Server, path: str = "/b?list-type=2"):
    return AWSRequest("GET", server.url + path, {"X-Own": "1"}).prepare()


def test_one_connection_serves_many_requests():
    """The request is whole, and each body is that of its answer."""
    other = GOOD.replace(b"hello", b"world").replace(b"200 OK", b"503 Slow Down")
    server = Server([GOOD, other])
    direct = opened(server)
    first, second = (direct.get(asked(server)) for _ in range(2))
    assert (first.status, first.date, first.body) == (200, "now", b"hello")
    assert (second.status, second.body) == (503, b"world")
    host = server.url.removeprefix("http://").encode()
    assert server.seen[0] == (
        b"GET /b?list-type=2 HTTP/1.1\r\nHost: %b\r\nAccept-Encoding: identity\r\nX-Own: 1\r\n\r\n"
        % host
    )
    assert server.connections == 1


def test_a_body_may_come_in_pieces():
    """A page is larger than what one read returns."""
    body = bytes(range(256)) * 2000
    server = Server([b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body])
    assert opened(server).get(asked(server)).body == body


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello",
    ],
    ids=["chunked", "both", "gzip", "two lengths", "signed length", "no length", "folded",
         "continue", "no content", "1.0", "longer body"],
)  # fmt: skip
def test_an_answer_in_another_form_is_left_to_the_session(answer):
    """From then on, all are: no byte of such an answer is taken for a page."""
    server = Server([answer])
    direct = opened(server)
    assert direct.get(asked(server)) is None
    assert not direct.is_possible
    assert direct.get(asked(server)) is None
    assert len(server.seen) == 1


def test_a_body_that_ends_early_is_an_error():
    """It is no shorter page."""
    server = Server([GOOD[:-2]], closes=True)
    with pytest.raises(IncompleteReadError):
        opened(server).get(asked(server))


def test_a_connection_that_breaks_is_an_error_and_replaced():
    """Half a head is no answer; the next request has a new connection."""
    server = Server([b"HTTP/1.1 200", GOOD], closes=True)
    direct = opened(server)
    with pytest.raises(HTTPClientError):
        direct.get(asked(server))
    assert direct.get(asked(server)).body == b"hello"
    assert server.connections == 2


def test_silence_is_a_timeout():
    """The caller asks for smaller pages then."""
    server = Server([b"", GOOD])
    direct = opened(server)
    direct._pool.timeout = Timeout(connect=speed.answer(), read=0.05)
    with pytest.raises(ReadTimeoutError):
        direct.get(asked(server))


def test_what_closes_its_connection_is_not_asked_on_it_again():
    """``Connection: close`` is heeded."""
    closing = GOOD.replace(b"Date: now", b"Connection: close")
    server = Server([closing, GOOD], closes=True)
    direct = opened(server)
    assert [direct.get(asked(server)).body for _ in range(2)] == [b"hello", b"hello"]
    assert server.connections == 2


@pytest.mark.parametrize("missing", ["_proxy_config", "_manager"])
def test_a_session_without_the_known_parts_sends_everything(missing):
    """These attributes are private to botocore."""
    server = Server([GOOD])
    session = SimpleNamespace(
        _proxy_config=SimpleNamespace(proxy_url_for=lambda _: None), _manager=server.pool
    )
    delattr(session, missing)
    assert not DirectGet(session, server.url).is_possible


def test_requests_behind_a_proxy_are_the_sessions():
    """A proxy has another address and other lines."""
    server = Server([GOOD])
    assert opened(server, proxy="http://proxy:3128").get(asked(server)) is None


@pytest.mark.parametrize("path", ["/b?x=1\r\nX: 2", "/b?x=1\n"])
def test_a_request_never_ends_its_own_line(path):
    """Keys may hold any character; here the URL is encoded before."""
    server = Server([GOOD])
    request = asked(server)
    request.url = server.url + path
    assert opened(server).get(request) is None
    assert not server.seen
