"""One pass over the listing, before anything is judged: what is there, job by job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from orphangc.collect.mark.hidden_sums import HiddenSums, markers_in
from orphangc.core.columns.fingerprint import NOTHING, Fingerprint
from orphangc.core.columns.listing_columns import NO_TIME, Columns
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Survey
from orphangc.core.model.naming import (
    ANY_UUID,
    EXPIRY_MARKER,
    TEMPORARY,
    FilePlace,
    Owners,
    parse_artifact_name,
    place_of_folder,
)
from orphangc.core.model.types import Scope
from orphangc.core.times.instants import from_microseconds
from orphangc.ports.engine import ListingPass

_FEW = 20
_Mask = npt.NDArray[np.bool_]
_Rows = npt.NDArray[np.intp]


@dataclass(slots=True)
class SavepointListed:
    """What is listed in the folder of a savepoint.

    Attributes:
        newest_us: Newest store time in microseconds; ``None`` if one is unknown.
        has_others: Whether it holds a ``_metadata``, or a name that Flink gives no file of a
            savepoint: a person may have renamed one.
    """

    newest_us: int | None
    has_others: bool

    def add(self, other: SavepointListed) -> None:
        """Add what another part of the listing shows of the same folder."""
        known = self.newest_us is not None and other.newest_us is not None
        self.newest_us = max(self.newest_us or 0, other.newest_us or 0) if known else None
        self.has_others |= other.has_others


@dataclass(slots=True)
class Surveyed:
    """What the listing shows.

    Attributes:
        present: Fingerprint of the expected names that are listed, by head.
        others: Other expected keys that are listed.
        seen: Wanted UUIDs that a listed base name ends in.
        seen_names: Other wanted base names that are listed.
        held: UUIDs of live files of all areas, by job key, if they were requested.
        savepoints: Folders of savepoints that hold objects.
        savepoint_folders: Keys of all folders of savepoints, where a storage shows folders.
    """

    jobs: dict[str, Survey] = field(default_factory=dict)
    objects: int = 0
    size: int = 0
    present: dict[str, Fingerprint] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    seen: UuidSet = field(default_factory=UuidSet)
    seen_names: set[str] = field(default_factory=set)
    held: dict[str, UuidSet] = field(default_factory=dict)
    markers: HiddenSums = field(default_factory=HiddenSums)
    savepoints: dict[str, SavepointListed] = field(default_factory=dict)
    savepoint_folders: set[str] = field(default_factory=set)

    def see_savepoint(self, folder: str, listed: SavepointListed) -> None:
        """Add what is listed of the folder of a savepoint."""
        if folder in self.savepoints:
            self.savepoints[folder].add(listed)
        else:
            self.savepoints[folder] = listed

    def job(self, key: str) -> Survey:
        """Return what is shown of one job."""
        if key not in self.jobs:
            self.jobs[key] = Survey()
        return self.jobs[key]


def rows_by_kind(columns: Columns, rows: _Rows) -> Iterator[tuple[int, _Rows]]:
    """Yield the rows of each kind that occurs among ``rows``, in no order of kinds."""
    if not len(rows):
        return
    if len(columns.kinds) == 1:
        yield 0, rows
        return
    ordered = rows[np.argsort(columns.kind[rows], kind="stable")]
    kinds, starts = np.unique(columns.kind[ordered], return_index=True)
    yield from zip(kinds.tolist(), np.split(ordered, starts[1:]), strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyPass(ListingPass[Surveyed]):
    """Counts what is there, and what of that is live.

    Attributes:
        expected: Names in checkpoints below the storage root: UUIDs by head.
        expected_others: Whole keys of all other names.
        wanted: UUIDs that a listed base name must end in, in any folder.
        wanted_names: Other base names that must be listed somewhere.
    """

    owners: Owners
    expected: Mapping[str, UuidSet]
    expected_others: frozenset[str]
    wanted: UuidSet
    wanted_names: frozenset[str]
    is_holding: bool
    phase: str = "surveying"

    def begin(self) -> Surveyed:
        """See ``ListingPass``."""
        return Surveyed(markers=HiddenSums(self.owners.base.name))

    def add(self, found: Surveyed, rows: MarkedRows) -> None:
        """See ``ListingPass``."""
        for folder in rows.folders:
            place = place_of_folder(folder, self.owners.base.name)
            self._see_folder(found, place)
            if place.scope is Scope.SAVEPOINT:
                found.savepoint_folders.add(folder)
        if len(rows.columns.kind):
            self._see_objects(found, rows)
            _see_savepoints(found, rows.columns)
            self._see_live(found, rows)
            self._see_odd_names(found, rows)

    def together(self, found: Iterable[Surveyed]) -> Surveyed:
        """See ``ListingPass``."""
        total = self.begin()
        for each in found:
            total.markers.together([each.markers])
            for key, shown in each.jobs.items():
                _add(total.job(key), shown)
            total.objects += each.objects
            total.size += each.size
            for head, shown_there in each.present.items():
                total.present[head] = total.present.get(head, NOTHING) + shown_there
            total.others |= each.others
            for folder, listed in each.savepoints.items():
                total.see_savepoint(folder, replace(listed))
            total.savepoint_folders |= each.savepoint_folders
            total.seen.extend(*each.seen.columns())
            total.seen_names |= each.seen_names
            for key, uuids in each.held.items():
                total.held.setdefault(key, UuidSet()).extend(*uuids.columns())
        return total

    def _see_folder(self, found: Surveyed, place: FilePlace) -> None:
        """Record a sub-folder of ``shared/``, also an empty one: it shows a layout (R2)."""
        key = self.owners.job_key(place)
        if key is not None and place.scope is Scope.SHARED and place.inner:
            found.job(key).sub_folders.add(place.inner.partition("/")[0])

    def _see_objects(self, found: Surveyed, rows: MarkedRows) -> None:
        columns = rows.columns
        keys = [self.owners.job_key(kind.place) for kind in columns.kinds]
        for key, kind in zip(keys, columns.kinds, strict=True):
            if key is not None and kind.area is not None:
                found.job(key).areas.add(kind.area)
            if key is not None and kind.place.scope is Scope.SHARED:
                shown = found.job(key)
                directory = kind.place.job_directory or ""
                shown.shared_directories.add(self.owners.base.child(directory))
                self._see_folder(found, kind.place)
        sizes = columns.batch.column("size")
        found.markers.add(markers_in(columns.batch))
        found.objects += len(sizes)
        found.size += pa.compute.sum(sizes, min_count=0).as_py()
        for row in _sums(columns, keys, rows.is_live & columns.has_uuid):
            if row["key"] is not None:
                _add(found.job(str(row["key"])), _survey_of(row))

    def _see_live(self, found: Surveyed, rows: MarkedRows) -> None:
        columns = rows.columns
        is_named = rows.is_live & columns.has_uuid
        if len(self.wanted):
            named = columns.has_uuid & self.wanted.contains(columns.hi, columns.lo)
            found.seen.extend(columns.hi[named], columns.lo[named])
        for kind, part in rows_by_kind(columns, np.flatnonzero(is_named)):
            head, place = columns.kinds[kind].head, columns.kinds[kind].place
            expected = self.expected.get(head)
            if expected is not None:
                hi, lo = columns.hi[part], columns.lo[part]
                is_expected = expected.contains(hi, lo)
                there = Fingerprint.of(hi[is_expected], lo[is_expected])
                found.present[head] = found.present.get(head, NOTHING) + there
            key = self.owners.job_key(place)
            if key is not None and columns.is_artifact[part[0]]:
                self._see_live_artifacts(found, rows, part, key)

    def _see_live_artifacts(self, found: Surveyed, rows: MarkedRows, part: _Rows, key: str) -> None:
        columns, shown = rows.columns, found.job(key)
        shown.live_artifacts += len(part)
        if self.is_holding:
            held = found.held.setdefault(key, UuidSet())
            held.extend(columns.hi[part], columns.lo[part])
        if not columns.kinds[columns.kind[part[0]]].is_flat:
            return
        shown.live_in_shared += len(part)
        only_raw = part[~rows.in_parsed[part]][: _FEW - len(shown.only_in_raw_bytes)]
        shown.only_in_raw_bytes += columns.batch.column("key").take(pa.array(only_raw)).to_pylist()

    def _see_odd_names(self, found: Surveyed, rows: MarkedRows) -> None:
        if not (self.expected_others or self.wanted_names):
            return
        columns = rows.columns
        is_plain = np.array(
            [
                (parse_artifact_name(kind.head.rpartition("/")[2] + ANY_UUID) is not None)
                for kind in columns.kinds
            ],
            np.bool_,
        )
        odd = np.flatnonzero(~(columns.has_uuid & is_plain[columns.kind]))
        for at, key in zip(
            odd.tolist(), columns.batch.column("key").take(pa.array(odd)).to_pylist(), strict=True
        ):
            if key in self.expected_others:
                found.others.add(key)
                owner = self.owners.job_key(columns.kinds[columns.kind[at]].place)
                if owner is not None and not columns.has_uuid[at]:  # else it is live already
                    found.job(owner).live_objects += 1
            name = key.rpartition("/")[2]
            if name in self.wanted_names:
                found.seen_names.add(name)


def _see_savepoints(found: Surveyed, columns: Columns) -> None:
    """Record the folders of savepoints (R33)."""
    for number, kind in enumerate(columns.kinds):
        if kind.place.scope is not Scope.SAVEPOINT:
            continue
        times = columns.modified_us[columns.kind == number]
        is_known = bool(len(times)) and not (times == NO_TIME).any()
        listed = SavepointListed(
            newest_us=int(times.max()) if is_known else None,
            has_others=not kind.is_artifact and _is_named(columns, number),
        )
        found.see_savepoint(kind.head.rpartition("/")[0], listed)


def _is_named(columns: Columns, number: int) -> bool:
    """Return whether any row of a kind has a base name: a mark of a folder has none."""
    keys = columns.batch.column("key").filter(pa.array(columns.kind == number))
    return bool(pa.compute.any(pa.compute.not_equal(keys, columns.kinds[number].head)).as_py())


def _sums(
    columns: Columns, keys: list[str | None], is_named: _Mask
) -> list[dict[str, int | str | None]]:
    """Return objects, bytes, times, live objects and flat artifacts of each job key.

    The times of our own files are none of the job's.
    """
    owner = pa.DictionaryArray.from_arrays(
        pa.array(columns.kind), pa.array(keys, pa.string())
    ).cast(pa.string())
    is_ours = np.array(
        [
            kind.head.rpartition("/")[2].startswith((EXPIRY_MARKER, TEMPORARY))
            for kind in columns.kinds
        ],
        np.bool_,
    )[columns.kind]
    times = pa.array(columns.modified_us, mask=is_ours | (columns.modified_us == NO_TIME))
    table = pa.table(
        {
            "key": owner,
            "size": columns.batch.column("size"),
            "us": times,
            "live": pa.array(is_named).cast(pa.int64()),
            "flat": pa.array(columns.is_flat).cast(pa.int64()),
        }
    )
    wanted = [
        *(("size", "sum"), ("us", "min"), ("us", "max")),
        *(("live", "sum"), ("flat", "sum"), ([], "count_all")),
    ]
    return table.group_by("key").aggregate(wanted).to_pylist()  # type: ignore[no-any-return]


def _survey_of(row: dict[str, int | str | None]) -> Survey:
    return Survey(
        objects=int(row["count_all"] or 0),
        size=int(row["size_sum"] or 0),
        live_objects=int(row["live_sum"] or 0),
        flat_artifacts=int(row["flat_sum"] or 0),
        oldest_modified_at=from_microseconds(_whole(row["us_min"])),
        newest_modified_at=from_microseconds(_whole(row["us_max"])),
    )


def _whole(value: int | str | None) -> int | None:
    return None if value is None else int(value)


def _add(total: Survey, more: Survey) -> None:
    total.objects += more.objects
    total.size += more.size
    total.live_objects += more.live_objects
    total.live_in_shared += more.live_in_shared
    total.live_artifacts += more.live_artifacts
    total.areas |= more.areas
    total.flat_artifacts += more.flat_artifacts
    oldest = [at for at in (total.oldest_modified_at, more.oldest_modified_at) if at is not None]
    newest = [at for at in (total.newest_modified_at, more.newest_modified_at) if at is not None]
    total.oldest_modified_at = min(oldest, default=None)
    total.newest_modified_at = max(newest, default=None)
    total.sub_folders |= more.sub_folders
    total.shared_directories |= more.shared_directories
    total.only_in_raw_bytes += more.only_in_raw_bytes
    del total.only_in_raw_bytes[_FEW:]
