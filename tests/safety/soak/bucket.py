"""A bucket of a soak, as its own client shows it; and what stands between it and collectors.

Nothing here believes orphangc: what collectors delete is what passes on the way to the server.
"""

import functools
import http.client
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as ET

import boto3
from botocore.config import Config

from integration.harness.flinkbed.truth import UUID

_REGION = "us-east-1"
_NAMED_FOLDERS = r"(?:shared|dstl|taskowned|db|job_[^/\x00-\x1f]+)"


@functools.cache
def _client(url: str, access_key: str, secret_key: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        region_name=_REGION,
        config=Config(max_pool_connections=4, retries={"max_attempts": 5}),
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of a server."""

    url: str  # of the server
    name: str  # of the bucket
    access_key: str  # of who may do everything with it
    secret_key: str  # of the same

    @property
    def uri(self) -> str:
        return f"s3://{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        """Return what any client of AWS reads."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def _server(self) -> Any:
        return _client(self.url, self.access_key, self.secret_key)

    def close(self) -> None:
        self._server.close()
        _client.cache_clear()

    def make(self) -> None:
        self._server.create_bucket(Bucket=self.name)

    def key(self, uri: str) -> str:
        return uri.removeprefix(f"{self.uri}/")

    def rows(self, prefix: str) -> Iterator[tuple[str, int, int]]:
        pages = self._server.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self.name, Prefix=prefix):
            for each in page.get("Contents", ()):
                stored = int(each["LastModified"].timestamp()) * 1_000_000_000
                yield each["Key"], stored, each["Size"]

    def keys(self, prefix: str) -> set[str]:
        return {key for key, *_ in self.rows(prefix)}

    def uploads(self) -> set[str]:
        found = self._server.list_multipart_uploads(Bucket=self.name).get("Uploads", ())
        return {each["Key"] for each in found}

    def read(self, key: str) -> bytes | None:
        try:
            data: bytes = self._server.get_object(Bucket=self.name, Key=key)["Body"].read()
        except self._server.exceptions.NoSuchKey:
            return None
        return data

    def has(self, key: str) -> bool:
        return self.read(key) is not None

    def named(self) -> set[str]:
        keys = [key for key in self.keys("") if key.endswith("/_metadata")]
        texts = ((self.read(key) or b"").decode("latin-1") for key in keys)
        return {hit for text in texts for hit in UUID.findall(text)}

    def retained(self, directory: str) -> list[str]:
        pattern = re.compile(re.escape(directory) + r"/chk-([0-9]+)/_metadata")
        hits = filter(None, map(pattern.fullmatch, self.keys(f"{directory}/")))
        numbers = sorted(int(hit[1]) for hit in hits)
        return [f"{self.uri}/{directory}/chk-{number}" for number in numbers]

    def gone_from(self, checkpoint: str) -> set[str]:
        """Return the URIs that a checkpoint's bytes name and of which nothing is there."""
        text = (self.read(f"{self.key(checkpoint)}/_metadata") or b"").decode("latin-1")
        pattern = rf"{self.uri}/([^\x00-\x1f]+/{_NAMED_FOLDERS}/(?:[0-9]+_)?{UUID.pattern})"
        named = set(re.findall(pattern, text))
        return {f"{self.uri}/{key}" for key in named - self.keys("")}

    def delete_folder(self, folder: str) -> None:
        for key in (f"{folder}/_metadata", *self.keys(f"{folder}/")):
            self._server.delete_object(Bucket=self.name, Key=key)


@dataclass(frozen=True, slots=True)
class Prefix:
    """A part of a bucket in which checkpoints appear."""

    bucket: Bucket  # the bucket
    prefix: str  # what its keys begin with

    def metadata(self) -> Iterator[tuple[str, int, int]]:
        for key, stored, size in self.bucket.rows(self.prefix):
            if key.endswith("/_metadata"):
                yield f"{self.bucket.uri}/{key}", stored, size

    def uuids_in(self, uri: str) -> list[str] | None:
        data = self.bucket.read(self.bucket.key(uri))
        return None if data is None else sorted(set(UUID.findall(data.decode("latin-1"))))


ABORTED = "?upload"
"""Follows the URI of an object whose upload was aborted."""
_HOPS = {"connection", "keep-alive", "transfer-encoding", "content-length", "expect"}


@contextmanager
def witness(url: str, out: Path) -> Iterator[str]:
    """Yield the URL of a server that passes everything on, and writes down what removes an object.

    A line for each object, upload or rewritten object: when the request came, in nanoseconds, a
    tab, and its URI. A request that the server does not grant, or an object that it tells to be
    still there, is not written down.
    """
    server = _Witness(urlsplit(url).netloc, out)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Witness(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: str, out: Path) -> None:
        super().__init__(("127.0.0.1", 0), _PassingOn)
        self.upstream = upstream
        self._out = out
        self._lock = threading.Lock()

    def note(self, at: int, uris: Iterable[str]) -> None:
        with self._lock, self._out.open("a") as stream:
            stream.writelines(f"{at}\t{each}\n" for each in uris)


class _PassingOn(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Witness
    _upstream: http.client.HTTPConnection | None = None

    def _pass_on(self) -> None:
        at = time.time_ns()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, answer = self._asked(body)
        if status < HTTPStatus.MULTIPLE_CHOICES:
            self.server.note(at, removed(self.command, self.path, body, answer))
        is_head = self.command == "HEAD"
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOPS - ({"content-length"} if is_head else set()):
                self.send_header(name, value)
        if not is_head:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815

    def _asked(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return the server's answer; a connection that it has closed meanwhile is made anew."""
        headers = {n: v for n, v in self.headers.items() if n.lower() not in _HOPS}
        if body:
            headers["Content-Length"] = str(len(body))
        for connection in (self._upstream, None):
            used = connection or http.client.HTTPConnection(self.server.upstream, timeout=120)
            self._upstream = used
            try:
                used.request(self.command, self.path, body or None, headers)
                answer = used.getresponse()
                return answer.status, answer.getheaders(), answer.read()
            except (http.client.HTTPException, OSError):
                used.close()
        raise ConnectionError(f"{self.server.upstream} does not answer")

    def finish(self) -> None:
        super().finish()
        if self._upstream is not None:
            self._upstream.close()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def removed(verb: str, target: str, body: bytes, answer: bytes) -> list[str]:
    """Return the URIs of what a request that was granted removed or wrote over."""
    path, _, query = target.partition("?")
    asked = parse_qs(query, keep_blank_values=True)
    uri = f"s3:/{unquote(path)}"
    bucket = "s3://" + unquote(path).strip("/").partition("/")[0]
    if verb == "POST" and "delete" in asked:
        kept = set(_texts(answer, "Error"))
        return [f"{bucket}/{key}" for key in _texts(body, "Object") if key not in kept]
    if verb == "DELETE":
        return [uri + (ABORTED if "uploadId" in asked else "")]
    return [f"{uri}?written"] if verb in {"PUT", "POST"} else []


def _texts(document: bytes, element: str) -> list[str]:
    """Return the keys in the elements of a document that have one."""
    if not document.strip():
        return []
    found = []
    for each in ET.fromstring(document).iter():
        if each.tag.rpartition("}")[2] == element:
            found += [part.text or "" for part in each if part.tag.rpartition("}")[2] == "Key"]
    return found
