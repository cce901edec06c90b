"""What is taken out of a text before anybody may read it: credentials in URLs and in requests."""

from __future__ import annotations

import re

__all__ = ["redacted"]

_HIDDEN = (
    # with one slash, too: so does a path of this machine spell a URL
    (re.compile(r"(?<=:/)(/?)[^/\s'\"]*:[^/\s'\"]*@"), r"\1"),
    (re.compile(r"(?<![^\s'\"(])[^\s'\"/:@]+:[^\s'\"/@]+@(?=[\w.-])"), ""),
    # of Azure's file systems, what stands there is the container
    (re.compile(r"(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)(?<=://)[^/\s'\"]+@"), ""),
    (
        re.compile(
            r"(?i)(?<![a-z0-9])((?:x-(?:amz|goog)-[a-z-]+|awsaccesskeyid|googleaccessid|signature"
            r"|credential|sig|(?:[a-z]+[_-])*(?:token|password|passwd|secret|api[_-]?key"
            r"|(?:secret|access)[_-]key))=)(?!\*\*\*)[^&;\s\"'<>,]+"
        ),
        r"\1***",
    ),
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{12,}\b"), "***"),
)


def redacted(text: str) -> str:
    """Return a text without the users and passwords of URLs, and without what signs a request.

    That are presigned requests of S3 and Google, shared access signatures of Azure, tokens and
    passwords that are given as parameters, and ids of AWS access keys.
    """
    for pattern, replacement in _HIDDEN:
        text = pattern.sub(replacement, text)
    return text
