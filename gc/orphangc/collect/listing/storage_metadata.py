"""Lists a whole storage for the objects of one base name; memory grows with these alone."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from os.path import commonprefix

import pyarrow as pa
import pyarrow.compute as pc

from flinkstate.places.locations import is_within
from orphangc.collect.listing.list_storage import STREAMS, closing, list_all
from orphangc.collect.listing.noted_names import NotedNames
from orphangc.core.model.job_folders import CHECKPOINT, pattern_where
from orphangc.core.model.naming import EXPIRY_MARKER, UNFINISHED
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.ports import LISTING_SCHEMA, Progress, Spool, SpoolPart, Storage
from orphangc.ports.engine import ListingHints

_PHASE = "search"
_LAST = "\U0010fffd"
"""Sorts after every character that a request can name."""
_ID = "[0-9a-f]{32}"
_ANYWHERE = f"(?:^|/)(?:{pattern_where(lambda each: each.counts_anywhere)})/"
_BELOW_AN_ID = f"/(?:{pattern_where(lambda each: not each.counts_anywhere)})/"
"""These say that a job is there only below its id: see ``place_of_folder``."""
_AREA = f"{_ANYWHERE}|{_BELOW_AN_ID}"
_EACH_AREA = re.compile(f"(?={_ANYWHERE})|(?<![^/]{_ID})(?<={_ID})(?={_BELOW_AN_ID})")
"""Of two areas one below the other both are found: they have the slash between them in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMetadata:
    """What the listing of a storage shows.

    Attributes:
        objects: Every object that may be a ``_metadata``.
        links: Keys of links, as ``links_in`` has them.
        markers: Markers of expiries (R44).
        directories: Keys of folders that may be a job's. No listing of them shows one moment: a
            checkpoint may have replaced another one where the listing had passed already.
        changed_at: Newest store time of what was listed in each of them.
    """

    keys: int = 0
    objects: tuple[StoredObject, ...] = ()
    links: tuple[str, ...] = ()
    markers: tuple[StoredObject, ...] = ()
    directories: tuple[str, ...] = ()
    changed_at: Mapping[str, datetime] = field(default_factory=dict)

    def with_those_of(self, other: ListedMetadata) -> ListedMetadata:
        """Return this with what another listing of the same storage shows; times are of this."""
        return ListedMetadata(
            keys=self.keys + other.keys,
            objects=self.objects + other.objects,
            links=self.links + other.links,
            markers=self.markers + other.markers,
            directories=self.directories + other.directories,
            changed_at=self.changed_at,
        )

    def outside(self, aside: Collection[str]) -> ListedMetadata:
        """Return what is in none of some folders, nor below them; number and links stay."""
        return replace(
            self,
            objects=tuple(each for each in self.objects if not is_within(each.key, aside)),
            markers=tuple(each for each in self.markers if not is_within(each.key, aside)),
            directories=tuple(each for each in self.directories if not is_within(each, aside)),
        )


@dataclass(frozen=True, slots=True)
class KeptRows:
    """What is kept of a listing."""

    spool: Spool
    prefixes: Sequence[str]


def metadata_in(
    storage: Storage, left_out: Collection[str], progress: Progress, *, kept: KeptRows | None = None
) -> ListedMetadata:
    """Return every ``_metadata`` of a storage, listed to its end.

    Args:
        left_out: Keys of folders that are not listed, without a slash at the end.
        kept: Rows to keep of a storage that is listed in order.

    Raises:
        StorageUnreachableError: It could not be listed to its end.
    """
    folders = frozenset(each for each in left_out if not is_within(each, {*left_out} - {each}))
    if "" in folders:
        return ListedMetadata()
    spool = _CountingSpool(folders if storage.is_ordered else (), kept)
    if storage.is_ordered:
        list_all(
            storage,
            spool,
            hints=ListingHints(),
            streams=STREAMS,
            progress=lambda _, *counts: progress(_PHASE, *counts),
        )
    else:
        part = spool.part()
        for batch in _batches_beside(storage, "", folders):
            part.append(batch)
            progress(_PHASE, part.rows)
        part.finish(KeyRange())
    ends = {end for each in spool.finished() for end in (each.after, each.until) if end}
    edges = ends - {end for each in map(_below, folders) for end in (each.after, each.until)}
    directories = spool.directories.keys() | _on_edges(storage, edges)
    objects = sorted(spool.noted.objects, key=lambda each: each.key)
    return ListedMetadata(
        keys=spool.objects,
        objects=tuple(objects),
        links=tuple(spool.noted.links),
        markers=tuple(spool.markers),
        directories=tuple(sorted(directories - folders)),
        changed_at={each: at for each, at in spool.directories.items() if at is not None},
    )


