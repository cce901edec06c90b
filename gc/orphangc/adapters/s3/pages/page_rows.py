"""Finds the values of the objects in a page of ListObjectsV2 by the positions of every ``<``.

One object gives the form. The bytes between the values of all other objects are compared with it, a
thousand rows at a time.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]

OPEN, CLOSE = b"<Contents>", b"</Contents>"
HEAP = pa.system_memory_pool()
"""Memory pool: Arrow's own keeps three megabytes for every thread that ever read a page."""

_TAG = re.compile(rb"<(/?[A-Za-z]+)>")
_WANTED = ("Key", "LastModified", "ETag", "Size")
_KNOWN = {b"Key", b"LastModified", b"ETag", b"Size", b"StorageClass", b"Owner", b"Type",
          b"ChecksumAlgorithm", b"ChecksumType"}  # fmt: skip
_IN_OWNER = {b"ID", b"DisplayName"}
_MAY_REPEAT = {b"ChecksumAlgorithm"}
_MOST_FORMS = 16
_BLANK, _LESS, _MORE, _AMPERSAND = b" <>&"


class OddError(ValueError):
    """The page deviates from the usual form."""


def require(expected: object) -> None:
    """Raise ``OddError`` unless the page is as expected."""
    if not expected:
        raise OddError


@dataclass(frozen=True, slots=True)
class _Form:
    """Common form of the ``Contents`` of a page, without their values.

    Attributes:
        parts: Bytes before, between and after the values, each with the number of its first
            ``<`` in the object.
        values: Number of the part before the value, for each wanted element.
    """

    parts: tuple[tuple[int, bytes], ...]
    values: Mapping[str, int]


@lru_cache(64)
def _form(tags: tuple[bytes, ...]) -> _Form:
    """Return the form of an object with these tags, ``/Key`` for a closing one."""
    parts, values, path = [], {}, list[bytes]()
    seen: set[tuple[bytes, ...]] = set()
    begin = 0
    for at, tag in enumerate(tags):
        if not tag.startswith(b"/"):
            path.append(tag)
            require(_is_known(path) and (tuple(path) not in seen or tag in _MAY_REPEAT))
            seen.add(tuple(path))
            continue
        require(path and path[-1] == tag[1:])
        if tags[at - 1] == tag[1:]:
            parts.append((begin, _written(tags[begin:at])))
            values[path[-1].decode()] = len(parts) - 1
            begin = at
        path.pop()
    parts.append((begin, _written(tags[begin:])))
    require(not path and tags.count(b"Contents") == 1 and {*_WANTED} - {"ETag"} <= {*values})
    return _Form(tuple(parts), {name: at for name, at in values.items() if name in _WANTED})


def _is_known(path: list[bytes]) -> bool:
    """Return whether an element at this path leaves the meaning of the page unchanged."""
    match path:
        case [b"Contents"]:
            return True
        case [b"Contents", name]:
            return name in _KNOWN
        case [b"Contents", b"Owner", name]:
            return name in _IN_OWNER
        case _:
            return False


def _written(tags: tuple[bytes, ...]) -> bytes:
    return b"".join(b"<%b>" % tag for tag in tags)


