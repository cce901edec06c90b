"""Which releases of Flink were tested (R27)."""

import re

TESTED_FLINK_VERSIONS = (
    *(f"1.{minor}" for minor in range(14, 21)),
    *(f"2.{minor}" for minor in range(4)),
)
"""The release lines whose code was read or run; any other version is planned for, never swept."""

_RELEASE = re.compile(r"(\d{1,4}\.\d{1,4})\.\d{1,4}")
_BUILD = re.compile(r"(\d{1,4}\.\d{1,4})(?:[.+_-][A-Za-z0-9.+_-]{1,100})?", re.ASCII)


def is_tested_version(version: str) -> bool:
    """Return whether ``version`` is a release of a tested line (R27).

    Snapshots and vendor builds (``1.17.1-amzn-1``) are not: their code was not read.
    """
    match = _RELEASE.fullmatch(version)
    return match is not None and match[1] in TESTED_FLINK_VERSIONS


def is_build_of_tested_line(version: str) -> bool:
    """Return whether ``version`` may be a vendor's build of a tested line (``1.18.1-amzn-0``).

    An operator may vouch for such a build, and for no line that is unknown here: its formats may
    be new.
    """
    match = _BUILD.fullmatch(version)
    return match is not None and match[1] in TESTED_FLINK_VERSIONS
