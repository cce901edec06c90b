"""One pass over the listing, before anything is judged: what is there, and what is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from orphangc.core.evidence import JobEvidence, Root, Survey
from orphangc.core.model import ObjectKey, Scope
from orphangc.core.names import Place, place_of_folder, recognise
from orphangc.core.uris import Location
from orphangc.ports import Spool, Storage
from orphangc.runs.mark import Mark
from orphangc.runs.rows import Row, folder_rows, instant, rows

__all__ = ["Surveyed", "survey"]

_FEW = 20


@dataclass(slots=True)
class Surveyed:
    """What the listing shows.

    Attributes:
        jobs: By job key.
        missing: By job key: what its roots refer to below the storage root and is not listed.
        held: Job key by the UUID of each live artifact.
        objects: Number of listed objects.
        size: Their bytes.

    """

    jobs: dict[str, Survey] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    held: dict[bytes, str] = field(default_factory=dict)
    objects: int = 0
    size: int = 0


@dataclass(slots=True)
class _Times:
    oldest: int | None = None
    newest: int | None = None

    def add(self, modified_us: int | None) -> None:
        if modified_us is None:
            return
        if self.oldest is None or modified_us < self.oldest:
            self.oldest = modified_us
        if self.newest is None or modified_us > self.newest:
            self.newest = modified_us


@dataclass(slots=True)
class _Pass:
    """The state of one pass; ``expected`` and ``wanted`` shrink as things are found."""

    base: Location
    mark: Mark
    expected: set[str]
    wanted: set[str]
    pins: tuple[str, ...]
    found: Surveyed = field(default_factory=Surveyed)
    times: dict[str, _Times] = field(default_factory=dict)
    keys: dict[str | None, str | None] = field(default_factory=dict)

    def job_key(self, place: Place) -> str | None:
        directory = place.job_directory
        if directory not in self.keys:
            self.keys[directory] = self.mark.job_key(self.base, place)
        return self.keys[directory]

    def see_folder(self, place: Place) -> None:
        job_key = self.job_key(place)
        if job_key is not None and place.scope is Scope.SHARED and place.inner:
            self.survey_of(job_key).sub_folders.add(place.inner.partition("/")[0])

    def survey_of(self, job_key: str) -> Survey:
        if job_key not in self.found.jobs:
            self.found.jobs[job_key] = Survey()
            self.times[job_key] = _Times()
        return self.found.jobs[job_key]

    def see(self, row: Row) -> None:
        self.found.objects += 1
        self.found.size += row.size or 0
        is_expected = row.key in self.expected
        if is_expected:
            self.expected.discard(row.key)
        if self.wanted:
            self.wanted.discard(row.name)
        job_key = self.job_key(row.place)
        if job_key is None:
            return
        shown = self.survey_of(job_key)
        shown.objects += 1
        shown.size += row.size or 0
        self.times[job_key].add(row.modified_us)
        self.see_in_job(row, job_key, is_expected=is_expected)

    def see_in_job(self, row: Row, job_key: str, *, is_expected: bool) -> None:
        shown = self.found.jobs[job_key]
        is_live = is_expected
        if row.place.scope is Scope.SHARED:
            shown.shared_directories.add(self.location_of(row.place))
            if row.place.inner:
                shown.sub_folders.add(row.place.inner.partition("/")[0])
            uuid = recognise(row.name, row.place).uuid
            if uuid is not None:
                is_live = self.is_live(uuid, row, shown) or is_live
                shown.live_in_shared += is_live
                if is_live:
                    self.found.held[uuid] = job_key
        shown.live_objects += is_live

    def location_of(self, place: Place) -> Location:
        return self.base.child(place.job_directory or "")

    def is_live(self, uuid: bytes, row: Row, shown: Survey) -> bool:
        live = self.mark.live
        if any(p in ("", row.key) or row.key.startswith(p + "/") for p in self.pins):
            live.parsed.add(uuid)
        if uuid in live.parsed:
            return True
        if uuid not in live.raw:
            return False
        if len(shown.only_in_raw_bytes) < _FEW:
            shown.only_in_raw_bytes.append(row.key)
        return True


def survey(spool: Spool, base: Location, mark: Mark, extra: Iterable[Storage]) -> Surveyed:
    """Return what the listing shows; artifacts below a pinned place join the live set.

    Args:
        spool: The listing.
        base: The storage root.
        mark: What is live; its live set grows by what lies below a pin.
        extra: The other storages, asked for single files that a latest root names there.

    """
    collected = [job for job in mark.jobs.values() if job.is_collected]
    outside = {job.key: _outside(job.latest, base) for job in collected}
    pins = tuple(key for pin in mark.pinned if (key := _pinned_key(pin, base)) is not None)
    state = _Pass(
        base=base,
        mark=mark,
        expected={key for root in mark.roots for key in _keys(root, base)},
        wanted={name for names in outside.values() for _, name in names},
        pins=pins,
    )
    _run(state, spool)
    for job_key, times in state.times.items():
        shown = state.found.jobs[job_key]
        shown.oldest_modified_at = instant(times.oldest)
        shown.newest_modified_at = instant(times.newest)
    storages = tuple(extra)
    for job in mark.jobs.values():
        _note_missing(job, state, outside.get(job.key, []), storages)
    return state.found


def _pinned_key(pin: Location, base: Location) -> str | None:
    """Return the key that a pin protects: "" is the whole storage root, ``None`` nothing of it."""
    return "" if pin.contains(base) else base.key_of(pin)


def _run(state: _Pass, spool: Spool) -> None:
    for batch in rows(spool, state.base.name):
        for row in batch:
            state.see(row)
    _see_folders(state, spool)


def _see_folders(state: _Pass, spool: Spool) -> None:
    """Note sub-folders of ``shared/``, the empty ones too: they tell of a layout (R2)."""
    for batch in spool.batches():
        for key in folder_rows(batch):
            state.see_folder(place_of_folder(key, state.base.name))


def _keys(root: Root, base: Location) -> Iterable[str]:
    """Yield the keys below the storage root that a root refers to."""
    for folder, names in root.files.items():
        prefix = base.key_of(folder)
        if prefix is not None:
            yield from (f"{prefix}/{name}" if prefix else name for name in names)


def _outside(root: Root | None, base: Location) -> list[tuple[Location, str]]:
    """Return what a root refers to outside the storage root."""
    if root is None:
        return []
    return [
        (folder, name)
        for folder, names in root.files.items()
        if not base.contains(folder)
        for name in names
    ]


def _note_missing(
    job: JobEvidence,
    state: _Pass,
    outside: list[tuple[Location, str]],
    storages: tuple[Storage, ...],
) -> None:
    """Note what the job's roots refer to and nothing shows (R8)."""
    missing = {key for root in job.own_roots for key in _keys(root, state.base)} & state.expected
    if missing:
        state.found.missing[job.key] = sorted(missing)
    if job.latest is None:
        return
    lacking = sorted(set(_keys(job.latest, state.base)) & missing)
    lacking += _not_seen(outside, state, storages)
    state.survey_of(job.key).missing_of_latest = lacking[:_FEW]


def _not_seen(
    outside: list[tuple[Location, str]], state: _Pass, storages: tuple[Storage, ...]
) -> list[str]:
    """Return files outside the storage root that no other storage has.

    Where no storage covers the place, the base name must stand in the listing: a tree that was
    moved, or an alias that nobody stated.
    """
    lacking: list[str] = []
    for folder, name in outside:
        place = folder.child(name)
        covering = next((each for each in storages if each.location.contains(place)), None)
        if covering is None:
            is_seen = name not in state.wanted
        else:
            key = ObjectKey(covering.location.key_of(place) or "")
            is_seen = covering.stat([key])[0] is not None
        if not is_seen:
            lacking.append(str(place))
    return lacking