class Rows:
    """Positions of the values of all objects of a page.

    Attributes:
        spans: Begin and end in each row, for each wanted element; an empty span for a row without
            the element.
        references: Number of ``&`` in the page.
    """

    def __init__(self, body: bytes, begin: int, end: int) -> None:
        self._body, self._begin, self._end = body, begin, end
        self.codes = np.frombuffer(body, np.uint8)
        region = self.codes[begin:end]
        require(not region.size or region.min() >= _BLANK)
        self._marks: Positions = np.flatnonzero(region == _LESS) + begin
        if b"]" in body:  # "]]>" is the only text in which XML forbids ">"
            require(np.count_nonzero(region == _MORE) == len(self._marks))
        self.references = np.count_nonzero(region == _AMPERSAND)
        self.spans: dict[str, tuple[Positions, Positions]] = {}
        if not self._read_alike():
            self._read_mixed()

    def __len__(self) -> int:
        return len(self.has_etag)

    def _read_alike(self) -> bool:
        second = self._body.find(OPEN, self._begin + 1, self._end)
        first = self._body[self._begin : self._end if second < 0 else second]
        marks = first.count(b"<")
        if marks == 0 or len(self._marks) % marks:
            return False
        cuts = self._marks.reshape(-1, marks)
        form = _form_of(first, marks)
        ends = np.append(cuts[1:, 0], self._end)
        if (
            not all(self.all_have(cuts[:, mark], text) for mark, text in form.parts)
            or not (_last(form, cuts) == ends).all()
        ):
            return False
        self._start_spans(cuts[:, 0])
        self._note(form, cuts, slice(None))
        return True

    def _read_mixed(self) -> None:
        heads = np.flatnonzero(self.have(self._marks, OPEN))
        require(not len(self._marks) or (len(heads) and heads[0] == 0))
        starts, counts = self._marks[heads], np.diff(heads, append=len(self._marks))
        ends = np.append(starts[1:], self._end)[: len(starts)]
        self._start_spans(starts)
        pending = np.arange(len(starts))
        for _ in range(_MOST_FORMS):
            if not pending.size:
                return
            first = pending[0]
            form = _form_of(self._body[starts[first] : ends[first]], counts[first])
            rows = pending[counts[pending] == counts[first]]
            cuts = self._marks[heads[rows][:, None] + np.arange(counts[first])]
            is_fit = _last(form, cuts) == ends[rows]
            for mark, text in form.parts:
                is_fit &= self.have(cuts[:, mark], text)
            self._note(form, cuts[is_fit], rows[is_fit])
            pending = np.setdiff1d(pending, rows[is_fit], assume_unique=True)
        require(not pending.size)

    def _start_spans(self, starts: Positions) -> None:
        self.spans = {name: (starts.copy(), starts.copy()) for name in _WANTED}
        self.has_etag = np.zeros(len(starts), bool)

    def _note(self, form: _Form, cuts: Positions, rows: slice | Positions) -> None:
        for name, at in form.values.items():
            mark, text = form.parts[at]
            starts, ends = self.spans[name]
            starts[rows] = cuts[:, mark] + len(text)
            ends[rows] = cuts[:, form.parts[at + 1][0]]
        self.has_etag[rows] = "ETag" in form.values

    def _gulps(self, size: int) -> npt.NDArray[np.void]:
        """Return the page as overlapping windows of one size, without a copy."""
        count = max(len(self._body) - size + 1, 0)
        return np.ndarray((count,), f"V{size}", self._body, strides=(1,))

    def all_have(self, positions: Positions, text: bytes) -> bool:
        """Return whether a text stands at each of these ascending positions."""
        if not len(positions) or not text:
            return True
        if positions[-1] + len(text) > self._end:
            return False
        return self._gulps(len(text))[positions].tobytes() == text * len(positions)

    def have(self, positions: Positions, text: bytes) -> npt.NDArray[np.bool_]:
        """Return for each position whether a text stands there."""
        gulps = self._gulps(len(text))
        found = gulps[np.minimum(positions, len(gulps) - 1)]
        letters = found.view(np.uint8).reshape(len(positions), len(text))
        is_there: npt.NDArray[np.bool_] = (letters == np.frombuffer(text, np.uint8)).all(axis=1)
        return is_there & (positions + len(text) <= self._end)

    def texts(self, span: tuple[Positions, Positions]) -> pa.StringArray:
        """Return the text of a span in each row; the page was already checked to be UTF-8."""
        rows = len(span[0])
        offsets = np.zeros(2 * rows + 1, np.int32)
        offsets[1::2], offsets[2::2] = span
        between = pa.StringArray.from_buffers(
            2 * rows, pa.py_buffer(offsets), pa.py_buffer(self._body)
        )
        return pc.take(between, _every_other(rows), memory_pool=HEAP)


def _form_of(example: bytes, marks: int) -> _Form:
    tags = tuple(_TAG.findall(example))
    require(len(tags) == marks)
    return _form(tags)


def _last(form: _Form, cuts: Positions) -> Positions:
    mark, text = form.parts[-1]
    return cuts[:, mark] + len(text)


@lru_cache(8)
def _every_other(count: int) -> pa.Int64Array:
    return pa.array(np.arange(1, 2 * count, 2))
