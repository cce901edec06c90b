"""Listings of S3: every page or an error, every key as it is.

The page loop counts tokens itself. Pages are read by botocore, except that their ``Contents``
are taken out by a regular expression first, wherever all of them fit it: botocore's own way of
turning them into dictionaries costs twenty times as much. What does not fit is left to botocore.
obstore would be as fast, but it silently renames keys: ``x/`` becomes ``x`` and ``/x`` too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.s3_client import CALL_ERRORS, Answer, S3Client
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA

__all__ = ["Page", "S3Pages"]

_FAST = "OrphanGcContents"
_BEFORE_ALL_OTHERS = "before-parse.*.ListObjectsV2"
"""Handlers of ``before-parse.s3.*`` come later, of which one parses the whole page for errors."""

_FIRST = re.compile(rb"<Contents>(?:(?!</Contents>).)*</Contents>", re.DOTALL)
_TAG = re.compile(rb"<(/?)([A-Za-z]+)>")
_WANTED = [b"ETag", b"Key", b"LastModified", b"Size"]
_FIELD_DEPTH = 2  # an element directly in Contents; Owner has some deeper down
_FLAG = re.compile(rb"<IsTruncated>([^<]*)<")
_STAMP = LISTING_SCHEMA.field("modified_at").type


@dataclass(frozen=True, slots=True)
class Page:
    """One page: objects with whole keys, and at one level the common prefixes."""

    objects: pa.RecordBatch
    prefixes: tuple[str, ...]


class S3Pages:
    """Reads the pages of one bucket."""

    def __init__(self, client: S3Client, *, is_fast: bool = True) -> None:
        self._client = client
        if is_fast:
            with client.translated("open"):
                client.on(_BEFORE_ALL_OTHERS, take_contents)

    def pages(self, prefix: str, *, delimiter: str = "") -> Iterator[Page]:
        """Yield all pages of the keys that start with ``prefix``; the next one is under way.

        Raises:
            StorageUnreachableError: Any page failed, or the pages do not add up.

        """
        request = {"Prefix": prefix, "EncodingType": "url"}
        if delimiter:
            request["Delimiter"] = delimiter
        seen: set[str] = set()
        pending = self._client.submit(self._client.request("list_objects_v2", **request))
        try:
            while True:
                try:
                    answer = pending.result()
                except CALL_ERRORS as err:
                    raise self._client.explained("list", err) from err
                token = next_token(answer, seen)
                if token is not None:
                    following = {**request, "ContinuationToken": token}
                    pending = self._client.submit(
                        self._client.request("list_objects_v2", **following)
                    )
                yield read_page(answer, prefix)
                if token is None:
                    return
        finally:
            pending.cancel()


def next_token(answer: Answer, seen: set[str]) -> str | None:
    """Return the token of the following page, ``None`` after the last; remember it in ``seen``.

    Raises:
        StorageUnreachableError: The page does not say whether it is the last, or has no token
            or an old one though it is not.

    """
    token = answer.get("NextContinuationToken")
    match answer.get("IsTruncated"):
        case False:
            return None
        case True if token and token not in seen:
            seen.add(token)
            return str(token)
        case True:
            raise StorageUnreachableError(
                f"the listing is cut off: a page is followed by {'itself' if token else 'none'}"
            )
        case _:
            raise StorageUnreachableError("the listing does not say whether it is complete")


def take_contents(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    """Take the ``Contents`` out of a page's XML if every one of them has the first one's form."""
    if response_dict["status_code"] != HTTPStatus.OK:
        return
    body = response_dict["body"]
    if (flag := _FLAG.search(body)) and flag[1].strip() not in {b"true", b"false"}:
        customized_response_dict["IsTruncated"] = None  # botocore reads any odd text as "false"
    first = _FIRST.search(body)
    form = _form(first[0]) if first and b"<!" not in body else None
    if form is None:
        return
    parts = form.split(body)  # what is between, the groups, what is between, ...
    rest = b"".join(parts[:: form.groups + 1])
    columns = {name: parts[at :: form.groups + 1] for name, at in form.groupindex.items()}
    if b"Contents" in rest or b"&" in b"".join(columns["Key"]):
        return
    customized_response_dict[_FAST] = columns
    response_dict["body"] = rest


def _form(example: bytes) -> re.Pattern[bytes] | None:
    """Return the expression for ``Contents`` with exactly the elements of this one."""
    expression, depth, wanted = b"", 0, []
    for slash, name in _TAG.findall(example):
        depth += -1 if slash else 1
        expression += b"<" + slash + name + b">"
        if slash:
            expression += rb"\s*"
        elif depth == _FIELD_DEPTH and name in _WANTED:
            wanted.append(name)
            expression += b"(?P<" + name + b">[^<]*)"
        else:
            expression += b"[^<]*"
    return re.compile(expression) if sorted(wanted) == _WANTED and depth == 0 else None


def read_page(answer: Answer, prefix: str) -> Page:
    """Return a page with its keys decoded, all of them checked to start with ``prefix``."""
    is_encoded = answer.get("EncodingType") == "url"
    decode = _url_decoded if is_encoded else str
    prefixes = tuple(decode(found["Prefix"]) for found in answer.get("CommonPrefixes", ()))
    try:
        if _FAST in answer:
            objects = _fast_rows(answer[_FAST], is_encoded=is_encoded)
        else:
            objects = _rows(answer, decode)
    except (pa.ArrowException, ValueError, KeyError) as err:
        raise StorageUnreachableError(f"the listing has a page that cannot be read: {err}") from err
    strays = [key for key in prefixes if not key.startswith(prefix)]
    if strays or not pc.all(pc.starts_with(objects["key"], prefix), min_count=0).as_py():
        raise StorageUnreachableError(f"the listing of {prefix!r} has keys from elsewhere")
    return Page(objects, prefixes)


def _url_decoded(text: str) -> str:
    """Return the key, of which bytes that are no UTF-8 stay visible as escapes."""
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "backslashreplace")


def _fast_rows(columns: dict[str, list[bytes]], *, is_encoded: bool) -> pa.RecordBatch:
    """Return the columns that ``take_contents`` took."""
    texts = {
        name: pa.array(column, pa.binary()).cast(pa.string()) for name, column in columns.items()
    }
    keys = texts["Key"]
    if is_encoded:
        keys = pc.replace_substring(keys, "%2F", "/")  # radosgw's; spares decoding each key
        if pc.any(pc.match_substring_regex(keys, "[%+]")).as_py():
            keys = pa.array([_url_decoded(key) for key in keys.to_pylist()], pa.string())
    etags = pc.utf8_trim(pc.replace_substring(texts["ETag"], "&quot;", '"'), '"')
    stamps = pc.floor_temporal(texts["LastModified"].cast(_STAMP), unit="second")
    sizes = texts["Size"].cast(pa.int64())
    return pa.RecordBatch.from_arrays([keys, sizes, stamps, etags], schema=LISTING_SCHEMA)


def _rows(answer: Answer, decode: Callable[[str], str]) -> pa.RecordBatch:
    """Return the rows as botocore reads them."""
    found = answer.get("Contents", ())
    columns = [
        pa.array([decode(row["Key"]) for row in found], pa.string()),
        pa.array([row["Size"] for row in found], pa.int64()),
        pa.array([row["LastModified"].replace(microsecond=0) for row in found], _STAMP),
        pa.array([row["ETag"].strip('"') if "ETag" in row else None for row in found], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)
