"""Every error that orphangc raises on purpose; each carries the exit code that it leads to."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The stable exit codes of the command line."""

    DONE = 0
    """The command did what it was asked for."""
    FAILED = 1
    """The command failed; the last line on stderr says what, where and what follows."""
    USAGE = 2
    """An option, an argument or the configuration file is wrong."""
    SOME_DELETES_FAILED = 3
    """The sweep is done, and the storage refused to delete some of the objects."""
    REFUSED = 4
    """A guard refused the work, or an answer is not complete; nothing was deleted."""
    UNCLAIMED_STATE = 5
    """The checkpoint holds state that nothing declares (`unclaimed`)."""
    UNREACHABLE = 10
    """The storage, or a cluster that the command needs, cannot be reached or refuses access."""
    LOCK_HELD = 11
    """Another run holds the lock of the storage root; the message names its holder."""


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
    """The store does not report something: access is forbidden, or it has no such request. Unknown
    is never zero.

    Attributes:
        is_forbidden: Whether another identity may have access.

    """

    def __init__(self, message: str, *, is_forbidden: bool) -> None:
        """Keep the message and the cause."""
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


class AbsentStorageError(StorageUnreachableError):
    """The store says that a storage root does not exist; an HTTP server may only be silent."""


class LockHeldError(OrphanGcError):
    """Another run holds the lock of this storage root."""

    exit_code = ExitCode.LOCK_HELD
