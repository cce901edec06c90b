"""DeleteObjects: which keys go, which fail, and what the answer says of each."""

import re
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import numpy as np

from bench.synth.faults import Faults
from bench.synth.keyspace import Run
from bench.synth.listing import BadRequestError, Bucket

_MOST = 1000
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
)
_KEY = re.compile(rb"<Key>([^<]*)</Key>")
_DELETED, _CHANGED, _THROTTLED = "deleted", "PreconditionFailed", "SlowDown"


def delete_objects(bucket: Bucket, body: bytes, faults: Faults) -> bytes | None:
    """Return the answer, ``None`` if the whole request is over the quota.

    Raises:
        BadRequestError: The body is no such request, or has more than 1000 keys.

    """
    keys, etags, is_quiet = _read(body)
    if not 0 < len(keys) <= _MOST:
        raise BadRequestError("MalformedXML")
    granted = faults.granted_keys(len(keys))
    if granted == 0:
        faults.counts["requests_throttled"] += 1
        faults.counts["keys_throttled"] += len(keys)
        return None
    ranks = bucket.space.find_all(keys)
    fates = _fates(bucket, ranks, etags, faults)
    fates[granted:] = [_THROTTLED] * (len(keys) - granted)
    there = ranks[[fate == _DELETED for fate in fates]]
    there = np.unique(there[there >= 0])
    faults.counts["keys_gone"] += int((~bucket.gone[there]).sum())
    faults.counts["keys_deleted"] += fates.count(_DELETED)
    faults.counts["keys_throttled"] += len(keys) - granted
    faults.counts["keys_failed"] += len(keys) - fates.count(_DELETED) - (len(keys) - granted)
    bucket.gone[there] = True
    return _answer(keys, fates, is_quiet=is_quiet)


def etag_of(bucket: Bucket, rank: int) -> str:
    segment, positions = next(bucket.space.parts(np.array([rank])))
    if not isinstance(segment, Run):
        return segment.objects[int(positions[0])].etag
    facts = segment.facts(positions, bucket.ages)
    return f"{int(facts.etag_hi[0]):016x}{int(facts.etag_lo[0]):016x}"


def _read(body: bytes) -> tuple[list[bytes], list[str | None], bool]:
    """Return keys, the ETags that they must have, and whether successes are left out."""
    if b"&" not in body and b"<ETag>" not in body:
        keys = _KEY.findall(body)
        return keys, [None] * len(keys), b"<Quiet>true</Quiet>" in body
    try:
        root = ET.fromstring(body)
    except ET.ParseError as err:
        raise BadRequestError("MalformedXML") from err
    objects = root.findall("{*}Object")
    keys = [(each.findtext("{*}Key") or "").encode() for each in objects]
    etags = [each.findtext("{*}ETag") for each in objects]
    return keys, etags, root.findtext("{*}Quiet") == "true"


def _fates(bucket: Bucket, ranks: np.ndarray, etags: list[str | None], faults: Faults) -> list[str]:
    """Return for each key that it is deleted, or the code of why not."""
    controls = faults.controls
    fates = [_DELETED] * len(ranks)
    for at, etag in enumerate(etags):
        rank = int(ranks[at])
        if etag is not None and rank >= 0 and etag.strip('"') != etag_of(bucket, rank):
            fates[at] = _CHANGED
    if controls.key_errors:
        fates = [
            controls.key_error_code if faults.dice.random() < controls.key_errors else fate
            for fate in fates
        ]
    return fates


def _answer(keys: list[bytes], fates: list[str], *, is_quiet: bool) -> bytes:
    parts = [_HEAD]
    for key, fate in zip(keys, fates, strict=True):
        name = escape(key.decode(), {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})
        if fate != _DELETED:
            parts.append(
                f"<Error><Key>{name}</Key><Code>{fate}</Code>"
                f"<Message>as the bench asks</Message></Error>"
            )
        elif not is_quiet:
            parts.append(f"<Deleted><Key>{name}</Key></Deleted>")
    return "".join((*parts, "</DeleteResult>")).encode()
