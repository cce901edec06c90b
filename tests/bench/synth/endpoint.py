"""Answers one request after the other: what S3 would, but for the faults that are set."""

import json
import re
import time
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

import numpy as np

from bench.synth.deleting import delete_objects, etag_of
from bench.synth.faults import Faults
from bench.synth.keyspace import Run
from bench.synth.listing import Answer, BadRequestError, Bucket, Question, look, render

_NS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_RANGE = re.compile(rb"bytes=(\d+)-(\d*)")
_PLAIN = {
    b"location": f"{_XML}<LocationConstraint {_NS}/>",
    b"versioning": f"{_XML}<VersioningConfiguration {_NS}/>",
    b"uploads": f"{_XML}<ListMultipartUploadsResult {_NS}><MaxUploads>1000</MaxUploads>"
    "<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>",
}
_STATUS = {"SlowDown": 503, "InternalError": 500, "NotImplemented": 501, "NoSuchBucket": 404}


@dataclass(frozen=True, slots=True)
class Request:
    method: bytes
    path: bytes
    query: dict[bytes, bytes]
    body: bytes = b""
    span: bytes = b""


@dataclass(slots=True)
class Response:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    delay: float = 0.0  # seconds before it is sent
    # how many bytes of the body are sent before the connection is closed; ``None``: all
    sent: int | None = None
    is_never: bool = False  # nothing is sent, and the connection stays open

    def head(self) -> bytes:
        lines = {
            "x-amz-request-id": "4442587FB7D0A2F9",
            "Date": formatdate(usegmt=True),
            "Server": "AmazonS3",
            "Content-Type": "application/xml",
            **self.headers,
            "Content-Length": str(len(self.body) if self.length is None else self.length),
        }
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n{text}\r\n".encode()


def refusal(code: str) -> Response:
    body = f"{_XML}<Error><Code>{code}</Code><Message>as the bench asks</Message></Error>"
    return Response(_STATUS.get(code, 400), body.encode())


