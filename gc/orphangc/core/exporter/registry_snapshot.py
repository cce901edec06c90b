"""A registry snapshot as a value, and what two of them must be to each other (R14, R15).

A snapshot is the set of files that Flink still uses, exported for one job.
``core.exporter.registry_format`` reads and writes it: the types of the fields say what a file may
hold, and a constructor checks none of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import chain, islice
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainSerializer, Strict

from flinkstate.places.locations import Alias, Location, place_of
from orphangc.core.columns.file_names import FileNames, PathColumns
from orphangc.core.model.types import JobId, Mode
from orphangc.core.times.instants import Instant, from_iso

TOO_LARGE = 1 << 63
"""The first number that Java's ``long`` cannot hold."""

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_NAME = re.compile(r"snapshot-[0-9]{13}-(.+)-[0-9]+\.jsonl(?:\.gz)?", re.ASCII)
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/")
_LOT = 1 << 16


class EntryKind(StrEnum):
    """Kind of a registered handle; any other word refuses the snapshot."""

    FILE = "file"
    SEGMENT = "segment"
    DIRECTORY = "directory"
    OTHER = "other"


class RegistryEntry(NamedTuple):
    """One registered piece of state: a line of a snapshot.

    Attributes:
        path: Relative to the job directory, or absolute; see ``resolve``.
        kind: Kind; segments share a path, and a directory means everything below it.
        created: Checkpoint id that it was uploaded for; ``None`` if unknown.
        last_used: Newest checkpoint id that used it; ``None`` if unknown.
    """

    path: str
    kind: EntryKind
    size: int | None
    created: int | None
    last_used: int | None


class RegistryEntries:
    """Kinds and paths of the entries of a snapshot: 16 bytes a file, for millions are common.

    Attributes:
        counts: Number of entries by kind; the kinds stand in the order of their first entries.
        names: Base names by kind, and by the text before them as it is spelled, its slash included.
    """

    __slots__ = ("counts", "names")

    def __init__(self, entries: Iterable[RegistryEntry] = ()) -> None:
        """Take these entries."""
        self.counts: dict[EntryKind, int] = {}
        columns: dict[EntryKind, PathColumns] = {}
        paths: dict[EntryKind, list[str]] = {}
        for path, kind, *_ in entries:
            waiting = paths.setdefault(kind, [])
            waiting.append(path)
            if len(waiting) == _LOT:
                self._take(kind, waiting, columns)
        for kind, waiting in paths.items():
            self._take(kind, waiting, columns)
        self.names = {kind: each.by_folder() for kind, each in columns.items()}

    def _take(
        self, kind: EntryKind, paths: list[str], columns: dict[EntryKind, PathColumns]
    ) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + len(paths)
        columns.setdefault(kind, PathColumns()).add(paths)
        paths.clear()

    def folders(self) -> Iterator[tuple[str, FileNames]]:
        """Yield the base names of each folder, by kind."""
        for files in self.names.values():
            yield from files.items()

    def paths(self) -> Iterator[tuple[EntryKind, str]]:
        """Yield kind and path of each entry, but of the flat artifacts in a folder only of one.

        The place of each other one is the same folder; a directory is always yielded.
        """
        for kind, files in self.names.items():
            for folder, names in files.items():
                flat = len(names.hi) if kind is EntryKind.DIRECTORY else min(len(names.hi), 1)
                for name in chain(islice(names, flat), sorted(names.others)):
                    yield kind, folder + name

    def absolute(self, aliases: Sequence[Alias]) -> dict[Location, FileNames]:
        """Return the base names of absolute paths by place, those without a place left out."""
        found: dict[Location, FileNames] = {}
        for folder, names in self.folders():
            place = place_of(folder[:-1], aliases) if _ABSOLUTE.match(folder) else None
            if place is not None:
                known = found.get(place)
                found[place] = names if known is None else FileNames([*known, *names])
        return found

    def __len__(self) -> int:
        """Return how many entries there are."""
        return sum(self.counts.values())

    def __eq__(self, other: object) -> bool:
        """Return whether both name the same files as the same kinds."""
        if not isinstance(other, RegistryEntries):
            return NotImplemented
        return self.counts == other.counts and self.names == other.names

    def __hash__(self) -> int:
        """Return the same for equal entries."""
        return hash(frozenset(self.counts.items()))

    def __repr__(self) -> str:
        """Return how many there are; there may be millions."""
        return f"<{len(self)} registry entries>"


