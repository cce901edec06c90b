"""What the scans of a cycle showed in each job directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flinkstate.places.locations import Location
from orphangc.collect.observe.checkpoints import CheckpointScan
from orphangc.collect.observe.observation import Observation
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import Scope

_NO_IDS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedDirectory:
    """What the scans showed in one directory, or in several of one job together.

    Attributes:
        job_id: Job id in its name, "" if it holds none; ``None`` if it is no job directory.
        at_start: Ids of S0, those of ``chk-<n>`` with a ``_metadata``.
        before: Ids of S1.
        after: Ids of S2.
        passed: Ids that one scan showed without ``_metadata``, and the next not; a later one that
            the next scan shows with ``_metadata`` took their place.
        areas: Areas that any scan showed.
    """

    job_id: str | None = None
    at_start: frozenset[int] = _NO_IDS
    before: frozenset[int] = _NO_IDS
    after: frozenset[int] = _NO_IDS
    passed: frozenset[int] = _NO_IDS
    areas: frozenset[Scope] = frozenset()

    @property
    def has_checkpoints(self) -> bool:
        """Return whether any scan showed a checkpoint in it."""
        return bool(self.at_start or self.before or self.after)


def scanned_directories(
    observation: Observation, bases: Sequence[Location]
) -> dict[Location, ScannedDirectory]:
    """Return what the scans showed of each directory; one seen from two bases counts once."""
    found: dict[Location, ScannedDirectory] = {}
    every = zip(bases, observation.at_start, observation.first, observation.second, strict=True)
    for base, start, first, second in every:
        scans = (start, first.scan, second.scan)
        names = {name for scan in scans for name in (*scan.directories, *scan.ids, *scan.shown)}
        for name in sorted(names):
            place, own = base.child(name), _scanned(name, scans, base)
            found[place] = together([found[place], own] if place in found else [own])
    return found


def together(directories: Iterable[ScannedDirectory]) -> ScannedDirectory:
    """Return what the scans showed in several directories."""
    every = [*directories]
    return ScannedDirectory(
        job_id=next((each.job_id for each in every if each.job_id is not None), None),
        at_start=_NO_IDS.union(*(each.at_start for each in every)),
        before=_NO_IDS.union(*(each.before for each in every)),
        after=_NO_IDS.union(*(each.after for each in every)),
        passed=_NO_IDS.union(*(each.passed for each in every)),
        areas=frozenset[Scope]().union(*(each.areas for each in every)),
    )


def _scanned(name: str, scans: Sequence[CheckpointScan], base: Location) -> ScannedDirectory:
    start, before, after = (scan.ids.get(name, _NO_IDS) for scan in scans)
    is_job_directory = any(name in scan.directories for scan in scans)
    inside = place_of_folder(f"{name}/shared".lstrip("/"), base.name)
    return ScannedDirectory(
        job_id=inside.job_id if is_job_directory else None,
        at_start=start,
        before=before,
        after=after,
        passed=_NO_IDS.union(*(_passed(name, *each) for each in pairwise(scans))),
        areas=frozenset(area for scan in scans for area in scan.areas.get(name, ())),
    )


def _passed(name: str, earlier: CheckpointScan, later: CheckpointScan) -> frozenset[int]:
    own, newer = earlier.ids.get(name, _NO_IDS), later.ids.get(name, _NO_IDS)
    gone = earlier.shown.get(name, _NO_IDS) - own - later.shown.get(name, _NO_IDS)
    return frozenset(each for each in gone if each > max(newer, default=-1))