class Endpoint:
    def __init__(self, bucket: Bucket, faults: Faults) -> None:
        self.bucket = bucket
        self.faults = faults
        self.connections = 0

    def answer(self, request: Request) -> Response:
        if request.path == b"/_ctl":
            return self._control(request.query)
        if request.path == b"/_stats":
            return self._stats()
        kind = kind_of(request)
        self.faults.counts[f"requests_{kind}"] += 1
        if (fault := self._fault(kind)) is not None:
            return fault
        response = self._serve(kind, request)
        response.delay = self.faults.delay()
        self._spoil(kind, response)
        return response

    def _control(self, query: dict[bytes, bytes]) -> Response:
        try:
            for name, value in query.items():
                if name == b"reset":
                    self.bucket.gone[:] = False
                    self.faults.reset()
                else:
                    self.faults.controls.set(name.decode(), value.decode())
        except ValueError as err:
            return Response(400, f"{err}\n".encode())
        return Response(200, json.dumps(self.faults.controls.values()).encode())

    def _stats(self) -> Response:
        counts = {
            "keys": len(self.bucket.space),
            "cpu_seconds": time.process_time(),
            "connections": self.connections,
            **self.faults.counts,
        }
        return Response(200, json.dumps(counts).encode())

    def _fault(self, kind: str) -> Response | None:
        """Return what comes instead of an answer, if something does."""
        faults = self.faults
        is_held = kind.startswith("delete") and faults.is_deletion_held()
        if is_held or faults.strikes("hang"):
            return Response(is_never=True)
        if faults.strikes("slowdown"):
            return refusal("SlowDown")
        if faults.strikes("internal"):
            return refusal("InternalError")
        if kind.startswith("list") and not faults.listing_is_granted():
            faults.counts["requests_throttled"] += 1
            return refusal("SlowDown")
        return None

    def _serve(self, kind: str, request: Request) -> Response:
        name = request.path[1:].partition(b"/")[0].decode("utf-8", "replace")
        if name and name != self.bucket.name:
            return refusal("NoSuchBucket")
        try:
            return getattr(self, f"_{kind}")(request)
        except BadRequestError as err:
            return refusal(str(err))

    def _spoil(self, kind: str, response: Response) -> None:
        """Let an answer get lost, wholly or in part, though the work is done."""
        faults = self.faults
        if faults.strikes("lost"):
            response.sent = -1
        elif kind.startswith("list") and faults.strikes("cut"):
            response.sent = len(response.body) // 2
        elif kind.startswith("list") and faults.strikes("torn"):
            response.body = response.body[: len(response.body) // 2]

    def _list(self, request: Request) -> Response:
        question = Question.of(request.query)
        if question.token and self.faults.strikes("repeat"):
            question = replace(question, token=max(0, question.token - question.most))
        answer = look(self.bucket, question)
        if len(answer.ranks) and self.faults.is_page_held(int(answer.ranks[0])):
            return Response(is_never=True)
        self.faults.counts["keys_listed"] += len(answer.ranks)
        self.faults.counts["requests_list_shared"] += _shows_shared(self.bucket, question, answer)
        return Response(200, render(self.bucket, question, answer, self.faults))

    _list_v1 = _list

    def _delete_objects(self, request: Request) -> Response:
        body = delete_objects(self.bucket, request.body, self.faults)
        return refusal("SlowDown") if body is None else Response(200, body)

    def _delete(self, request: Request) -> Response:
        if not self.faults.granted_keys(1):
            self.faults.counts["keys_throttled"] += 1
            return refusal("SlowDown")
        rank = self._find(request)
        self.faults.counts["keys_deleted"] += 1
        if rank is not None:
            self.faults.counts["keys_gone"] += 1
            self.bucket.gone[rank] = True
        return Response(204)

    def _head(self, request: Request) -> Response:
        return self._object(request, with_body=False)

    def _get(self, request: Request) -> Response:
        return self._object(request, with_body=True)

    def _head_bucket(self, _: Request) -> Response:
        return Response(headers={"x-amz-bucket-region": "us-east-1"})

    def _bucket(self, request: Request) -> Response:
        return Response(
            200, next(_PLAIN[name] for name in _PLAIN if name in request.query).encode()
        )

    def _buckets(self, _: Request) -> Response:
        created = "<CreationDate>2026-01-01T00:00:00.000Z</CreationDate>"
        bucket = f"<Buckets><Bucket><Name>{self.bucket.name}</Name>{created}</Bucket></Buckets>"
        owner = "<Owner><ID>0c6f7f8e5d3b4a29</ID></Owner>"
        root = "ListAllMyBucketsResult"
        return Response(200, f"{_XML}<{root} {_NS}>{owner}{bucket}</{root}>".encode())

    def _other(self, _: Request) -> Response:
        return refusal("NotImplemented")

    def _find(self, request: Request) -> int | None:
        key = unquote_to_bytes(request.path[1:].partition(b"/")[2])
        rank = self.bucket.space.find(key)
        return None if rank is None or self.bucket.gone[rank] else rank

    def _object(self, request: Request, *, with_body: bool) -> Response:
        rank = self._find(request)
        if rank is None:
            body = f"{_XML}<Error><Code>NoSuchKey</Code></Error>".encode() * with_body
            return Response(404, body)
        segment, positions = next(self.bucket.space.parts(np.array([rank])))
        if isinstance(segment, Run):
            facts = segment.facts(positions, self.bucket.ages)
            size, modified, body = int(facts.size[0]), int(facts.modified[0]), None
        else:
            stored = segment.objects[int(positions[0])]
            size, modified, body = stored.length, stored.modified, stored.body
        headers = {
            "ETag": f'"{etag_of(self.bucket, rank)}"',
            "Last-Modified": formatdate(modified, usegmt=True),
            "Content-Type": "application/octet-stream",
            "Accept-Ranges": "bytes",
        }
        if not with_body:
            return Response(200, b"", headers, length=size)
        return _ranged(request.span, bytes(size) if body is None else body, headers)


def _shows_shared(bucket: Bucket, question: Question, answer: Answer) -> bool:
    """Return whether a listing is of a ``shared/``, or shows what is in it."""
    ends = [bucket.space.key(int(rank)) for rank in (*answer.ranks[:1], *answer.ranks[-1:])]
    shown = (question.prefix, *ends, *answer.prefixes)
    return any(b"/shared/" in each[:-1] for each in shown)


def kind_of(request: Request) -> str:
    """Return what a request is called in the statistics."""
    bucket, _, key = request.path[1:].partition(b"/")
    query = request.query
    match (request.method, bool(bucket), bool(key)):
        case (b"GET", False, _):
            return "buckets"
        case (b"GET", True, False):
            if b"versions" in query:
                return "other"
            if not _PLAIN.keys().isdisjoint(query):
                return "bucket"
            return "list" if query.get(b"list-type") == b"2" else "list_v1"
        case (b"HEAD", True, False):
            return "head_bucket"
        case (b"POST", True, False) if b"delete" in query:
            return "delete_objects"
        case (b"GET" | b"HEAD" | b"DELETE", True, True):
            return request.method.decode().lower()
        case _:
            return "other"


def _ranged(span: bytes, body: bytes, headers: dict[str, str]) -> Response:
    found = _RANGE.fullmatch(span)
    if found is None:
        return Response(200, body, headers)
    start = int(found[1])
    end = min(int(found[2] or len(body)), len(body) - 1)
    if start > end:
        return refusal("InvalidRange")
    part = {"Content-Range": f"bytes {start}-{end}/{len(body)}"}
    return Response(206, body[start : end + 1], {**headers, **part})
