"""Names in checkpoints that nothing stored answers (R8): found by fingerprints, then by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flinkstate.places.locations import Location
from orphangc.collect.mark.survey import Surveyed, rows_by_kind
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.fingerprint import NOTHING, Fingerprint
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import texts_of
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.model.naming import uuid_of
from orphangc.core.model.types import ObjectKey
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Progress, Storage
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
