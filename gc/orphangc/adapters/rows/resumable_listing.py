"""A listing that a later run can resume: its finished key ranges and its identity.

The manifest has a header and one line for each finished part, written and synced after the bytes of
the part. Lines and bytes have checksums. A part torn by a crash is ignored and its range listed
again: a missing part costs requests, a wrong part would make the listing shorter.
"""

import fcntl
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field

from orphangc.adapters.rows.written_files import writing
from orphangc.core.ranges.key_ranges import KeyRange, gaps
from orphangc.core.times.instants import Instant
from orphangc.errors import SettingsError
from orphangc.ports.engine import MAX_RESUMED_AGE

log = structlog.get_logger()

LISTING_FOLDER = ".listing"
"""Name of the folder of the listing, inside the folder of an unfinished plan."""

_MANIFEST = "parts.jsonl"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingIdentity:
    """Identity of a listing; a listing with any other value is another one.

    Attributes:
        fingerprint: Digest of all other settings that change the listing.
    """

    root: str
    tool_version: str
    fingerprint: str


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _ResumeHeader(_Line):
    format: Literal[1] = 1
    root: str
    tool_version: str
    fingerprint: str
    started_at: Instant | None = Field(strict=False)


class FinishedPart(_Line):
    """One listed range, and the byte range of a file that holds its rows."""

    after: str | None
    until: str | None
    rows: int = Field(ge=0)
    file: str = Field(pattern=r"^[0-9]+\.arrow$")
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    crc32: int

    @property
    def within(self) -> KeyRange:
        """Return the listed range."""
        return KeyRange(self.after, self.until)

    @property
    def order(self) -> tuple[bool, str]:
        """Return the sort key among parts."""
        return self.after is not None, self.after or ""


class ResumableListing:
    """The folder of one listing, held by one process at a time."""

    def __init__(
        self, folder: Path, identity: ListingIdentity, *, clock: Callable[[], datetime | None]
    ) -> None:
        """Take the folder without opening it; ``clock`` returns the store's time."""
        self.folder = folder
        self._identity = identity
        self._clock = clock
        self._made: list[Path] = []
        self._manifest: BinaryIO | None = None

    def take_over(self) -> list[FinishedPart]:
        """Return what an interrupted run of this listing finished, or raise ``SettingsError``."""
        now = self._clock()
        self._manifest = manifest = self._open()
        manifest.seek(0)
        text = manifest.read()
        parts, reason = self._usable(text, now) if text else ([], None)
        if reason is not None:
            log.warning("listing.discarded", folder=str(self.folder), reason=reason)
        if parts:
            log.info("listing.resumed", parts=len(parts), objects=sum(p.rows for p in parts))
            manifest.write(b"\n")  # ends a line torn by a crash
        else:
            for file in self.folder.glob("*.arrow"):
                file.unlink()
            manifest.truncate(0)
            self._append(manifest, self._header(now))
        return parts

    def _open(self) -> BinaryIO:
        above = (self.folder, *self.folder.parents)
        self._made = [each for each in above if not each.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            manifest = (self.folder / _MANIFEST).open("a+b")
        except OSError as err:
            raise SettingsError(f"{self.folder} cannot be written: {err.strerror}") from err
        try:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            manifest.close()
            raise SettingsError(f"another run is planning into {self.folder.parent}") from err
        except OSError:  # some network file systems have no locks; files are created exclusively
            log.debug("listing.not_locked", folder=str(self.folder))
        return manifest

    def _usable(self, text: bytes, now: datetime | None) -> tuple[list[FinishedPart], str | None]:
        first, *lines = text.split(b"\n")
        try:
            header = _ResumeHeader.model_validate_json(_unsealed(first))
        except ValueError:
            return [], "its header cannot be read"
        if header != self._header(header.started_at):
            return [], "it is of another root, version or endpoint"
        if header.started_at is None or now is None:
            return [], "its age is unknown"
        if not timedelta(0) <= now - header.started_at <= MAX_RESUMED_AGE:
            return [], f"it is not of the last {MAX_RESUMED_AGE // timedelta(hours=1)} hours"
        parts = list(self._whole(lines))
        try:
            gaps(part.within for part in parts)
        except ValueError as err:
            return [], str(err)
        return parts, None

    def _header(self, started_at: datetime | None) -> _ResumeHeader:
        return _ResumeHeader(**asdict(self._identity), started_at=started_at)

    def _whole(self, lines: list[bytes]) -> Iterator[FinishedPart]:
        for line in lines:
            try:
                part = FinishedPart.model_validate_json(_unsealed(line))
            except ValueError:
                continue
            if not part.within.is_empty and self._is_whole(part):
                yield part

    def _is_whole(self, part: FinishedPart) -> bool:
        if not part.length:
            return part.rows == 0
        try:
            with (self.folder / part.file).open("rb") as file:
                file.seek(part.offset)
                return _checksum(file, part.length) == part.crc32
        except OSError:
            return False

    def add(self, part: FinishedPart) -> None:
        """Record a part whose bytes are on disk."""
        if self._manifest is not None:
            self._append(self._manifest, part)

    def _append(self, manifest: BinaryIO, line: _Line) -> None:
        with writing(self.folder):
            manifest.write(_sealed(line.model_dump_json().encode()) + b"\n")
            manifest.flush()
            os.fsync(manifest.fileno())

    def close(self) -> None:
        """Release the folder for another run."""
        if self._manifest is not None:
            with writing(self.folder):
                self._manifest.close()

    def remove(self) -> None:
        """Remove the folder, and the empty parent folders created for it."""
        remove_listing(self.folder)
        self.close()
        for each in self._made[1:]:
            if not each.is_dir() or any(each.iterdir()):
                return
            each.rmdir()


def remove_listing(folder: Path) -> None:
    """Remove the folder of a listing if it exists."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)


def _sealed(data: bytes) -> bytes:
    return b"%08x %b" % (zlib.crc32(data), data)


def _unsealed(line: bytes) -> bytes:
    data = line[9:]
    if _sealed(data) != line:
        raise ValueError("the line is torn")
    return data


def _checksum(file: BinaryIO, length: int) -> int | None:
    """Return the checksum of the next ``length`` bytes, ``None`` if there are fewer."""
    checksum = 0
    while length:
        data = file.read(min(length, _CHUNK))
        if not data:
            return None
        checksum = zlib.crc32(data, checksum)
        length -= len(data)
    return checksum
