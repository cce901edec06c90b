"""Reads pages of ListObjectsV2 by botocore's parser: any form, slowly."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree as ET

import pyarrow as pa
from botocore.parsers import ResponseParserError, ResponseParserFactory

from flinkstate.places.checkpoint_names import may_be_metadata
from orphangc.adapters.object_store.bucket import RequestError
from orphangc.adapters.s3.pages.list_requests import UnreadablePageError
from orphangc.adapters.s3.pages.page_parser import Page
from orphangc.core.times.instants import from_iso
from orphangc.ports import LISTING_SCHEMA

_FLAG = re.compile(rb"<IsTruncated\s*(?:/>|>([^<]*))")
_UNREADABLE = (ResponseParserError, pa.ArrowException, ValueError, KeyError, TypeError,
               AttributeError, OverflowError, ET.ParseError)  # fmt: skip
"""Errors of a malformed page: botocore's parser turns a repeated element into a list."""


_DATED = re.compile(r"[+-]?\d{4,}-\d\d-\d\dT")


def _instant(text: str) -> datetime | None:
    """Return a store time, ``None`` if out of range; botocore's own reader guesses."""
    found = from_iso(text)
    if found is None and not _DATED.match(text):
        raise ValueError(f"{text[:40]!r} is no time")
    return found


_PARSERS = ResponseParserFactory()
_PARSERS.set_parser_defaults(timestamp_parser=_instant)


def parse_page(body: bytes, prefix: str, shape: Any, *, root: str = "") -> Page:
    """Return a page; ``UnreadablePageError`` if it is none, not whole, or of other keys.

    ``RequestError`` if a checkpoint in it has a name that no request can have.
    """
    try:
        answer = _PARSERS.create_parser("rest-xml").parse(
            {"status_code": 200, "headers": {}, "body": body}, shape
        )
        return _read(answer, body, prefix, root)
    except UnreadablePageError:
        raise
    except _UNREADABLE as err:
        raise UnreadablePageError(f"the listing has a page that cannot be read: {err}") from err


def _read(answer: Mapping[str, Any], body: bytes, prefix: str, root: str) -> Page:
    is_encoded = answer.get("EncodingType") == "url"
    found: Sequence[Mapping[str, Any]] = answer.get("Contents", ())
    keys = [_key(row["Key"], is_encoded=is_encoded) for row in found]
    _check_elements(body, len(keys))
    folders = [
        _key(row["Prefix"], is_encoded=is_encoded) for row in answer.get("CommonPrefixes", ())
    ]
    if not all(key.startswith(prefix.encode()) for key in keys + folders):
        raise UnreadablePageError(f"the listing of {prefix!r} has keys from elsewhere")
    if answer.get("KeyCount", 0) > len(keys) + len(folders):
        raise UnreadablePageError("the listing has a page with fewer keys than it says")
    _check_names(keys, folders)
    keys = [key[len(root.encode()) :] for key in keys]
    token = answer.get("NextContinuationToken")
    if not isinstance(token, str | None):
        raise TypeError("two tokens")
    return Page(
        objects=_rows(keys, found),
        keys=pa.array(keys, pa.binary()),
        prefixes=tuple(map(_text, folders)),
        is_truncated=_flag(body),
        token=token,
    )


def _check_elements(body: bytes, keys: int) -> None:
    """Raise ``UnreadablePageError`` if a page has keys where botocore passes over them."""
    top = ET.fromstring(body)  # noqa: S314 - botocore has parsed it
    names = [each.tag.rpartition("}")[2].lower() for each in top.iter()]
    if names[0] != "listbucketresult" or names.count("key") != keys:
        raise UnreadablePageError("the listing has a page of another form")


def _check_names(keys: Sequence[bytes], folders: Sequence[bytes]) -> None:
    """Raise ``RequestError`` if a checkpoint or a folder has a name that no request can have."""
    for key in (*(each for each in keys if may_be_metadata(_text(each))), *folders):
        if _text(key).encode() != key:
            raise RequestError(f"{_text(key)!r} may be a checkpoint, and is no UTF-8: rename it")


def _flag(body: bytes) -> bool:
    """Return whether another page follows: botocore reads an odd or repeated flag as "no"."""
    match [flag.strip() for flag in _FLAG.findall(body)]:
        case [b"true"]:
            return True
        case [b"false"]:
            return False
        case _:
            raise UnreadablePageError("the listing does not say whether it is complete")


def _key(text: str, *, is_encoded: bool) -> bytes:
    return unquote_to_bytes(text.replace("+", " ")) if is_encoded else text.encode()


def _text(key: bytes) -> str:
    """Return the key, with bytes that are no UTF-8 as escapes."""
    return key.decode("utf-8", "backslashreplace")


def _rows(keys: Sequence[bytes], found: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    stamp = LISTING_SCHEMA.field("modified_at").type
    columns = [
        pa.array([_text(key) for key in keys], pa.string()),
        pa.array([row["Size"] for row in found], pa.int64()),
        pa.array([_second(row["LastModified"]) for row in found], stamp),
        pa.array([row["ETag"].strip('"') if "ETag" in row else None for row in found], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)


def _second(at: datetime | None) -> datetime | None:
    return None if at is None else at.replace(microsecond=0)
