"""Every error that is raised on purpose for single checkpoints, and its exit code."""

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


class FlinkStateError(Exception):
    """Base of all; the message says what, where and what follows, in one line."""

    exit_code = ExitCode.FAILED


class SettingsError(FlinkStateError):
    """An option, the configuration file or their combination is not usable."""

    exit_code = ExitCode.USAGE


class UnreadableMetadataError(FlinkStateError):
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


class StorageUnreachableError(FlinkStateError):
    """The storage cannot be listed or read: absent, no credentials, no network."""

    exit_code = ExitCode.UNREACHABLE


class AbsentStorageError(StorageUnreachableError):
    """The store says that a storage root does not exist; an HTTP server may only be silent."""
