"""Batches of Cloud Storage's JSON API: many deletions in one request, with one result each."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus

from orphangc.adapters.object_store.bucket import RequestError

_SEPARATOR = "orphangc-batch"
_STATUS = re.compile(r"HTTP/\S+ (\d{3})")
_NUMBER = re.compile(r"<?response-(?:\S*\+)?(\d+)>?")


def batch_body(paths: Sequence[str]) -> tuple[str, bytes]:
    """Return content type and body of a batch that deletes the objects at these paths."""
    parts = [
        f"--{_SEPARATOR}\r\nContent-Type: application/http\r\nContent-ID: <{number}>\r\n\r\n"
        f"DELETE {path} HTTP/1.1\r\n\r\n"
        for number, path in enumerate(paths)
    ]
    return f"multipart/mixed; boundary={_SEPARATOR}", f"{''.join(parts)}--{_SEPARATOR}--".encode()


def batch_results(content_type: str, body: bytes, count: int) -> list[RequestError | None]:
    """Return ``None`` or the error of each deletion; a result that is absent is unknown.

    Results come in any order, each with the number of its request.
    """
    answer: EmailMessage = BytesParser(policy=HTTP).parsebytes(
        f"Content-Type: {content_type}\r\n\r\n".encode() + body
    )
    lost = RequestError("the answer to the batch does not mention the object")
    results: list[RequestError | None] = [lost] * count
    seen: set[int] = set()
    for part in answer.iter_parts() if answer.is_multipart() else ():
        number = _number_of(part)
        if number is None or number >= count:
            continue
        result = _result(part)
        # of two contradicting results neither counts
        results[number] = lost if number in seen else result
        seen.add(number)
    return results


def _number_of(part: Message) -> int | None:
    found = _NUMBER.fullmatch(str(part.get("Content-ID", "")).strip())
    return int(found[1]) if found else None


def _result(part: Message) -> RequestError | None:
    """Return ``None`` for a deletion that was carried out, else its error."""
    text = str(part.get_payload())
    found = _STATUS.match(text)
    if found is None:
        return RequestError("the answer to the batch has a part without a status")
    status = int(found[1])
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    return RequestError(_reason(text) or f"HTTP {status}", status=status)


def _reason(text: str) -> str:
    _, _, body = text.replace("\r\n", "\n").partition("\n\n")
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
