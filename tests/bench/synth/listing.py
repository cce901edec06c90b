"""ListObjects, both versions: which ranks are on a page, and the page."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import numpy as np

from bench.synth.faults import Faults
from bench.synth.keyspace import Ages, KeySpace, Run
from bench.synth.pages import Style, rows

_MOST = 1000
_OPENING = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
)
_PREFIX = b"<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>"
_IN_NAMES = frozenset(b"0123456789abcdef-")


class BadRequestError(Exception):
    """A request that S3 answers with 400; its text is the code."""


@dataclass(slots=True)
class Bucket:
    name: str
    space: KeySpace
    ages: Ages
    gone: np.ndarray  # by rank; of its zeros only those that were written to take memory

    def next_left(self, rank: int, limit: int) -> int:
        if rank >= limit:
            return limit
        step = int(self.gone[rank:limit].argmin())  # stops at the first that is not gone
        return limit if self.gone[rank + step] else rank + step

    def left(self, rank: int, limit: int, most: int) -> np.ndarray:
        """Return up to ``most`` ranks that are not gone, from here on and below ``limit``."""
        found = [np.empty(0, np.int64)]
        width = most
        while most > 0 and rank < limit:
            end = min(rank + width, limit)
            found.append(rank + np.flatnonzero(~self.gone[rank:end])[:most])
            most -= len(found[-1])
            rank, width = end, width * 2
        return np.concatenate(found)


@dataclass(frozen=True, slots=True)
class Question:
    prefix: bytes = b""
    delimiter: bytes = b""
    after: bytes = b""  # keys and common prefixes up to this one are left out
    # the rank at which the page starts, of a continued listing of version 2
    token: int | None = None
    most: int = _MOST
    is_second: bool = True
    is_encoded: bool = False
    wants_owner: bool = False

    @classmethod
    def of(cls, query: dict[bytes, bytes]) -> Question:
        """Return what the query of a request asks.

        Raises:
            BadRequestError: A token, an encoding or a number that is none.

        """
        is_second = query.get(b"list-type") == b"2"
        encoding = query.get(b"encoding-type", b"")
        if encoding not in {b"", b"url"}:
            raise BadRequestError("InvalidArgument")
        token = query.get(b"continuation-token") if is_second else None
        most = query.get(b"max-keys") or b"%d" % _MOST
        if not most.isdigit():
            raise BadRequestError("InvalidArgument")
        return cls(
            prefix=query.get(b"prefix", b""),
            delimiter=query.get(b"delimiter", b""),
            after=query.get(b"start-after" if is_second else b"marker", b""),
            token=None if token is None else _rank_of(token),
            most=min(_MOST, int(most)),
            is_second=is_second,
            is_encoded=bool(encoding),
            wants_owner=not is_second or query.get(b"fetch-owner") == b"true",
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A page: what is on it, and the rank after it, ``None`` behind the last."""

    ranks: np.ndarray
    prefixes: tuple[bytes, ...]
    following: int | None

    @property
    def count(self) -> int:
        return len(self.ranks) + len(self.prefixes)


def look(bucket: Bucket, question: Question) -> Answer:
    space, prefix = bucket.space, question.prefix
    limit = _rank_behind(space, prefix)
    at = max(space.rank(prefix), _start(space, question))
    found: list[np.ndarray] = [np.empty(0, np.int64)]
    prefixes: list[bytes] = []
    room = question.most
    at = bucket.next_left(at, limit)
    while room > 0 and at < limit:
        shared = _common_prefix(space.key(at), question) if question.delimiter else None
        if shared is None:
            ranks = bucket.left(at, _end_of_objects(space, at, limit, question), room)
            found.append(ranks)
            room -= len(ranks)
            at = int(ranks[-1]) + 1
        else:
            if shared > question.after:
                prefixes.append(shared)
                room -= 1
            at = _rank_behind(space, shared)
        at = bucket.next_left(at, limit)
    is_last = at >= limit or question.most == 0
    return Answer(np.concatenate(found), tuple(prefixes), None if is_last else at)


