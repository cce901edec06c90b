"""What storage roots and the storages around them hold, for a question about a single snapshot.

No cycle is needed for it: no file is judged, and what may be missed is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter

from flinkstate.places.locations import Location
from orphangc.collect.observe.checkpoints import CheckpointReader, CheckpointsRead
from orphangc.collect.observe.reported import Answers
from orphangc.collect.observe.storage_search import FoundInStorage, StorageSearch
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.groups import grouped
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker, markers_in
from orphangc.core.model.naming import job_id_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Scope
from orphangc.ports import ClusterClient, HaMetadata, Progress, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is asked.

    Attributes:
        search: Searches the storages around all that is named, without a storage root of its own.
    """

    bases: Sequence[Storage]
    clusters: Sequence[ClusterClient]
    holders: Sequence[HaMetadata]
    search: StorageSearch
    reader: CheckpointReader


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWorld:
    """What the storage roots and the storages around them hold, and what Flink says of it.

    Attributes:
        absent: Places of checkpoints that answers name, and that are not there.
    """

    bases: Sequence[Location]
    parts: Sequence[CheckpointsRead]
    storages: Sequence[FoundInStorage]
    absent: Sequence[FoundInStorage]
    before: Sequence[ClusterFacts]
    after: Sequence[ClusterFacts]
    answers: Answers

    @property
    def _read(self) -> tuple[CheckpointsRead | FoundInStorage, ...]:
        return (*self.parts, *self.storages)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Return every checkpoint, once."""
        read = (each for part in self._read for each in part.checkpoints)
        unique = {(each.folder, each.sha256): each for each in read}
        return [*unique.values()]

    @property
    def changed_at(self) -> dict[str, datetime]:
        """Return the newest store time of what was listed in the directories of each job id."""
        times = [
            (each.job_id, each.modified_at)
            for each in self.checkpoints
            if each.directory is not None and each.modified_at is not None
        ]
        times += [(job_id_of(e), at) for s in self.storages for e, at in s.changed_at.items()]
        for base, part in zip(self.bases, self.parts, strict=True):
            times += [(job_id_of(base.child(e)), at) for e, at in part.scan.changed_at.items()]
        return dict(sorted(times, key=itemgetter(1)))

    @property
    def directories(self) -> dict[str, list[Location]]:
        """Return the job directories by their owner's id, "" where it is unknown."""
        seen = {place for each in self.storages for place in each.directories}
        for base, part in zip(self.bases, self.parts, strict=True):
            seen.update(map(base.child, part.scan.directories))
        return grouped(sorted(seen, key=str), job_id_of)

    @property
    def areas(self) -> dict[Location, set[Scope]]:
        """Return the areas with a folder, by job directory below the storage roots."""
        parts = zip(self.bases, self.parts, strict=True)
        return {base.child(e): own for base, p in parts for e, own in p.scan.areas.items()}

    @property
    def unreadable(self) -> list[UnreadableCheckpoint]:
        """Return what cannot be read, a storage that cannot be searched among it."""
        found = [each for part in self._read for each in part.unreadable]
        found += [
            UnreadableCheckpoint(uri=str(each.location), reason=each.problem, sha256="")
            for each in self.storages
            if each.problem is not None
        ]
        found += [
            UnreadableCheckpoint(uri=str(each.folder), reason=each.doubt, sha256="")
            for each in self._expiries()
            if each.state
        ]
        return found

    def _expiries(self) -> tuple[ExpiryMarker, ...]:
        parts = zip(self.bases, self.parts, strict=True)
        left = [(base, read.scan.expiries) for base, read in parts]
        return markers_in([*left, *((each.location, each.markers) for each in self.storages)])


def read_world(
    sources: Sources, settings: StorageRootSettings, progress: Progress
) -> SnapshotWorld:
    """Return all of it: what is searched, and what the statement of a closed world covers.

    Raises:
        StorageUnreachableError: A storage root cannot be listed.
        RegistryUnavailableError: A cluster, namespace or ZooKeeper gave no usable answer.
    """
    reader = sources.reader
    search = replace(sources.search, reader=reader, progress=progress)
    before, held_before = _asked(sources)
    named = [*Answers(settings=settings, clusters=before, ha=held_before).places()]
    listings = search.listings(named)
    parts = [reader.collect(base) for base in sources.bases]
    after, held_after = _asked(sources)
    answers = Answers(settings=settings, clusters=(*before, *after), ha=(*held_before, *held_after))
    bases = [each.location for each in sources.bases]
    storages = search.contents(
        listings,
        answers.places(),
        read=[each for part in parts for each in part.checkpoints],
        links=(),
        seen={
            base.child(folder): stored
            for base, part in zip(bases, parts, strict=True)
            for folder, stored in part.scan.metadata.items()
        },
    )
    return SnapshotWorld(
        bases=bases,
        parts=parts,
        storages=storages,
        absent=search.absent(answers.homes(), storages, zip(bases, parts, strict=True)),
        before=before,
        after=after,
        answers=answers,
    )


def _asked(sources: Sources) -> tuple[tuple[ClusterFacts, ...], tuple[HaFacts, ...]]:
    clusters, held = sources.clusters, sources.holders
    return tuple(each.observe() for each in clusters), tuple(each.observe() for each in held)
