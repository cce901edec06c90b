"""Google Cloud Storage on loopback: Google's own testbench, and a small server of the tests' own.

The testbench (googleapis/storage-testbench on GitHub) is in no package registry:
``STORAGE_TESTBENCH`` names a checkout of it, with a ``.venv`` in which it is installed. It refuses
stale conditions, and has neither page sizes, batches nor versions. The small server has them, and
what it refuses or damages is a test's choice; it knows of the JSON API what the adapter asks for.
"""

import itertools
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from contracts.servers.processes import await_http, start
from contracts.servers.stub import Answer, Request, stub_server
from orphangc.adapters.files.translate import host_now
from support.ports import free_port

VARIABLE = "STORAGE_TESTBENCH"
_CHECKOUT = os.environ.get(VARIABLE, "")


def why_not() -> str | None:
    """Return why no testbench can be started here, ``None`` if it can."""
    if not _CHECKOUT:
        return f"not there: {VARIABLE} names no checkout of googleapis/storage-testbench"
    if not Path(_CHECKOUT, ".venv", "bin", "gunicorn").exists():
        return f"not installed: {_CHECKOUT} has no .venv with pip install -e ."
    return None


@contextmanager
def testbench() -> Iterator[str]:
    """Yield the URL of a testbench that lives as long as the block."""
    port, gunicorn = free_port(), Path(_CHECKOUT, ".venv", "bin", "gunicorn")
    with ExitStack() as stack:
        # as testbench_run.py does, which leaves it running
        options = (f"--bind=127.0.0.1:{port}", "--worker-class=sync", "--threads=8")
        child = start(stack, gunicorn, *options, "testbench:run()", cwd=_CHECKOUT)
        url = f"http://127.0.0.1:{port}"
        await_http(url, child)
        yield url


@pytest.fixture(scope="session")
def testbench_url() -> Iterator[str]:
    """The URL of Google's testbench, where there is one."""
    if (reason := why_not()) is not None:
        pytest.skip(f"Google's storage-testbench is {reason}")
    with testbench() as url:
        yield url


@pytest.fixture(scope="session")
def gcs_url() -> Iterator[str]:
    with gcs_server() as server:
        yield server.url


Facts = dict[str, object]


@dataclass
class Stored:
    """One generation of an object."""

    facts: Facts
    data: bytes


@dataclass
class Bucket:
    """The live generations of a bucket by name, and those that are kept."""

    live: dict[str, Stored] = field(default_factory=dict)
    kept: dict[tuple[str, str], Stored] = field(default_factory=dict)
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)


@dataclass
class GcsServer:
    """Buckets, and what goes wrong."""

    url: str  # endpoint
    buckets: dict[str, Bucket] = field(default_factory=dict)  # contents by name
    # called before each request; its answer, if any, stands for the server's
    fault: Callable[[Request], Answer | None] = lambda _: None
    requests: list[Request] = field(default_factory=list)  # all requests, in order
    has_batches: bool = True  # whether it takes batches
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1_700_000_000_000_000))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if (found := self.fault(request)) is not None:
            return found
        with self._lock:
            if request.path == "/batch/storage/v1":
                return self._batch(request) if self.has_batches else refusal(501, "no batches")
            return self._one(request)

    def asked(self, method: str, path: str = "") -> list[Request]:
        return [each for each in self.requests if each.method == method and path in each.path]

    def _one(self, request: Request) -> Answer:
        match re.fullmatch(r"/(?:upload/)?storage/v1/b(?:/([^/]+)(?:/o(?:/([^/]+)(/.+)?)?)?)?",
                           request.path):  # fmt: skip
            case None:
                return refusal(404, "no such request")
            case found:
                bucket_name, name, more = (unquote(each or "") for each in found.groups())
        if not bucket_name and request.method == "GET":
            return self._names(request)
        if not bucket_name:
            self.buckets[json.loads(request.body)["name"]] = Bucket()
            return as_json({})
        bucket = self.buckets.get(bucket_name)
        if bucket is None:
            return refusal(404, "The specified bucket does not exist.")
        if name:
            return self._object(bucket, name, more, request)
        if "/o" not in request.path:
            return self._of_bucket(bucket_name, request)
        return self._put(bucket, request) if request.method == "POST" else listed(bucket, request)

    def _names(self, request: Request) -> Answer:
        names = sorted(self.buckets)
        start = int(request.query.get("pageToken", "0"))
        items = [{"name": each} for each in names[start : start + 2]]
        more = {"nextPageToken": str(start + 2)} if start + 2 < len(names) else {}
        return as_json({"items": items, **more})

    def _of_bucket(self, name: str, request: Request) -> Answer:
        if request.method == "DELETE":
            del self.buckets[name]
            return Answer("", 204)
        if request.method == "PATCH":
            self.buckets[name].settings |= json.loads(request.body)
        return as_json(self.buckets[name].settings)

    def _put(self, bucket: Bucket, request: Request) -> Answer:
        name, data, metadata = uploaded(request)
        if request.query.get("ifGenerationMatch") == "0" and name in bucket.live:
            return refusal(412, "conditionNotMet")
        return as_json(self._store(bucket, name, data, metadata).facts)

    def _store(self, bucket: Bucket, name: str, data: bytes, metadata: object) -> Stored:
        if name in bucket.live:
            self._remove(bucket, name)
        at = host_now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        facts: Facts = {"name": name, "size": str(len(data)), "timeCreated": at}
        facts |= {"generation": str(next(self._numbers)), "metadata": metadata}
        bucket.live[name] = Stored(facts, data)
        return bucket.live[name]

    def _remove(self, bucket: Bucket, name: str) -> None:
        gone = bucket.live.pop(name)
        if bucket.settings.get("versioning", {}).get("enabled"):
            at = {"timeDeleted": gone.facts["timeCreated"]}
            kept = Stored(gone.facts | at, gone.data)
            bucket.kept[name, str(gone.facts["generation"])] = kept

    def _object(self, bucket: Bucket, name: str, more: str, request: Request) -> Answer:
        generation = request.query.get("generation", "")
        found = bucket.kept.get((name, generation)) if generation else bucket.live.get(name)
        if more.startswith("/rewriteTo/"):
            return self._rewrite(bucket, name, request)
        wanted = request.query.get("ifGenerationMatch")
        if found is None:
            return refusal(404, f"No such object: {name}")
        if wanted is not None and wanted != found.facts["generation"]:
            return refusal(412, "conditionNotMet")
        if request.method == "DELETE":
            if name in bucket.held:
                return refusal(403, "the object is under a hold")
            self._remove(bucket, name)
            return Answer("", 204)
        return self._read(found, request)

    def _read(self, found: Stored, request: Request) -> Answer:
        if request.query.get("alt") != "media":
            return as_json(found.facts)
        bounds = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        if bounds is None:
            return Answer(found.data)
        start, end = int(bounds[1]), int(bounds[2]) + 1
        if start >= len(found.data):
            return refusal(416, "out of range")
        stated = f"bytes {start}-{min(end, len(found.data)) - 1}/{len(found.data)}"
        return Answer(found.data[start:end], 206, {"Content-Range": stated})

    def _rewrite(self, bucket: Bucket, name: str, request: Request) -> Answer:
        source = bucket.kept.get((name, request.query["sourceGeneration"]))
        if source is None:
            return refusal(404, "no such generation")
        if request.query["ifGenerationMatch"] == "0" and name in bucket.live:
            return refusal(412, "conditionNotMet")
        if "rewriteToken" not in request.query:  # a large object takes several calls
            return as_json({"done": False, "rewriteToken": "more"})
        stored = self._store(bucket, name, source.data, source.facts["metadata"])
        return as_json({"done": True, "resource": stored.facts})

    def _batch(self, request: Request) -> Answer:
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        parts = []
        for part in BytesParser().parsebytes(head + request.body).get_payload():
            method, target, _ = part.get_payload().splitlines()[0].split(" ")
            where = urlsplit(target)
            asked = Request(method, where.path, dict(parse_qsl(where.query)), {}, b"")
            found = self.fault(asked) or self._one(asked)
            body = found.body if isinstance(found.body, str) else found.body.decode()
            number = part["Content-ID"].strip("<>")
            parts.append(
                f"--b\r\nContent-Type: application/http\r\nContent-ID: <response-{number}>\r\n\r\n"
                f"HTTP/1.1 {found.status} as told\r\nContent-Length: {len(body)}\r\n\r\n{body}\r\n"
            )
        parts.reverse()  # in any order
        whole = "".join([*parts, "--b--\r\n"])
        return Answer(whole, 200, {"Content-Type": "multipart/mixed; boundary=b"})


