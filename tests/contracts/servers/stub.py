"""An S3 endpoint that answers as a test defines: for answers that good servers never give."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BUCKET = "stubbed"


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def is_listing(self) -> bool:
        return self.query.get("list-type") == "2"


@dataclass
class Answer:
    body: bytes | str = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None  # what it states; negative: nothing, and the connection ends


@dataclass
class Stub:
    """What the endpoint answers, and what it was asked."""

    url: str
    # called for every request but those for the bucket's versioning
    answer: Callable[[Request], Answer]
    requests: list[Request] = field(default_factory=list)  # all of them, in order
    versioning: str = "<VersioningConfiguration/>"  # what it says of the bucket's versioning

    def asked(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]


def error(code: str, status: int = 400) -> Answer:
    return Answer(f"<Error><Code>{code}</Code><Message>as told</Message></Error>", status)


def page(keys: list[str], *, truncated: str = "false", token: str = "", extra: str = "") -> Answer:
    rows = "".join(
        f"<Contents><Key>{key}</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified>"
        f"<ETag>&quot;e-{key}&quot;</ETag><Size>7</Size></Contents>"
        for key in keys
    )
    flag = f"<IsTruncated>{truncated}</IsTruncated>" if truncated else ""
    following = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return Answer(f"<ListBucketResult>{flag}{rows}{following}{extra}</ListBucketResult>")


def head(key: str) -> Answer:
    stamp = "Fri, 02 Jan 2026 03:04:05 GMT"
    return Answer(headers={"ETag": f'"e-{key}"', "Last-Modified": stamp}, length=7)


@contextmanager
def stub_server(*, tls: ssl.SSLContext | None = None) -> Iterator[Stub]:
    server = _Server(("127.0.0.1", 0), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    stub = Stub(url, lambda _: error("NotImplemented", 501))
    server.stub = stub
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # many streams connect at once; a full queue costs each a second


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two packets; none waits

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of the library's

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = {
            name: values[0]
            for name, values in parse_qs(parts.query, keep_blank_values=True).items()
        }
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, parts.path, query, dict(self.headers), body)
        if "versioning" in query:
            answer = Answer(self.server.stub.versioning)
        else:
            self.server.stub.requests.append(request)
            answer = self.server.stub.answer(request)
        data = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        stated = len(data) if answer.length is None else answer.length
        if stated >= 0:
            self.send_header("Content-Length", str(stated))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
            if answer.length not in {None, len(data)}:
                self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass
