"""From what was seen to what is live: the live set, and the evidence of each job."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from flinkstate.places.locations import Location, StoreKind, canonical
from orphangc.collect.mark.evidence_of_jobs import evidence_of_jobs
from orphangc.collect.mark.pins import keys_at
from orphangc.collect.observe.observation import Observation
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, CycleEvidence, JobEvidence
from orphangc.core.exporter.registry_snapshot import EntryKind, resolve
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import Owners, uuid_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Mode
from orphangc.core.world.known_world import Naming, Searched
from orphangc.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Mark:
    """Live set of a cycle, with the jobs and their checkpoints.

    Attributes:
        live: UUIDs in use, those at or below pinned places among them.
        pinned: Keys of these places, "" for the whole storage root.
        jobs: Evidence of each job, by key; surveys are still empty.
    """

    live: LiveSet
    checkpoints: tuple[Checkpoint, ...]
    jobs: dict[str, JobEvidence]
    owners: Owners
    pinned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedCycle:
    """What a cycle saw, and what is live by it.

    Attributes:
        namings: Names of files outside all of these, or that a listing must show.
    """

    seen: Observation
    mark: Mark
    searched: Sequence[Searched]
    namings: Sequence[Naming]


def mark(
    observation: Observation,
    bases: Sequence[Location],
    siblings: Sequence[Location] = (),
    *,
    pinned: UuidSet | None = None,
) -> Mark:
    """Return what the observation shows to be live, job by job.

    Args:
        siblings: Bases that are other storage roots: ``--ended-job all`` means no job that is
            only in these.
        pinned: UUIDs of what the listing shows at or below pinned places (R4).
    """
    named = chain(observation.settings.pins, (place for _, place in _entries(observation)))
    live = _live_set(observation, named, UuidSet() if pinned is None else pinned)
    jobs, owners = evidence_of_jobs(observation, bases, siblings)
    return Mark(
        live=live,
        checkpoints=observation.checkpoints,
        jobs=jobs,
        owners=owners,
        pinned=tuple(key for each in pinned_places(observation) for key in keys_at(each, bases[0])),
    )


def pinned_places(observation: Observation) -> list[Location]:
    """Return the places below which everything is in use (R4); ``RefusedError`` if one is none."""
    entries = _entries(observation)
    return [
        *observation.settings.pins,
        *(place for kind, place in entries if kind is EntryKind.DIRECTORY),
    ]


def _entries(observation: Observation) -> Iterator[tuple[EntryKind, Location]]:
    """Yield kind and place of each registry entry, of flat artifacts only one of each folder."""
    for snapshot in observation.answers.snapshots:
        for kind, path in snapshot.entries.paths():
            try:
                yield (
                    kind,
                    canonical(resolve(path, snapshot.checkpoint_dir), observation.settings.aliases),
                )
            except ValueError as err:
                where = f"registry snapshot {snapshot.sequence} of job {snapshot.job_id}"
                raise RefusedError(
                    f"{where}: {err}; nothing was planned", guard=Guard.REGISTRY
                ) from err


def _live_set(observation: Observation, named: Iterable[Location], pinned: UuidSet) -> LiveSet:
    """Return the union of both oracles over checkpoints, registry entries and pins (R5, R7)."""
    live = LiveSet()
    for checkpoint in observation.checkpoints:
        for names in checkpoint.files.values():
            live.parsed.adopt(*names.uuids)
    for snapshot in observation.answers.snapshots:
        for _, names in snapshot.entries.folders():
            live.parsed.adopt(names.hi, names.lo)
    live.parsed.extend(*pinned.columns())
    live.parsed.update(uuid for place in named if (uuid := uuid_of(place.name)) is not None)
    for broken in observation.unreadable:
        live.parsed.extend(*broken.raw.columns())
    for checkpoint in observation.checkpoints:
        live.extend_raw(*checkpoint.raw.columns())
    return live


def proving_command(settings: StorageRootSettings) -> str:
    """Return the command that proves the storage of a storage root (R27)."""
    words = ("orphangc", "doctor", "--prove", settings.root, "--state", settings.state or "STATE")
    return shlex.join(map(str, words))


def cycle_evidence(
    observation: Observation, *, is_tested_storage: bool, halted: str | None
) -> CycleEvidence:
    """Return what concerns all jobs."""
    settings = observation.settings
    time, after = observation.time, observation.time_after
    return CycleEvidence(
        now=time.now or time.local,
        is_store_time=time.now is not None,
        skew_seconds=0.0 if time.skew is None else time.skew.total_seconds(),
        margins=settings.margins,
        is_closed_world=settings.closed_world,
        is_tested_storage=is_tested_storage,
        prove_with=proving_command(settings),
        unreadable=observation.unreadable,
        source_errors=tuple(observation.answers.errors.values()),
        halted=halted,
        accepted_versions=frozenset(settings.accept_flink_version),
        is_registry_mode=bool(observation.exported)
        or any(each.source is Mode.REGISTRY for each in observation.answers.snapshots),
        is_file_system=settings.location.kind is StoreKind.FILE_SYSTEM,
        has_write_ahead_sink=bool(observation.unreadable)
        or any(each.has_write_ahead_sink for each in observation.checkpoints),
        observed_until=after.local if time.now is None else after.now,
        unclear=settings.unclear,
    )
