"""Job directories that contain each job's state (R12)."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from flinkstate.places.locations import Location, place_of, places_of
from orphangc.collect.mark.evidence_of_jobs import owner_of
from orphangc.collect.mark.mark import Mark
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.columns.sorted_uuids import Words, finder
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.exporter.registry_snapshot import resolve
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.times.instants import shifted

_MOST_AT_ONCE = 1 << 20
"""UUIDs that are sorted together: 32 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDependencies:
    """Places of one job's state.

    Attributes:
        jobs: Keys of the other jobs whose directories contain it.
        is_origin_unread: Whether the job was restored from something that is no checkpoint here.
    """

    jobs: frozenset[str]
    is_origin_unread: bool

    @property
    def may_be_here(self) -> bool:
        """Return whether another job's directory may contain it: what stops this job stops that."""
        return bool(self.jobs) or self.is_origin_unread


def dependencies_of(
    marked: Mark, settings: StorageRootSettings, held: Mapping[str, UuidSet]
) -> dict[str, JobDependencies]:
    """Return the keys of the jobs whose directories contain the state of each job, by key (R12).

    By path, and by the UUIDs that the listing shows: a link, an unstated alias, or a
    copied checkpoint spell the same file otherwise. What a job was restored from counts as its
    own: its first checkpoints refer to the same files. So do the entries of its exported registry:
    a pending checkpoint may need a file that no checkpoint names. A job whose registry cannot be
    read, or is not there yet, may need any.

    Args:
        held: UUIDs of the live artifacts that the listing shows in its ``shared/``, by job key.
    """
    by_folder = {checkpoint.folder: checkpoint for checkpoint in marked.checkpoints}
    states = {key: _State.of(job, settings, by_folder) for key, job in marked.jobs.items()}
    holders = _holders(states, held)
    return {
        key: JobDependencies(
            jobs=_depends_on(job, marked, holders[key], states[key]),
            is_origin_unread=states[key].is_origin_unread,
        )
        for key, job in marked.jobs.items()
    }


@dataclass(frozen=True, slots=True)
class _State:
    """Places of one job's state, by path and by UUID."""

    folders: set[Location]
    uuids: list[tuple[Words, Words]]
    is_origin_unread: bool

    @classmethod
    def of(
        cls,
        job: JobEvidence,
        settings: StorageRootSettings,
        by_folder: Mapping[Location, Checkpoint],
    ) -> Self:
        origins = _origins(job, settings)
        places = {each for each in origins if each is not None}
        checkpoints = [by_folder[each] for each in places if each in by_folder]
        files = [checkpoint.files for checkpoint in (*job.own_checkpoints, *checkpoints)]
        registered, uuids = _registered(job, settings)
        return cls(
            folders=places | registered | {folder for each in files for folder in each},
            uuids=[names.uuids for each in files for names in each.values()] + uuids,
            is_origin_unread=not by_folder.keys() >= origins
            or any(_is_replaced(each, settings, by_folder) for each in job.facts),
        )


def _depends_on(
    job: JobEvidence, marked: Mark, holders: Collection[str], state: _State
) -> frozenset[str]:
    exported = job.exported
    if exported is not None and (exported.unread is not None or not exported.snapshots):
        return frozenset(marked.jobs.keys() - {job.key})
    owners = marked.owners.keys
    fed = {owner for folder in state.folders if (owner := owner_of(folder, owners)) is not None}
    return frozenset(fed.union(holders) - {job.key})


def _holders(
    states: Mapping[str, _State], held: Mapping[str, UuidSet]
) -> Mapping[str, Collection[str]]:
    """Return the jobs whose ``shared/`` holds files of each job's state, by the job's key.

    Several of them are searched at once, as far as their UUIDs are not too many to sort aside; one
    that has as many is asked itself.
    """
    found: dict[str, set[str]] = {key: set() for key in states}
    for keys in _some_at_once(held if states else {}):
        find = _finder({key: held[key] for key in keys})
        for state, holders in zip(states.values(), found.values(), strict=True):
            for hi, lo in state.uuids:
                holders.update(find(hi, lo))
    return found


def _finder(held: Mapping[str, UuidSet]) -> Callable[[Words, Words], set[str]]:
    """Return what finds the keys of the sets that have any of some UUIDs."""
    if len(held) == 1:
        return lambda hi, lo: {key for key in held if held[key].contains(hi, lo).any()}
    return finder((key, *uuids.columns()) for key, uuids in held.items())


def _some_at_once(held: Mapping[str, UuidSet]) -> Iterator[list[str]]:
    some: list[str] = []
    count = 0
    for key, uuids in held.items():
        if some and count + len(uuids) > _MOST_AT_ONCE:
            yield some
            some, count = [], 0
        some.append(key)
        count += len(uuids)
    if some:
        yield some


def _is_replaced(
    facts: JobFacts, settings: StorageRootSettings, by_folder: Mapping[Location, Checkpoint]
) -> bool:
    """Return whether what is now where a job was restored from was stored after that.

    Ids begin at 1 again where a job is started without state, so the same folder comes back.
    """
    if facts.restored is None or facts.restored.restored_at is None:
        return False
    place = place_of(facts.restored.external_path, settings.aliases)
    found = None if place is None else by_folder.get(place)
    stored_at = None if found is None else found.modified_at
    latest = shifted(facts.restored.restored_at, 2 * settings.clock_skew)
    return stored_at is not None and stored_at > latest


def _origins(job: JobEvidence, settings: StorageRootSettings) -> set[Location | None]:
    paths = {facts.restored.external_path for facts in job.facts if facts.restored is not None}
    paths |= {each.path for snapshot in job.snapshots for each in snapshot.restored}
    return {place_of(path, settings.aliases) for path in paths}


def _registered(
    job: JobEvidence, settings: StorageRootSettings
) -> tuple[set[Location], list[tuple[Words, Words]]]:
    snapshots = () if job.exported is None else job.exported.snapshots
    folders = {
        resolve(path, one.checkpoint_dir).rpartition("/")[0]
        for one in snapshots
        for _, path in one.entries.paths()
    }
    uuids = [names.uuids for one in snapshots for _, names in one.entries.folders()]
    return set(places_of(folders, settings.aliases)), uuids
