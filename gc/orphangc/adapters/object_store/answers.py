"""Answers that are read strictly: a part of an object, and a batch of deletions.

A batch has one part for each deletion, with the number of its request.
"""

import re
from collections.abc import Callable
from email import message_from_string
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus
from typing import NamedTuple

from orphangc.adapters.object_store.bucket import RequestError

_STATED = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)", re.ASCII)


def check_part(name: str, asked: range, *, status: int, stated: str, length: int) -> None:
    """Raise ``RequestError`` unless an answer is the part of an object that was asked for.

    It may end before, if it states that the object ends there; without a statement it is the whole
    object, and fits into what was asked for.

    Args:
        asked: Places of the bytes that were asked for.
        stated: ``Content-Range`` of the answer, "" without one.
        length: Number of bytes of its body; negative: it does not say.

    Source: RFC 9110, sections 14.4 and 15.3.7: a server may answer with less than the range.
    """
    found = _STATED.fullmatch(stated)
    if found is not None:
        part = range(int(found[1]), int(found[2]) + 1)
        is_to_its_end = part.start == asked.start and found[3] == str(part.stop)
        is_asked = part == asked or (is_to_its_end and part.stop < asked.stop)
        is_asked = is_asked and length == len(part)
    else:
        is_whole = status != HTTPStatus.PARTIAL_CONTENT and not stated
        is_asked = is_whole and not asked.start and 0 <= length <= len(asked)
    if not is_asked:
        raise RequestError(f"{name!r} cannot be read in parts: {stated or status} came")


_STATUS = re.compile(r"HTTP/\S+ (\d{3})")
_NUMBER = re.compile(r"<?(?:response-(?:\S*\+)?)?(\d+)>?")


class PartAnswer(NamedTuple):
    """The answer to one request of a batch."""

    status: int
    headers: Message
    body: str


def batch_results(
    content_type: str, body: bytes, count: int, error: Callable[[PartAnswer], RequestError]
) -> list[RequestError | None]:
    """Return ``None`` or the error of each deletion; a result that is absent is unknown.

    Results come in any order: by their places, one object would have the result of another.
    """
    answer: EmailMessage = BytesParser(policy=HTTP).parsebytes(
        f"Content-Type: {content_type}\r\n\r\n".encode() + body
    )
    lost = RequestError("the answer to the batch does not mention the object")
    results: list[RequestError | None] = [lost] * count
    seen: set[int] = set()
    for part in answer.iter_parts() if answer.is_multipart() else ():
        found = _NUMBER.fullmatch(str(part.get("Content-ID", "")).strip())
        number = int(found[1]) if found else None
        if number is None or number >= count:
            continue
        # of two contradicting results neither counts
        results[number] = lost if number in seen else _result(part, error)
        seen.add(number)
    return results


def _result(part: Message, error: Callable[[PartAnswer], RequestError]) -> RequestError | None:
    text = str(part.get_payload()).replace("\r\n", "\n")
    found = _STATUS.match(text)
    if found is None:
        return RequestError("the answer to the batch has a part without a status")
    status = int(found[1])
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    head, _, body = text.partition("\n\n")
    return error(PartAnswer(status, message_from_string(head.partition("\n")[2]), body))
