"""Checks of ``doctor``, their status and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from flinkstate.text.redaction import redacted
from orphangc.errors import ExitCode, OrphanGcError


class CheckStatus(StrEnum):
    """Status of a check."""

    GOOD = "good"
    NOTE = "note"
    """Nothing is wrong, and something could not be looked at."""
    WARNING = "warning"
    BAD = "bad"


Check = Callable[[], tuple[CheckStatus, str]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding of one check of one storage root."""

    root: str
    check: str
    health: CheckStatus
    message: str
    exit_code: int = 0


def checked(root: str, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Yield the finding of each check in turn."""
    for name, check in checks.items():
        yield _found(root, name, check)


def checked_storage(root: str, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Yield the same of one storage; where the first check cannot open or reach it, that alone."""
    for number, finding in enumerate(checked(root, checks)):
        yield finding
        if number == 0 and finding.exit_code in {ExitCode.UNREACHABLE, ExitCode.USAGE}:
            return


def _found(root: str, name: str, check: Check) -> Finding:
    try:
        health, message = check()
    except OrphanGcError as err:
        return bad(root, name, err)
    return Finding(root, name, health, message)


def bad(root: str, name: str, err: OrphanGcError) -> Finding:
    """Return the finding of a check that failed."""
    return Finding(root, name, CheckStatus.BAD, redacted(str(err)), int(err.exit_code))
