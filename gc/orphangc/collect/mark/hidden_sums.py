"""Contents of a storage beside its objects, summed by job and area; only ever reported (R28)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.core.documents.plan import ExtrasPart, ExtraStatus, HiddenPart
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import Scope
from orphangc.core.times.instants import from_microseconds
from orphangc.errors import NotReportedError, StorageUnreachableError
from orphangc.ports import HIDDEN_SCHEMA, HiddenKind, Storage

_FOLDER_MARKS = ("/", "_$folder$")
"""What tools end the name of a folder with: consoles and s3a, and Hadoop's older s3n."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Sum:
    number: int = 0
    size: int = 0
    without_size: int = 0
    oldest_us: int | None = None

    def add(self, other: _Sum) -> None:
        self.number += other.number
        self.size += other.size
        self.without_size += other.without_size
        known = [us for us in (self.oldest_us, other.oldest_us) if us is not None]
        self.oldest_us = min(known, default=None)


class _Shown(NamedTuple):
    number: int | None = None
    size: int | None = None
    without_size: int | None = None
    oldest_at: datetime | None = None


@dataclass(slots=True)
class HiddenSums:
    """Hidden things by area, job and kind; memory grows with folders, never with things.

    Attributes:
        root_name: Last part of the storage root, which may itself be a job directory.
    """

    root_name: str = ""
    sums: dict[tuple[Scope, str, HiddenKind], _Sum] = field(default_factory=dict)
    _owners: dict[str, tuple[Scope, str]] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``HIDDEN_SCHEMA``."""
        if not batch.num_rows:
            return
        folders = pc.replace_substring_regex(batch["key"], r"/?[^/]*\z", "")
        columns = {"kind": batch["kind"], "folder": folders, "size": batch["size"]}
        columns["at"] = batch["at"].cast(pa.int64())
        sums = (
            pa.table(columns)
            .group_by(["kind", "folder"])
            .aggregate(
                [
                    ([], "count_all"),
                    ("size", "sum"),
                    ("size", "count", pc.CountOptions(mode="only_null")),
                    ("at", "min"),
                ]
            )
        )
        for row in sums.to_pylist():
            found = _Sum(row["count_all"], row["size_sum"] or 0, row["size_count"], row["at_min"])
            self._add((*self._owner(row["folder"]), HiddenKind(row["kind"])), found)

    def together(self, others: Iterable[HiddenSums]) -> HiddenSums:
        """Return this with what the others have."""
        for other in others:
            for key, found in other.sums.items():
                self._add(key, found)
        return self

    def parts(self, uncounted: Collection[HiddenKind] = ()) -> tuple[HiddenPart, ...]:
        """Return one part for each area of a job that has anything."""
        owners = sorted({(scope, job_id) for scope, job_id, _ in self.sums})
        return tuple(self._part(*owner, uncounted) for owner in owners)

    def _add(self, key: tuple[Scope, str, HiddenKind], found: _Sum) -> None:
        self.sums.setdefault(key, _Sum()).add(found)

    def _owner(self, folder: str) -> tuple[Scope, str]:
        if folder not in self._owners:
            place = place_of_folder(folder, self.root_name)
            self._owners[folder] = (place.scope, place.job_id)
        return self._owners[folder]

    def _part(self, scope: Scope, job_id: str, uncounted: Collection[HiddenKind]) -> HiddenPart:
        def shown(kind: HiddenKind) -> _Shown:
            if kind in uncounted:
                return _Shown()
            of = self.sums.get((scope, job_id, kind), _Sum())
            return _Shown(of.number, of.size, of.without_size, from_microseconds(of.oldest_us))

        uploads, old = shown(HiddenKind.UPLOAD), shown(HiddenKind.NONCURRENT)
        dead = self.sums.get((scope, job_id, HiddenKind.DEAD_UPLOAD), _Sum())
        return HiddenPart(
            scope=scope,
            job_id=job_id,
            uploads=uploads.number,
            upload_bytes=uploads.size,
            uploads_of_unknown_size=uploads.without_size,
            oldest_upload_at=uploads.oldest_at,
            noncurrent_versions=old.number,
            noncurrent_bytes=old.size,
            delete_markers=shown(HiddenKind.DELETE_MARKER).number,
            directory_markers=shown(HiddenKind.DIRECTORY_MARKER).number or 0,
            dead_uploads=dead.number,
            dead_upload_bytes=dead.size,
        )


def markers_in(listing: pa.RecordBatch) -> pa.RecordBatch:
    """Return the directory markers of a batch of ``LISTING_SCHEMA`` as ``HIDDEN_SCHEMA``.

    A folder of a store that has real ones is none: its size is null, not zero.
    """
    empty = listing.filter(pc.equal(listing["size"], 0))  # few: only their names are compared
    is_marked = (pc.ends_with(empty["key"], mark) for mark in _FOLDER_MARKS)
    found = empty.filter(pc.or_(*is_marked))
    kinds = pa.repeat(HiddenKind.DIRECTORY_MARKER.value, found.num_rows)
    columns = [kinds, found["key"], found["size"], found["modified_at"]]
    return pa.RecordBatch.from_arrays(columns, schema=HIDDEN_SCHEMA)


def extras_part(
    storage: Storage | None,
    markers: HiddenSums,
    *,
    with_versions: bool,
    is_dead: Callable[[str, datetime | None], bool] = lambda *_: False,
) -> ExtrasPart | None:
    """Return the plan's part about everything beside the objects; ``None`` on other stores.

    A kind that could not be counted to its end is unknown: a part of it is never shown as all.

    Args:
        with_versions: Whether the operator wants a second listing for them.
        is_dead: Returns whether nothing completes an upload of a key, begun at a time.
    """
    if storage is None:
        return None
    problems: list[str] = []
    uploads, unfinished = _counted(
        lambda: _with_dead(storage.uploads(), is_dead), markers.root_name, problems
    )
    versions, old = ExtraStatus.NOT_ASKED, HiddenSums(markers.root_name)
    if with_versions:
        versions, old = _counted(storage.versions, markers.root_name, problems)
    uncounted = {HiddenKind.UPLOAD} if uploads is not ExtraStatus.COUNTED else set()
    if versions is not ExtraStatus.COUNTED:
        uncounted |= {HiddenKind.NONCURRENT, HiddenKind.DELETE_MARKER}
    areas = HiddenSums(markers.root_name).together([markers, unfinished, old]).parts(uncounted)
    return ExtrasPart(uploads=uploads, versions=versions, problems=tuple(problems), areas=areas)


def _with_dead(
    batches: Iterator[pa.RecordBatch], is_dead: Callable[[str, datetime | None], bool]
) -> Iterator[pa.RecordBatch]:
    """Yield uploads, and those of them that nothing completes once more as such (R50)."""
    for batch in batches:
        yield batch
        keys, times = batch["key"].to_pylist(), batch["at"].to_pylist()
        dead = [is_dead(key, at) for key, at in zip(keys, times, strict=True)]
        if any(dead):
            found = batch.filter(pa.array(dead))
            kinds = pa.repeat(HiddenKind.DEAD_UPLOAD.value, found.num_rows)
            columns = [kinds, *found.columns[1:]]
            yield pa.RecordBatch.from_arrays(columns, schema=HIDDEN_SCHEMA)


def _counted(
    verb: Callable[[], Iterator[pa.RecordBatch]], root_name: str, problems: list[str]
) -> tuple[ExtraStatus, HiddenSums]:
    sums = HiddenSums(root_name)
    try:
        for batch in verb():
            sums.add(batch)
    except NotReportedError as err:
        status = ExtraStatus.FORBIDDEN if err.is_forbidden else ExtraStatus.NOT_TOLD
    except StorageUnreachableError as err:
        status = ExtraStatus.FAILED
        problems.append(str(err))
        log.warning("extras.uncounted", reason=str(err))
    else:
        return ExtraStatus.COUNTED, sums
    return status, HiddenSums(root_name)
