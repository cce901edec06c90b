"""Objects as the XML of a listing, the names of a run all at once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote_plus

import numpy as np

from bench.synth.keyspace import UUID_LENGTH, Ages, KeySpace, Run, Stored, hex_digits, uuid_texts

_DAY = 86_400
_STAMP, _ETAG, _SIZE = 24, 32, 7
_CHECKSUM = (
    b"<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>"
)
_OWNER = b"<Owner><ID>0c6f7f8e5d3b4a29</ID><DisplayName>bench</DisplayName></Owner>"
_TIMES = np.frombuffer(
    b"".join(b"%02d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60) for s in range(_DAY)), np.uint64
)
_FOUR_DIGITS = np.frombuffer(b"".join(b"%04d" % n for n in range(10_000)), np.uint32)
_TO_ESCAPE = re.compile("[&<>\"'\x00-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Style:
    """How a page spells what it holds."""

    is_encoded: bool = True  # keys are url-encoded
    escapes_slashes: bool = False  # url-encoding encodes slashes too, as radosgw's does
    has_checksum: bool = True  # every object has a checksum, as on AWS since 2024
    has_owner: bool = False  # every object has an owner, as in version 1 of the request

    def text(self, key: bytes) -> bytes:
        if self.is_encoded:
            return quote_plus(key, safe="" if self.escapes_slashes else "/").encode()
        return _TO_ESCAPE.sub(lambda found: f"&#{ord(found[0])};", key.decode()).encode()


def rows(space: KeySpace, ranks: np.ndarray, style: Style, ages: Ages) -> Iterator[bytes]:
    """Yield the ``Contents`` of these ranks, which ascend, some or many at a time."""
    for segment, positions in space.parts(ranks):
        if isinstance(segment, Run):
            yield _of_run(segment, positions, style, ages)
        else:
            yield from (_of_object(segment.objects[at], style) for at in positions.tolist())


def stamp(modified: int) -> bytes:
    return datetime.fromtimestamp(modified, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z").encode()


@lru_cache(maxsize=64)
def _template(head: bytes, style: Style) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return one row with gaps, and where they are: name, time, ETag, size."""
    text = b"<Contents><Key>" + style.text(head)
    gaps = []
    for width, after in (
        (UUID_LENGTH, b"</Key><LastModified>"),
        (_STAMP, b"</LastModified><ETag>&quot;"),
        (_ETAG, b"&quot;</ETag>" + _CHECKSUM * style.has_checksum + b"<Size>"),
        (_SIZE, b"</Size>" + _OWNER * style.has_owner + b"<StorageClass>STANDARD</StorageClass>"),
    ):
        gaps.append(len(text))
        text += b" " * width + after
    return np.frombuffer(text + b"</Contents>", np.uint8), tuple(gaps)


def _of_run(run: Run, positions: np.ndarray, style: Style, ages: Ages) -> bytes:
    template, (name, time, etag, size) = _template(run.head, style)
    facts = run.facts(positions, ages)
    table = np.empty((len(positions), len(template)), np.uint8)
    table[:] = template
    table[:, name : name + UUID_LENGTH] = uuid_texts(facts.hi, facts.lo)
    table[:, time : time + _STAMP] = _stamps(facts.modified)
    table[:, etag : etag + _ETAG] = hex_digits(facts.etag_hi, facts.etag_lo)
    table[:, size : size + _SIZE] = _decimals(facts.size)
    return table.tobytes()


def _stamps(modified: np.ndarray) -> np.ndarray:
    first, last = int(modified.min()) // _DAY, int(modified.max()) // _DAY
    days = modified // _DAY
    texts = _days(first, last)[days - first].view(np.uint8).reshape(-1, _STAMP)
    texts[:, 11:19] = _TIMES[modified - days * _DAY].view(np.uint8).reshape(-1, 8)
    return texts


@lru_cache(maxsize=64)
def _days(first: int, last: int) -> np.ndarray:
    days = b"".join(stamp(day * _DAY) for day in range(first, last + 1))
    return np.frombuffer(days, f"V{_STAMP}")


def _decimals(sizes: np.ndarray) -> np.ndarray:
    thousands = sizes // 1000
    parts = (_FOUR_DIGITS[thousands], _FOUR_DIGITS[sizes - thousands * 1000])
    texts = np.stack(parts, axis=1).view(np.uint8)
    return np.delete(texts, 4, axis=1)


def _of_object(stored: Stored, style: Style) -> bytes:
    return (
        b"<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>&quot;%s&quot;</ETag>%s"
        b"<Size>%d</Size>%s<StorageClass>STANDARD</StorageClass></Contents>"
    ) % (
        style.text(stored.key),
        stamp(stored.modified),
        stored.etag.encode(),
        _CHECKSUM * style.has_checksum,
        stored.length,
        _OWNER * style.has_owner,
    )
