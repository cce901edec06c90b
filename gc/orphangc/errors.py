"""Every error that orphangc raises on purpose; each carries the exit code that it leads to."""

from flinkstate.errors import (
    AbsentStorageError,
    ExitCode,
    FlinkStateError,
    SettingsError,
    StorageUnreachableError,
    UnreadableMetadataError,
)

__all__ = [
    "AbsentStorageError",
    "ExitCode",
    "SettingsError",
    "StorageUnreachableError",
    "UnreadableMetadataError",
]

OrphanGcError = FlinkStateError
"""One base for both packages: what catches the collector's errors catches those of a checkpoint."""


class UnreadableSnapshotError(OrphanGcError):
    """A registry snapshot that is partial, damaged, or of an unknown form."""


class UnreadableInventoryError(OrphanGcError):
    """A report of S3 Inventory that is partial, damaged, or of an unknown form."""


class NotReportedError(OrphanGcError):
    """The store does not report something: it forbids access, or has no such request.

    Unknown is never zero.

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


class LockHeldError(OrphanGcError):
    """Another run holds the lock of this storage root."""

    exit_code = ExitCode.LOCK_HELD
