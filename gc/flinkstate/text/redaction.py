"""Removes credentials in URLs and in requests from a text before it is shown.

Every repetition below is bounded or begins at a fixed word: names in a bucket are anybody's, and a
line of a log must not take seconds.
"""

import re

from flinkstate.places.locations import StoreKind, kind_of

_LONGEST_LINE = 300
_URL_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}:)?//([^/\s\"]{1,300})@")
_PASSWORD = r"(?:pass(?:word|wd|phrase)|pwd)"  # noqa: S105 - the word, not one
_NAME = (
    rf"(?:{_PASSWORD}|token|secret|signature|credential|(?<![a-z0-9])sig"
    r"|(?:account|access|api|secret|shared)[_.-]?key(?:[_-]?id)?|accessid"
    r"|x-(?:amz|goog)-[a-z-]{1,40})"
)
_HIDDEN = (
    # a key of S3 may contain slashes
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}:[^\s\"@]{1,200}@"), ""),
    # and a password as well, but a port is none
    (re.compile(r"(?<=:/)(/?)[^/\s\":@]{1,300}:(?!\d{1,5}/)[^\s\"@]{1,300}@"), r"\1"),
    # with one slash: so does a path of this machine spell a URL
    (re.compile(r"(?<=:/)[^/\s\":]{0,200}:[^/\s\"]{0,200}@"), ""),
    (re.compile(r"(?<![^\s'\"(])[^\s'\"/:@]{1,100}:[^\s'\"/@]{1,200}@(?=[\w.-])"), ""),
    (re.compile(rf"(?i)({_NAME}(?:=|%3d))(?:\"[^\"]*\"|'[^']*'|[^&;\s\"'<>,]+)"), r"\1***"),
    (re.compile(rf"(?i)({_NAME}[\"']\s{{0,3}}:\s{{0,3}}[\"'])[^\"']+"), r"\1***"),
    (re.compile(rf"(?i)({_PASSWORD}:\s{{1,3}})[^\s\"',;]+"), r"\1***"),
    (re.compile(r"(?i)(\bbearer\s{1,3})[a-z0-9._~+/=-]{6,}"), r"\1***"),
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{12,}\b"), "***"),
)


def redacted(text: str) -> str:
    """Return a text without the users and passwords of URLs, and without what signs a request.

    That are presigned requests of S3 and Google, shared access signatures and account keys of
    Azure, tokens and passwords that are given as parameters or in JSON, bearer tokens, and ids of
    AWS access keys. If a credential and a name look alike, the name is hidden, too.
    """
    text = _URL_USER.sub(_without_user, text)
    for pattern, replacement in _HIDDEN:
        text = pattern.sub(replacement, text)
    return text


def _without_user(found: re.Match[str]) -> str:
    scheme, user = found[1] or "", found[2]
    is_of_containers = kind_of(scheme.lower().removesuffix(":")) is StoreKind.CONTAINER
    return found[0] if is_of_containers and ":" not in user else f"{scheme}//"


def reason_of(err: Exception) -> str:
    """Return why the operating system refused, without number and path, or else the whole text."""
    return getattr(err, "strerror", None) or str(err)


def one_line(err: object) -> str:
    """Return the message of an error as one short line, without credentials or control characters.

    The name of the error's type stands for a message that is empty.
    """
    printable = "".join(each if each.isprintable() else " " for each in str(err))
    text = redacted(" ".join(printable.split())) or type(err).__name__
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…"
