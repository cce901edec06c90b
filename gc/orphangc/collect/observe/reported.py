"""What clusters, registries and HA stores name: checkpoint folders (R4), and places to search."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from flinkstate.places.checkpoint_names import METADATA_NAME, is_savepoint_folder
from flinkstate.places.locations import (
    UNREADABLE,
    Location,
    canonical,
    named_place,
    unreadable_place,
)
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts, external_paths, restored_paths
from orphangc.core.cluster.place_options import CHECKPOINT_OPTIONS, named_folders
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.known_world import place_around

Naming = tuple[str, str]
"""What names a checkpoint folder: a job of a cluster, a snapshot, a resource; and the folder."""

Named = tuple[Location, str]
"""A place, and what names it."""

A_PIN = "a pin"


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What clusters, registries and HA stores said, as some settings read it.

    Attributes:
        errors: Why a cluster, namespace or ZooKeeper gave no usable answer, by its URI.
    """

    settings: StorageRootSettings
    clusters: tuple[ClusterFacts, ...] = ()
    snapshots: tuple[RegistrySnapshot, ...] = ()
    ha: tuple[HaFacts, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)

    def reported(self) -> tuple[list[Location], list[UnreadableCheckpoint]]:
        """Return every reported or pinned checkpoint folder (R4), and reports that name no place.

        Nothing comes of a text of which the operator states that it names no checkpoint.
        """
        settings = self.settings
        paths = {path for each in self.clusters for path in external_paths(each)}
        paths.update(settings.pin, *(each.checkpoint_paths for each in self.snapshots))
        found = {(named_place(path, settings.aliases), path, "") for path in paths}
        for named in {each for facts in self.ha for each in facts.places}:
            place = checkpoint_named(named.path, settings)
            found.add((place, named.path, f" (named by {named.by})"))
        unusable = [
            UnreadableCheckpoint(uri=path, reason=f"{why_unread(place)}{by}", sha256="")
            for place, path, by in sorted(found, key=str)
            if place.scheme == UNREADABLE and not settings.is_empty(place)
        ]
        return sorted({p for p, *_ in found if p.scheme != UNREADABLE}, key=str), unusable

    @cached_property
    def namings(self) -> frozenset[Naming]:
        """Return what names a checkpoint folder, with the URI that it names.

        A job that is over may name for long what a new job is restored from. Pins are left out:
        they do not change.
        """
        found = ((by, place) for by, each in self._parts() for place in each.reported()[0])
        configured = ((by, place) for place, by in self.named_by_configurations())
        return frozenset((by, str(place)) for by, place in (*found, *configured))

    def _parts(self) -> Iterator[tuple[str, Answers]]:
        """Yield what each job, snapshot and resource says alone, behind its name."""
        one = Answers(settings=self.settings.model_copy(update={"pin": ()}))
        for cluster in self.clusters:
            for job_id, facts in cluster.jobs.items():
                alone = replace(cluster, jobs={job_id: facts})
                yield f"{cluster.uri} {job_id}", replace(one, clusters=(alone,))
        for snapshot in self.snapshots:
            yield snapshot.job_id, replace(one, snapshots=(snapshot,))
        for held in self.ha:
            for named in held.places:
                yield f"{held.uri} {named.by}", replace(one, ha=(replace(held, places=(named,)),))

    def named_by_resources(self) -> Iterator[Named]:
        """Yield what resources name (R43); a name that is no place refuses elsewhere."""
        for facts in self.ha:
            for named in facts.places:
                yield checkpoint_named(named.path, self.settings), named.by

    def named_by_configurations(self) -> Iterator[Named]:
        """Yield what configurations of clusters restore a job from: a new JobManager reads it."""
        for each in self.clusters:
            for path in restored_paths(each):
                yield checkpoint_named(path, self.settings), f"the configuration of {each.uri}"

    def places(self) -> Iterator[Named]:
        """Yield the places that answers, pins and discovered options name."""
        for by, uri in sorted(self.namings):
            yield place_around(canonical(uri)), by
        yield from sorted({folder for _, folder in self._folders()}, key=str)
        yield from ((canonical(pin, self.settings.aliases), A_PIN) for pin in self.settings.pin)
        for each in self.settings.without_checkpoints:
            yield canonical(each), "Flink's options"

    def homes(self) -> Iterator[Named]:
        """Yield the places that answers name in which jobs keep, or kept, their checkpoints.

        A place of savepoints may hold none yet, and none of them needs files of a job.
        """
        for by, uri in sorted(self.namings):
            if not is_savepoint_folder((checkpoint := canonical(uri)).name):
                yield place_around(checkpoint), by
        yield from (home for option, home in self._folders() if option in CHECKPOINT_OPTIONS)

    def _folders(self) -> Iterator[tuple[str, Named]]:
        """Yield each option that names a folder for state of Flink's, and that folder."""
        found = [(each, e.uri) for e in self.clusters for each in named_folders(e.options.items())]
        found += [((e.option, e.path), e.by) for facts in self.ha for e in facts.folders]
        for (option, path), by in found:
            yield option, (folder_named(path, self.settings), f"the configuration of {by}")


def checkpoint_named(path: str, settings: StorageRootSettings) -> Location:
    """Return the checkpoint folder that a resource names: people may name its metadata file too."""
    place = folder_named(path, settings)
    return place.parent if place.name == METADATA_NAME else place


def folder_named(path: str, settings: StorageRootSettings) -> Location:
    """Return the folder that a configuration or a resource names.

    A path without a file system is one of Flink's default one, which a resource does not show: it
    cannot be read unless the storage root is local too.
    """
    place = named_place(path.strip(), settings.aliases)
    if place.scheme == "file" and ":" not in path and settings.location.scheme != "file":
        return named_place(str(unreadable_place(path)), settings.aliases)
    return place


def why_unread(place: Location) -> str:
    """Return why a place of the scheme ``UNREADABLE`` is searched by nothing, and what lifts it."""
    uri = str(place)
    return (
        f"no place can be read in the text {place.path[1:]!r}, a relative path or one without its"
        f" file system: say with {_option('--alias', f'{uri}=PLACE')} what it means, or state with"
        f" {_option('--empty-root', uri)} that no checkpoint is there"
    )


def _option(name: str, value: str) -> str:
    return shlex.join([name, value])


def places_of_files(checkpoints: Iterable[Checkpoint]) -> Iterator[Named]:
    """Yield the places of the files that checkpoints name."""
    for checkpoint in checkpoints:
        yield from ((place_around(folder), str(checkpoint.folder)) for folder in checkpoint.files)
