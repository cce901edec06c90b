"""Names in checkpoints that nothing stored answers (R8): found by fingerprints, then by name.

An inventory, or the listing of a saved plan, is hours or days old, and a resumed listing is so in
part. A name that it lacks proves nothing by itself, and is checked in the storage: the file may be
younger. A checkpoint may be newer than the listing, or on its way out: Flink deletes what only
a subsumed checkpoint needed before its ``_metadata``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location
from orphangc.collect.mark.survey import Surveyed, rows_by_kind
from orphangc.collect.observe.checkpoints import CheckpointScan
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.fingerprint import NOTHING, Fingerprint
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import texts_of
from orphangc.core.decision.evidence import Checkpoint, JobEvidence, UnreadableCheckpoint
from orphangc.core.model.naming import is_possible_key, place_of_folder, uuid_of
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import RefusedError, StorageUnreachableError
from orphangc.ports import EarlierListing, Progress, Storage
from orphangc.ports.engine import Engine, ListingPass

_FEW_NAMES = 100
SAMPLED = 128
"""Files of a checkpoint that are asked for where only the loss of a part of them is looked for."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Names in checkpoints below the storage root.

    Attributes:
        heads: UUIDs by head: the key of the folder, a slash, and the text before the UUID.
        others: Whole keys of all other names.
    """

    heads: Mapping[str, UuidSet] = field(default_factory=dict)
    others: frozenset[str] = frozenset()

    def outside(self, closed: Iterable[str]) -> Expected:
        """Return the names that are in none of some folders, nor below them.

        Args:
            closed: Keys of the folders.
        """
        inside = tuple(f"{key}/" for key in closed)
        heads = {head: uuids for head, uuids in self.heads.items() if not head.startswith(inside)}
        return Expected(
            heads, frozenset(each for each in self.others if not each.startswith(inside))
        )


def expected_of(checkpoints: Iterable[Checkpoint], base: Location) -> Expected:
    """Return the names in the checkpoints below the storage root, each once."""
    heads: dict[str, UuidSet] = {}
    others: set[str] = set()
    for checkpoint in checkpoints:
        for folder, names in checkpoint.files.items():
            key = base.key_of(folder)
            if key is None:
                continue
            prefix = f"{key}/" if key else ""
            for before, hi, lo in names.heads():
                heads.setdefault(prefix + before, UuidSet()).adopt(hi, lo)
            others.update(prefix + name for name in names.others)
    return Expected(heads, frozenset(others))


@dataclass(frozen=True, slots=True)
class Missing(Expected):
    """What is expected and not listed."""

    def of(self, checkpoints: Iterable[Checkpoint], base: Location) -> list[str]:
        """Return its keys that some of the checkpoints refer to, sorted."""
        wanted = expected_of(checkpoints, base) if self.heads or self.others else Expected()
        keys = set(self.others & wanted.others)
        for head in self.heads.keys() & wanted.heads.keys():
            hi, lo = wanted.heads[head].columns()
            lacking = self.heads[head].contains(hi, lo)
            keys.update(head + text for text in texts_of(hi[lacking], lo[lacking]))
        return sorted(keys)


@dataclass(frozen=True, slots=True)
class _FoundPass(ListingPass[dict[str, UuidSet]]):
    heads: Mapping[str, UuidSet]
    phase: str = "missing"

    def begin(self) -> dict[str, UuidSet]:
        return {}

    def add(self, found: dict[str, UuidSet], rows: MarkedRows) -> None:
        columns = rows.columns
        for kind, part in rows_by_kind(columns, np.flatnonzero(columns.has_uuid)):
            head = columns.kinds[kind].head
            if head in self.heads:
                found.setdefault(head, UuidSet()).extend(columns.hi[part], columns.lo[part])

    def together(self, found: Iterable[dict[str, UuidSet]]) -> dict[str, UuidSet]:
        total: dict[str, UuidSet] = {}
        for each in found:
            for head, uuids in each.items():
                total.setdefault(head, UuidSet()).extend(*uuids.columns())
        return total


def missing_of(
    expected: Expected, surveyed: Surveyed, engine: Engine, progress: Progress
) -> Missing:
    """Return what is expected, not listed; ``StorageUnreachableError`` if a name stands twice."""
    uneven = {
        head: uuids
        for head, uuids in expected.heads.items()
        if surveyed.present.get(head, NOTHING) != Fingerprint.of(*uuids.columns())
    }
    heads: dict[str, UuidSet] = {}
    found = engine.run(_FoundPass(uneven), progress) if uneven else {}
    for head, uuids in uneven.items():
        hi, lo = uuids.columns()
        lacking = ~found.get(head, UuidSet()).contains(hi, lo)
        if surveyed.present.get(head, NOTHING).number != len(uuids) - np.count_nonzero(lacking):
            raise StorageUnreachableError(f"the listing shows names below {head!r} twice")
        heads[head] = UuidSet()
        heads[head].extend(hi[lacking], lo[lacking])
    return Missing(heads, expected.others - surveyed.others)


# --- what lies outside the storage root


@dataclass(frozen=True, slots=True)
class Wanted:
    """Base names outside the storage root, and outside every other storage of the cycle.

    Attributes:
        uuids: UUIDs that the names end in.
        names: Names that end in none.
    """

    uuids: UuidSet = field(default_factory=UuidSet)
    names: frozenset[str] = frozenset()


def wanted_of(files: Iterable[Mapping[Location, FileNames]]) -> Wanted:
    """Return the names in places that no storage of the cycle covers.

    Args:
        files: Names by folder; no storage of the cycle covers these folders.
    """
    uuids, others = UuidSet(), set[str]()
    for each in files:
        for names in each.values():
            uuids.extend(*names.uuids)
            others.update(name for name in names.others if uuid_of(name) is None)
    return Wanted(uuids, frozenset(others))


def missing_outside(
    job: JobEvidence,
    surveyed: Surveyed,
    storages: Sequence[Storage],
    unreached: Sequence[Location] = (),
    *,
    is_sampled: bool = False,
) -> list[str]:
    """Return files outside the storage root that the latest checkpoint names and nothing shows.

    All of them, or a sample for a job whose state is wholly elsewhere: it holds no file here.

    Another storage is checked for the places it covers. If none covers a place, the listing must
    show the base name: a tree that was moved, or an unstated alias. A place that cannot be
    reached proves nothing, neither way.
    """
    base, *extra = storages
    lacking: list[str] = []
    for folder, names in () if job.latest is None else job.latest.files.items():
        if any(place.contains(folder) for place in (base.location, *unreached)):
            continue
        covering = next((each for each in extra if each.location.contains(folder)), None)
        if covering is None:
            absent = list(not_listed(names, surveyed))
        else:
            absent = _not_stored(folder, names, covering, is_sampled=is_sampled)
        lacking += [str(folder.child(name)) for name in absent]
    return lacking


def is_listed(names: FileNames, surveyed: Surveyed) -> bool:
    """Return whether the listing shows a trace of every name."""
    return next(not_listed(names, surveyed), None) is None


def not_listed(names: FileNames, surveyed: Surveyed) -> Iterator[str]:
    """Yield the names of which the listing shows no trace."""
    for name in sorted(names.others):
        uuid = uuid_of(name)
        if not (name in surveyed.seen_names if uuid is None else uuid in surveyed.seen):
            yield name
    for before, hi, lo in names.heads():
        absent = ~surveyed.seen.contains(hi, lo)
        yield from (before + text for text in texts_of(hi[absent], lo[absent]))


def _not_stored(
    folder: Location, names: FileNames, storage: Storage, *, is_sampled: bool
) -> list[str]:
    key = storage.location.key_of(folder) or ""
    prefix = f"{key}/" if key else ""
    step = 1 + len(names) // SAMPLED if is_sampled else 1
    wanted = [ObjectKey(prefix + name) for name in sorted(names)[::step]]
    absent = set(wanted)
    if is_sampled or len(wanted) <= _FEW_NAMES:
        absent -= {each.key for each in storage.stat(wanted) if each is not None}
    else:
        for batch in storage.objects(key):
            absent.difference_update(batch.column("key").to_pylist())
    return [each.removeprefix(prefix) for each in wanted if each in absent]


ReadsCheckpoint = Callable[[str, StoredObject], Checkpoint | UnreadableCheckpoint | None]
"""Reads the ``_metadata`` that was listed in a folder; ``None`` if it no longer exists."""

_LASTING = timedelta(hours=24)
"""What was stored so long before an inventory was begun is in it: the rest may be or not, for an
inventory is no snapshot."""

_AT_ONCE = 1000
_TRIES = 3
"""Number of scans of a job directory whose checkpoints vanish before they are read."""


def confirmed(missing: Missing, storage: Storage, *, is_resumed: bool = False) -> Missing:
    """Return what is missing of what a listing lacks; ``RefusedError`` if it should show a file.

    Where the listing is wholly of this cycle, that is what it lacks.
    """
    earlier = storage.earlier
    if earlier is None and not is_resumed:
        return missing
    heads: dict[str, UuidSet] = {}
    for head, uuids in missing.heads.items():
        hi, lo = uuids.columns()
        lacking = _are_absent([head + text for text in texts_of(hi, lo)], storage, earlier)
        heads[head] = UuidSet()
        heads[head].extend(hi[lacking], lo[lacking])
    others = sorted(missing.others)
    are_absent = _are_absent(others, storage, earlier).tolist()
    absent = (key for key, is_absent in zip(others, are_absent, strict=True) if is_absent)
    return Missing(heads, frozenset(absent))


def check_standing(
    before: CheckpointScan, after: CheckpointScan, listed: Iterable[StoredObject]
) -> None:
    """Raise ``StorageUnreachableError`` unless a listing shows each ``_metadata`` that stood.

    What a listing lacks is evidence: that a job is still, that it has no layout without a proof.
    One by processes with other settings, or by a mount that lags, is of another storage.
    """
    shown = {each.key: each for each in listed}
    for folder, stored in before.metadata.items():
        standing, own = after.metadata.get(folder), shown.get(stored.key)
        if standing is None or not (stored.has_identity and standing.is_same_as(stored)):
            continue
        if own is None or not own.is_same_as(stored):
            raise StorageUnreachableError(
                f"the listing does not show {stored.key!r} as it was before and after it: what"
                " listed reaches another storage, or not all of it"
            )


def missing_of_lasting(
    missing: Missing,
    checkpoints: Iterable[Checkpoint],
    storage: Storage,
    *,
    passing: Collection[Location],
) -> list[str]:
    """Return the missing keys of checkpoints that last.

    Args:
        passing: Folders of the checkpoints that did not exist both before and after the listing.
    """
    base = storage.location
    lacking = [r for r in checkpoints if r.folder not in passing and missing.of([r], base)]
    keys = {checkpoint.folder: base.key_of(checkpoint.folder) for checkpoint in lacking}
    asked = [ObjectKey(f"{key}/{METADATA_NAME}") for key in keys.values() if key is not None]
    gone = {
        key.removesuffix(f"/{METADATA_NAME}")
        for key, stored in zip(asked, storage.stat(asked) if asked else (), strict=True)
        if stored is None
    }
    return missing.of(
        [checkpoint for checkpoint in lacking if keys[checkpoint.folder] not in gone], base
    )


def sample_of(
    checkpoint: Checkpoint, base: Location, closed: Collection[str] = ()
) -> list[ObjectKey]:
    """Return the keys of some files below the storage root that a checkpoint names.

    All, if they are few: an older listing may show what is gone by now.

    Args:
        closed: Keys of folders in which nothing can be asked for.
    """
    wanted = expected_of([checkpoint], base).outside(closed)
    step = 1 + sum(map(len, wanted.heads.values())) // SAMPLED
    keys = sorted(wanted.others)[:SAMPLED]
    for head, uuids in wanted.heads.items():
        hi, lo = uuids.columns()
        keys += [head + text for text in texts_of(hi[::step], lo[::step])]
    return [ObjectKey(key) for key in keys]


def lacked_by_newest(
    lacking: Sequence[str],
    job: JobEvidence,
    storage: Storage,
    read: ReadsCheckpoint,
    *,
    began: datetime,
) -> list[str]:
    """Return what is really missing, if no checkpoint existed before and after the listing.

    A file that ``latest`` names and the listing lacks may be younger than the listing, or Flink
    has deleted it since, with the checkpoint. It is missing if the storage lacks it, and the
    newest checkpoint, read after that, names it: no checkpoint completes with a file that
    Flink has deleted. And if the storage has it, and has had it since before the listing, then
    the listing is not whole.

    Args:
        lacking: Keys of the storage root that ``latest`` names and the listing lacks.
        read: Reads the ``_metadata`` of a folder; ``None`` if it no longer exists.
        began: Start of the cycle, by the store's clock, less its slack.
    """
    stored = [*present_of(lacking, storage)]
    absent = {key for key, each in zip(lacking, stored, strict=True) if each is None}
    unlisted = [
        each.key
        for each in stored
        if each is not None and (each.modified_at is None or each.modified_at < began)
    ]
    named = absent and _keys_of(_newest_checkpoint(job, storage, read), storage.location, absent)
    return sorted({*unlisted, *named})


def _keys_of(newest: Checkpoint | None, base: Location, absent: Collection[str]) -> set[str]:
    if newest is None:
        return set(absent)
    wanted = {key.rpartition("/")[0] for key in absent}
    places = {base.key_of(folder): names for folder, names in newest.files.items()}
    return {
        key
        for folder in wanted & places.keys()
        for key in absent
        if key.rpartition("/")[0] == folder and key.rpartition("/")[2] in places[folder]
    }


def _newest_checkpoint(
    job: JobEvidence, storage: Storage, read: ReadsCheckpoint
) -> Checkpoint | None:
    """Return a job's newest checkpoint as it is now, ``None`` if none can be read.

    A checkpoint that the listings showed and the present run does not know is a leftover of an
    earlier run, whatever its id: it proves nothing of what the present run needs.
    """
    base, leftovers = storage.location, job.leftover_ids
    folders = [key for each in job.directories if (key := base.key_of(each)) is not None]
    for _ in range(_TRIES):
        chosen = [
            (place.checkpoint_id, f"{folder}/{name}".lstrip("/"))
            for folder in folders
            for name in storage.folder(folder).folders
            if (place := place_of_folder(f"{folder}/{name}".lstrip("/"), base.name)).checkpoint_id
            is not None
            and place.checkpoint_id not in leftovers
        ]
        for _, folder in sorted(chosen, reverse=True):
            listed = storage.stat([ObjectKey(f"{folder}/{METADATA_NAME}")])[0]
            found = None if listed is None else read(folder, listed)
            if isinstance(found, UnreadableCheckpoint):
                return None
            if found is not None:
                return found
    return None


def _are_absent(
    keys: Sequence[str], storage: Storage, earlier: EarlierListing | None
) -> npt.NDArray[np.bool_]:
    absent: list[bool] = []
    for stored in present_of(keys, storage):
        absent.append(stored is None)
        if earlier is not None and stored is not None:
            _check_age(stored, earlier)
    return np.array(absent, np.bool_)


def present_of(keys: Sequence[str], storage: Storage) -> Iterator[StoredObject | None]:
    """Yield what is stored under each key, ``None`` for nothing; no storage has some names.

    Requests are made some keys at a time, as far as the values are taken.
    """
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        possible = [ObjectKey(key) for key in some if is_possible_key(key)]
        found = dict(zip(possible, storage.stat(possible) if possible else (), strict=True))
        yield from (found.get(ObjectKey(key)) for key in some)


def _check_age(stored: StoredObject, earlier: EarlierListing) -> None:
    if stored.modified_at is not None and stored.modified_at < earlier.begun_at - _LASTING:
        raise RefusedError(
            f"{earlier.source} does not show {stored.key}, which is older: it covers only"
            " a part of the storage root; nothing was planned"
        )
