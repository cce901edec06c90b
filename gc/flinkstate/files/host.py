"""What a program lends to the commands about single checkpoints: how it opens places."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES
from flinkstate.places.locations import Location


class StoredFile(Protocol):
    """Present facts of a file."""

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        ...

    @property
    def modified_at(self) -> datetime | None:
        """Return the store time; ``None`` if the store gives none."""
        ...


class Names(Protocol):
    """Names in a folder."""

    @property
    def folders(self) -> Sequence[str]:
        """Return the names of its folders."""
        ...


class FolderReader(Protocol):
    """One folder, opened; may be called from several threads at once."""

    def read(self, key: str, *, max_bytes: int) -> bytes | None:
        """Return a whole file, or ``None`` if it is absent.

        Raises:
            StorageUnreachableError: Anything but absence, also a file over ``max_bytes``.
        """
        ...

    def part(self, key: str, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, fewer at the end, ``None`` if it is absent.

        Raises:
            StorageUnreachableError: Anything but absence.
        """
        ...

    def stat(self, keys: Sequence[str]) -> Sequence[StoredFile | None]:
        """Return the present facts of each file in order, ``None`` for an absent one."""
        ...

    def folder(self) -> Names:
        """Return what is directly in the folder."""
        ...


class FolderWriter(Protocol):
    """One folder to write into, which may not exist yet."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the names directly in ``folder``, "" for this one; none if it does not exist."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return a whole file, or ``None`` if it is absent."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Create a file unless it exists; return whether this call created it."""
        ...

    def remove(self, name: str) -> None:
        """Remove one file; an absent file is no error."""
        ...


Progress = Callable[[str, int, int], object]
"""Takes a phase, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A program that runs the commands.

    Attributes:
        max_bytes: Largest ``_metadata`` that is read.
    """

    reader: Callable[[Location], FolderReader]
    writer: Callable[[Location], FolderWriter]
    progress: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(lambda *_: None)
    max_bytes: int = MAX_METADATA_BYTES