def render(bucket: Bucket, question: Question, answer: Answer, faults: Faults) -> bytes:
    controls = faults.controls
    style = Style(
        is_encoded=question.is_encoded,
        escapes_slashes=controls.radosgw,
        has_checksum=controls.checksums,
        has_owner=question.wants_owner,
    )
    turn = len(answer.ranks) // 2 if faults.strikes("reorder") else 0
    parts = [
        *rows(bucket.space, answer.ranks[turn:], style, bucket.ages),
        *rows(bucket.space, answer.ranks[:turn], style, bucket.ages),
        *(_PREFIX % style.text(each) for each in answer.prefixes),
    ]
    parts.insert(len(parts) if controls.radosgw else 0, _token(bucket, question, answer, style))
    head = _head(bucket, question, answer, style)
    return b"".join((_OPENING, head, *parts, b"</ListBucketResult>"))


def _head(bucket: Bucket, question: Question, answer: Answer, style: Style) -> bytes:
    start = b"StartAfter" if question.is_second else b"Marker"
    fields = [
        (b"Name", bucket.name.encode()),
        (b"Prefix", style.text(question.prefix)),
        (start, style.text(question.after) if question.after or not question.is_second else None),
        (b"KeyCount", b"%d" % answer.count if question.is_second else None),
        (b"MaxKeys", b"%d" % question.most),
        (b"Delimiter", style.text(question.delimiter) if question.delimiter else None),
        (b"EncodingType", b"url" if question.is_encoded else None),
        (b"IsTruncated", b"false" if answer.following is None else b"true"),
        (b"ContinuationToken", None if question.token is None else _token_of(question.token)),
    ]
    return b"".join(
        b"<%s>%s</%s>" % (name, text, name) for name, text in fields if text is not None
    )


def _token(bucket: Bucket, question: Question, answer: Answer, style: Style) -> bytes:
    """Return what says where the next page starts."""
    if answer.following is None:
        return b""
    if question.is_second:
        return b"<NextContinuationToken>%s</NextContinuationToken>" % _token_of(answer.following)
    if not question.delimiter:
        return b""  # version 1 tells it only with a delimiter: the last key serves
    last = max([*answer.prefixes[-1:], *map(bucket.space.key, answer.ranks[-1:].tolist())])
    return b"<NextMarker>%s</NextMarker>" % style.text(last)


def _token_of(rank: int) -> bytes:
    return base64.b64encode(b"rank %d" % rank)


def _rank_of(token: bytes) -> int:
    try:
        word, _, digits = base64.b64decode(token, validate=True).partition(b" ")
    except binascii.Error as err:
        raise BadRequestError("InvalidArgument") from err
    if word != b"rank" or not digits.isdigit():
        raise BadRequestError("InvalidArgument")
    return int(digits)


def _start(space: KeySpace, question: Question) -> int:
    if question.token is not None:
        return question.token
    if not question.after:
        return 0
    rank = space.rank(question.after)
    return rank + (rank < len(space) and space.key(rank) == question.after)


def _rank_behind(space: KeySpace, prefix: bytes) -> int:
    stem = prefix.rstrip(b"\xff")
    return space.rank(stem[:-1] + bytes([stem[-1] + 1])) if stem else len(space)


def _common_prefix(key: bytes, question: Question) -> bytes | None:
    at = key.find(question.delimiter, len(question.prefix))
    return None if at < 0 else key[: at + len(question.delimiter)]


def _end_of_objects(space: KeySpace, rank: int, limit: int, question: Question) -> int:
    """Return up to where keys are surely objects, not common prefixes, if the first one is."""
    if not question.delimiter:
        return limit
    index = space.segment_of(rank)
    is_flat = _IN_NAMES.isdisjoint(question.delimiter)
    if isinstance(space.segments[index], Run) and is_flat:
        return min(limit, int(space.starts[index + 1]))
    return rank + 1