def _instant(value: object) -> datetime:
    """Return a time with an offset as aware UTC; below a microsecond it is cut, hence earlier."""
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueError("a time must be written like 2026-01-31T23:59:59Z")
    found = from_iso(value)
    if found is None:
        raise ValueError("the time is out of range")
    return found


def _spelled(at: datetime) -> str:
    if at.tzinfo is None:
        raise ValueError("a time must be aware")
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


Text = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""
_Count = Annotated[int, Field(strict=True, ge=0, lt=TOO_LARGE)]
_Flag = Annotated[bool, Strict()]
_Instant = Annotated[Instant, BeforeValidator(_instant), PlainSerializer(_spelled)]


class _FileObject:
    """What a file says in one object: no unknown field, and none is missing."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedCheckpoint(_FileObject):
    """One checkpoint of the completed store; ``is_savepoint`` ones keep nothing back."""

    id: _Count
    is_savepoint: Annotated[_Flag, Field(alias="savepoint")]
    path: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCheckpoint(_FileObject):
    """One unfinished checkpoint: its id was given out ``at`` (JobManager's clock)."""

    id: _Count
    at: _Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredCheckpoint(_FileObject):
    """One checkpoint that the job continued from; ``mode`` is Flink's word, if known."""

    id: _Count
    path: Text
    mode: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergingSettings(_FileObject):
    """What the job's own configuration says of file merging; ``None``: it says nothing.

    A TaskManager asks the job's configuration first, and its own only where that one is silent.
    So what the job's configuration says holds on every TaskManager, and nothing else does.

    Source: Flink 1.20-2.3, ``TaskExecutorFileMergingManager.fileMergingSnapshotManagerForTask``.
    """

    enabled: _Flag | None
    across: _Flag | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """What the JobManager knows of a job's settings; ``None``: unknown.

    Attributes:
        merging: File merging; ``None`` also where Flink has none (before 1.20).
    """

    state_backend: str | None = None
    changelog: bool | None = None
    merging: MergingSettings | None = None


UNKNOWN_SETTINGS = JobSettings()
"""Settings of a snapshot of version 1, and of one that is derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryHeader(_FileObject):
    """What a snapshot says before its entries, its settings aside.

    Attributes:
        source: ``registry``: exported inside the JobManager; ``derived``: from checkpoints, REST.
        jm_epoch: Differs for each start of the JobManager.
        sequence: Rises with each export of one epoch.
        nonce: Last nonce that the exporter had seen when it began; ``None`` if it uses none.
        taken_at: Aware UTC, by the exporter's clock.
        checkpoint_dir: The job directory, absolute; relative paths start here.
        retained: The completed store.
        issued: Unfinished checkpoints.
    """

    source: Mode
    flink_version: Text | None
    job_id: Annotated[JobId, Field(pattern=r"^[0-9a-f]{32}$")]
    jm_epoch: Text
    sequence: _Count
    nonce: Annotated[str | None, AfterValidator(lambda nonce: nonce or None)]
    taken_at: _Instant
    checkpoint_dir: Text
    max_concurrent: Annotated[int, Field(strict=True, ge=1, lt=TOO_LARGE)] | None
    retained: tuple[RetainedCheckpoint, ...]
    issued: tuple[IssuedCheckpoint, ...]
    restored: tuple[RestoredCheckpoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySnapshot(RegistryHeader):
    """One whole snapshot of one job.

    Attributes:
        entries: Kinds and paths of what the registry holds.
        settings: Settings of the job, as far as its JobManager shows them.
        sha256: Digest of the lines of the entries, which also say what ``entries`` does not; "" if
            they were not read.
    """

    entries: RegistryEntries
    settings: JobSettings = UNKNOWN_SETTINGS
    sha256: str = ""

    @property
    def checkpoint_paths(self) -> list[str]:
        """Return the whole path of each checkpoint that it retains, or was restored from."""
        paths = (*(e.path for e in self.retained), *(e.path for e in self.restored))
        return [resolve(each, self.checkpoint_dir) for each in paths]


def oldest_retained(snapshot: RegistrySnapshot) -> int | None:
    """Return the lowest retained id, savepoints aside; ``None`` if nothing is retained.

    Source: Flink 1.15-2.3, ``CheckpointSubsumeHelper`` / ``findLowest``: savepoints are skipped.
    """
    return min((each.id for each in snapshot.retained if not each.is_savepoint), default=None)


def resolve(path: str, checkpoint_dir: str) -> str:
    """Return the absolute spelling of an entry's path; ``core.model.locations.canonical`` makes it
    a place.

    A path with a scheme and a slash, or one that starts with a slash, is absolute already.
    """
    if _ABSOLUTE.match(path):
        return path
    return f"{checkpoint_dir.rstrip('/')}/{path}"


def epoch_in(name: str) -> str | None:
    """Return the epoch that the name of an exporter's snapshot spells, ``None`` if it spells none.

    Source: ``deploy/flink-plugin``, ``JobExport.export``.
    """
    match = _NAME.fullmatch(name)
    return None if match is None else match[1]


def rival_among(names: Iterable[str], epoch: str) -> str | None:
    """Return the epoch of a JobManager that wrote snapshots in turn with another one (R15).

    A JobManager that follows another writes all its snapshots after the other's last one. An
    epoch that appears again behind another one shows two JobManagers at work, also if only one of
    them answers a nonce in time.

    Args:
        names: Names of snapshots of one job, in the order of their times.
        epoch: Epoch of the newest one; the other epoch of the two is returned.
    """
    seen: list[str] = []
    for name in names:
        found = epoch_in(name) or name
        if found in seen[:-1]:
            return found if seen[-1] == epoch else seen[-1]
        if found not in seen:
            seen.append(found)
    return None


def check_successor(
    first: RegistrySnapshot,
    second: RegistrySnapshot,
    *,
    now: datetime,
    max_age: timedelta,
    clock_skew: timedelta,
) -> str | None:
    """Return why ``second`` does not follow ``first`` in one cycle, ``None`` if it does (R15).

    Job, directory, source and JobManager must be the same, the sequence must have gone forward,
    time not back, the oldest retained id not back (ids ascend within an epoch), and the second
    must be neither older than ``max_age`` nor more than ``clock_skew`` in the future.

    Args:
        first: Read before the listing; it gives the oldest retained id.
    """
    return (
        identity_problem(first, second)
        or order_problem(first, second)
        or _age_problem(second, now=now, max_age=max_age, clock_skew=clock_skew)
    )


def identity_problem(first: RegistrySnapshot, second: RegistrySnapshot) -> str | None:
    """Return why two snapshots are not of one exporter, ``None`` if they are (R15)."""
    if first.job_id != second.job_id:
        return f"the snapshots are of two jobs, {first.job_id} and {second.job_id}"
    if first.source is not second.source:
        return f"the snapshots are of two sources, {first.source} and {second.source}"
    if first.jm_epoch != second.jm_epoch:
        return f"the JobManager of job {first.job_id} was started again between the snapshots"
    if first.checkpoint_dir != second.checkpoint_dir:
        return f"the checkpoint directory of job {first.job_id} changed between the snapshots"
    return None


def order_problem(first: RegistrySnapshot, second: RegistrySnapshot) -> str | None:
    """Return why the second of two snapshots is not the later one, ``None`` if it is (R15)."""
    if second.sequence <= first.sequence:
        return f"snapshot sequence {second.sequence} does not follow {first.sequence}"
    if second.taken_at < first.taken_at:
        return f"snapshot {second.sequence} was taken before snapshot {first.sequence}"
    before, after = oldest_retained(first), oldest_retained(second)
    if before is not None and (after is None or after < before):
        return f"the oldest retained checkpoint went back from {before} to {after}"
    return None


def _age_problem(
    snapshot: RegistrySnapshot, *, now: datetime, max_age: timedelta, clock_skew: timedelta
) -> str | None:
    if now - snapshot.taken_at > max_age:
        return f"snapshot {snapshot.sequence} of {snapshot.taken_at} is older than {max_age}"
    if snapshot.taken_at - now > clock_skew:
        return f"snapshot {snapshot.sequence} is dated {snapshot.taken_at}, in the future"
    return None


def cycle_problem(first: RegistrySnapshot, second: RegistrySnapshot, *, nonce: str) -> str | None:
    """Return why ``second`` may miss what the listing saw, ``None`` if it cannot (R14).

    The oldest retained id only excludes, so it is read first; the registry only protects, so it
    must be newer than the listing. The proof needs no clock: a nonce is written *after* the
    listing, and the second snapshot repeats it. Says nothing of ``check_successor``, which must
    hold too.

    Args:
        second: Read after the nonce was written.
    """
    if second.source is not Mode.REGISTRY:
        return f"a {second.source} snapshot knows no more than the roots that it came from"
    if first.nonce == nonce:
        return "the nonce was known before the listing ended"
    return None if second.nonce == nonce else "the registry snapshot does not repeat the nonce"
