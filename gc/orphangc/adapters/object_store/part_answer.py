"""The answer to a request for a part of an object: exactly those bytes, or an error."""

import re
from http import HTTPStatus

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