def listed(bucket: Bucket, request: Request) -> Answer:
    query = request.query
    if query.get("versions") == "true":
        return versions(bucket, query)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    most, token = int(query.get("maxResults", "1000")), query.get("pageToken", "")
    shown: dict[str, Facts | None] = {}
    for name in sorted(bucket.live):
        is_after = query.get("startOffset", "") <= name and token < name
        if not name.startswith(prefix) or not is_after:
            continue
        if "endOffset" in query and name >= query["endOffset"]:
            break
        head, found, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
        folder = prefix + head + found
        if found and token.startswith(folder):
            continue
        shown[folder if found else name] = None if found else bucket.live[name].facts
        if len(shown) > most:
            break
    keys = list(shown)[:most]
    page: dict[str, object] = {"kind": "storage#objects"}
    page["items"] = [shown[key] for key in keys if shown[key] is not None]
    page["prefixes"] = [key for key in keys if shown[key] is None]
    if len(shown) > most:
        page["nextPageToken"] = keys[-1]
    return as_json(page)


def versions(bucket: Bucket, query: dict[str, str]) -> Answer:
    """Return a page of two generations, those that are kept and those that are there."""
    prefix, start = query.get("prefix", ""), int(query.get("pageToken", "0"))
    every = [each.facts for each in (*bucket.kept.values(), *bucket.live.values())]
    found = [each for each in every if str(each["name"]).startswith(prefix)]
    page: dict[str, object] = {"kind": "storage#objects", "items": found[start : start + 2]}
    return as_json(page | ({"nextPageToken": str(start + 2)} if len(found) > start + 2 else {}))


def uploaded(request: Request) -> tuple[str, bytes, object]:
    """Return name, bytes and metadata of an upload of either form."""
    if request.query["uploadType"] == "media":
        return request.query["name"], request.body, {}
    separator = request.headers["Content-Type"].partition("boundary=")[2].encode()
    _, facts, data, _ = request.body.split(b"--" + separator, 3)
    document = json.loads(facts.partition(b"\r\n\r\n")[2])
    return document["name"], data.partition(b"\r\n\r\n")[2][:-2], document.get("metadata", {})


def as_json(document: object) -> Answer:
    return Answer(json.dumps(document), 200, {"Content-Type": "application/json"})


def refusal(status: int, message: str) -> Answer:
    """Return an error as the JSON API has it."""
    body = json.dumps({"error": {"code": status, "message": message}})
    return Answer(body, status, {"Content-Type": "application/json"})


@contextmanager
def gcs_server() -> Iterator[GcsServer]:
    with stub_server() as stub:
        server = GcsServer(stub.url)
        stub.answer = server.answer
        yield server