def _batches_beside(
    storage: Storage, folder: str, left_out: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    if folder in left_out:
        return
    below = f"{folder}/" if folder else ""
    if not any(each.startswith(below) for each in left_out):
        yield from storage.objects(folder)
        return
    level = storage.folder(folder)
    yield pa.RecordBatch.from_pylist(
        [
            {"key": each.key, "size": each.size, "modified_at": each.modified_at, "etag": each.etag}
            for each in level.objects
        ],
        schema=LISTING_SCHEMA,
    )
    if level.has_nameless:
        yield from storage.nameless(folder)
    for name in level.folders:
        yield from _batches_beside(storage, f"{below}{name}", left_out)


def _on_edges(storage: Storage, edges: Collection[str]) -> set[str]:
    """Return the folders of jobs through which an edge of two listed ranges goes.

    Their keys before and behind it were listed at different moments, and a job may have shown none
    at either. Everywhere else one page shows all the keys between two of its own at one moment.
    """
    found = _directories_of(pa.array(sorted(edges), pa.string())).keys()

    def shown(folder: str) -> Collection[str]:
        below = f"{folder}/" if folder else ""
        start = f"{below}{CHECKPOINT}"
        behind = f"{start[:-1]}."  # the sign that follows a hyphen
        with closing(storage.pages(KeyRange(start, behind))) as pages:
            page = next(pages, None)
        return () if page is None else _directories_of(page["key"])

    with ThreadPoolExecutor(STREAMS) as pool:
        return set(found).union(
            *pool.map(shown, {each.rpartition("/")[0] for each in edges} - found)
        )


def _directories_of(keys: pa.Array) -> dict[str, datetime | None]:
    return job_directories(keys, pa.nulls(len(keys), pa.timestamp("us", "UTC")))


def job_directories(keys: pa.Array, times: pa.Array) -> dict[str, datetime | None]:
    """Return the folders in which a key shows a checkpoint's folder or an area of a job.

    With the newest store time of these keys. What all keys of a batch begin with is looked at once.
    """
    if not len(keys):
        return {}
    ends = pc.min_max(keys).as_py()
    first = commonprefix([ends["min"], ends["max"]])  # noqa: RUF071 - keys are no paths here
    shared = first.rpartition("/")[0]
    rest = pc.utf8_slice_codeunits(keys, len(shared))
    is_inside = pc.match_substring_regex(rest, _AREA)
    folders = pc.replace_substring_regex(keys.filter(is_inside), "/[^/]*$", "")
    inside = pa.table({"folder": folders, "at": times.filter(is_inside)})
    newest = inside.group_by("folder").aggregate([("at", "max")])
    found: dict[str, datetime | None] = {}
    for each, at in (
        *zip(*(newest[name].to_pylist() for name in ("folder", "at_max")), strict=True),
        (shared, pc.max(times).as_py()),
    ):
        for area in _EACH_AREA.finditer(f"{each}/"):
            _note(found, f"{each}/"[: area.start()], at)
    return found


def _note(found: dict[str, datetime | None], directory: str, at: datetime | None) -> None:
    if directory.startswith(UNFINISHED):
        return
    known = found.get(directory)
    found[directory] = known if at is None or (known is not None and known > at) else at


def _below(folder: str) -> KeyRange:
    """Return the range of the keys below a folder, which ends before the key after all of them.

    Any object may have that key, ``metadata-10`` behind ``metadata-1``.
    """
    return KeyRange(f"{folder}/", f"{folder}/{_LAST}")


@dataclass(slots=True)
class _CountingSpool:
    """A spool that counts objects, notes folders of jobs, and keeps few rows.

    A part that is not finished counts too: then the whole listing has failed.
    """

    left_out: Collection[str]
    kept: KeptRows | None
    noted: NotedNames = field(default_factory=NotedNames)
    objects: int = 0
    directories: dict[str, datetime | None] = field(default_factory=dict)
    markers: list[StoredObject] = field(default_factory=list)
    ranges: list[KeyRange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.ranges += map(_below, self.left_out)

    @property
    def rows(self) -> int:
        return self.objects

    def part(self) -> SpoolPart:
        return _CountingPart(self)

    def finished(self) -> list[KeyRange]:
        return list(self.ranges)

    def batches(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        del within
        yield from ()

    def add(self, batch: pa.RecordBatch) -> None:
        self.noted.note(batch)
        keys = batch.column("key")
        found = job_directories(keys, batch.column("modified_at"))
        markers = batch.filter(pc.match_substring(keys, f"/{EXPIRY_MARKER}")).to_pylist()
        with self._lock:
            self.objects += pc.sum(batch.column("size").is_valid()).as_py() or 0
            for each, at in found.items():
                _note(self.directories, each, at)
            self.markers += [StoredObject(**row) for row in markers]


class _CountingPart:
    def __init__(self, spool: _CountingSpool) -> None:
        self.rows = 0
        self._spool = spool
        self._kept: SpoolPart | None = None

    def append(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self._spool.add(batch)
        if batch.num_rows and self._spool.kept is not None:
            self._keep(batch, self._spool.kept)

    def _keep(self, batch: pa.RecordBatch, kept: KeptRows) -> None:
        first, last = (batch["key"][at].as_py() for at in (0, -1))
        near = [each for each in kept.prefixes if first[: len(each)] <= each <= last]
        if near:
            self._kept = self._kept or kept.spool.part()
            is_kept = (pc.starts_with(batch["key"], each) for each in near)
            self._kept.append(batch.filter(reduce(pc.or_, is_kept)))

    def finish(self, within: KeyRange) -> None:
        if self._kept is not None:
            self._kept.finish(within)
        self._spool.ranges.append(within)
