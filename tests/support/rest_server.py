"""A loopback stand-in for Flink's REST API that serves saved answers, or misbehaves on request."""

import json
import re
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

SAVED = Path(__file__).parent / "fixtures_rest"
SCENARIOS = sorted(f"{each.parent.name}/{each.name}" for each in SAVED.glob("*/*"))

Reply = tuple[int, bytes] | Callable[[BaseHTTPRequestHandler], None]


def saved(scenario: str, name: str) -> Any:
    return json.loads((SAVED / scenario / f"{name}.json").read_bytes())


def saved_routes(scenario: str) -> dict[str, Reply]:
    """Return the routes of a saved cluster.

    Only the running job's answers were saved, so only that job is listed.
    """
    folder = SAVED / scenario
    job = saved(scenario, "job")["jid"]
    listed = [each for each in saved(scenario, "jobs")["jobs"] if each["id"] == job]

    def body(name: str) -> Reply:
        return 200, (folder / f"{name}.json").read_bytes()

    return {
        "/config": body("config"),
        "/jobmanager/config": body("jobmanager-config"),
        "/jobs": as_json({"jobs": listed}),
        f"/jobs/{job}": body("job"),
        f"/jobs/{job}/checkpoints": body("job-checkpoints"),
        f"/jobs/{job}/checkpoints/config": body("job-checkpoints-config"),
    }


def as_json(value: object, status: int = 200) -> Reply:
    return status, json.dumps(value).encode()


def listing(*jobs: tuple[str, str]) -> dict[str, Reply]:
    return {"/jobs": as_json({"jobs": [{"id": job, "status": status} for job, status in jobs]})}


def configured(options: Mapping[str, str]) -> dict[str, Reply]:
    """Return the route of a cluster whose configuration has these options, and one of each."""
    shown = {"jobmanager.rpc.address": "jobmanager", **options}
    entries = [{"key": key, "value": value} for key, value in shown.items()]
    return {"/jobmanager/config": as_json(entries)}


class RestServer:
    """Serves ``routes`` on a free port; a reply is status and body, or a function that misbehaves.

    Its clock goes on with each answer about a job, as Flink's does.
    ``asked`` counts requests by path, ``headers`` keeps the last request's. With a certificate, a
    PEM file with its key, it speaks TLS.
    """

    def __init__(self, routes: dict[str, Reply], certificate: Path | None = None) -> None:
        self.routes = routes
        self.asked: Counter[str] = Counter()
        self.headers: dict[str, str] = {}
        self.stopped = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # headers and body in one packet: no wait for an acknowledgement

            def do_GET(self) -> None:
                outer.asked[self.path] += 1
                outer.headers = dict(self.headers.items())
                reply = outer.routes.get(self.path, (404, b'{"errors":["Not found: x"]}'))
                if callable(reply):
                    reply(self)
                else:
                    status, body = reply
                    send(self, status, later(body, outer.asked[self.path] - 1))

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def later(body: bytes, milliseconds: int) -> bytes:
    """Return the details of a job as they are answered later; any other body as it is."""
    if b'"now"' not in body:
        return body
    return re.sub(rb'("now": *)(\d+)', lambda m: m[1] + b"%d" % (int(m[2]) + milliseconds), body)


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """Answer properly."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
