"""Every error that orphangc raises on purpose; each carries the exit code that it leads to."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The stable exit codes of the command line."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    SOME_DELETES_FAILED = 3
    REFUSED = 4
    UNCLAIMED_STATE = 5
    UNREACHABLE = 10
    LOCK_HELD = 11


class OrphanGcError(Exception):
    """Base of all; the message says what, where and what follows, in one line."""

    exit_code = ExitCode.FAILED


class SettingsError(OrphanGcError):
    """An option, the configuration file or their combination is not usable."""

    exit_code = ExitCode.USAGE


class UnreadableMetadataError(OrphanGcError):
    """Bytes that are not exactly one Flink ``_metadata`` file.

    Attributes:
        offset: First byte that could not be accounted for.
        reason: What was found there.

    """

    def __init__(self, reason: str, *, offset: int) -> None:
        """Keep the place beside the sentence."""
        super().__init__(f"cannot decode Flink metadata at byte {offset}: {reason}")
        self.reason = reason
        self.offset = offset


class UnreadableSnapshotError(OrphanGcError):
    """A registry snapshot that is partial, damaged, or of an unknown form."""


class UnreadableInventoryError(OrphanGcError):
    """A report of S3 Inventory that is partial, damaged, or of an unknown form."""


class NotReportedError(OrphanGcError):
    """The store does not tell: it may not, or it has no such request. Unknown is never zero.

    Attributes:
        is_forbidden: Whether it would tell somebody else.

    """

    def __init__(self, message: str, *, is_forbidden: bool) -> None:
        """Keep which of both it is."""
        super().__init__(message)
        self.is_forbidden = is_forbidden


class RefusedError(OrphanGcError):
    """A guard stopped the work; nothing was deleted.

    Attributes:
        guard: Which one, as the plan would name it; ``None`` if it is none of those.

    """

    exit_code = ExitCode.REFUSED

    def __init__(self, message: str, *, guard: str | None = None) -> None:
        """Keep the name beside the sentence."""
        super().__init__(message)
        self.guard = guard


class PlanMismatchError(RefusedError):
    """A saved plan is not for this storage, not by this version, too old, or was altered."""


class RegistryUnavailableError(OrphanGcError):
    """Flink's REST API or a registry snapshot source gave no usable answer."""

    exit_code = ExitCode.UNREACHABLE


class StorageUnreachableError(OrphanGcError):
    """The storage cannot be listed or read: absent, no credentials, no network."""

    exit_code = ExitCode.UNREACHABLE


class LockHeldError(OrphanGcError):
    """Another run holds the lock of this storage root."""

    exit_code = ExitCode.LOCK_HELD
