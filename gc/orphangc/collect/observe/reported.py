"""What clusters, registries and HA stores name: checkpoint folders (R4), and places to search."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flinkstate.places.checkpoint_names import METADATA_NAME, is_savepoint_folder
from flinkstate.places.locations import (
    UNREADABLE,
    Location,
    canonical,
    named_place,
    unreadable_place,
)
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import (
    ClusterFacts,
    configured_folders,
    external_paths,
    restored_paths,
)
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


def reported_places(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    *,
    ha: Iterable[HaFacts] = (),
) -> tuple[list[Location], list[UnreadableCheckpoint]]:
    """Return every reported or pinned checkpoint folder (R4), and reports that name no place.

    Nothing comes of a text of which the operator states that it names no checkpoint.
    """
    paths = {path for each in clusters for path in external_paths(each)}
    for snapshot in snapshots:
        paths.update(snapshot.checkpoint_paths)
    paths.update(settings.pin)
    found = {(named_place(path, settings.aliases), path, "") for path in paths}
    for named in {each for facts in ha for each in facts.places}:
        place = checkpoint_named(named.path, settings)
        found.add((place, named.path, f" (named by {named.by})"))
    unusable = [
        UnreadableCheckpoint(uri=path, reason=f"{why_unread(place)}{by}", sha256="")
        for place, path, by in sorted(found, key=str)
        if place.scheme == UNREADABLE and not settings.is_empty(place)
    ]
    return sorted({p for p, *_ in found if p.scheme != UNREADABLE}, key=str), unusable


def namings(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    *,
    ha: Iterable[HaFacts] = (),
) -> frozenset[Naming]:
    """Return what names a checkpoint folder, with the URI that it names.

    A job that is over may name for long what a new job is restored from. Pins are left out: they
    do not change.
    """
    settings, clusters = settings.model_copy(update={"pin": ()}), tuple(clusters)
    jobs = (
        (f"{cluster.uri} {job_id}", replace(cluster, jobs={job_id: facts}))
        for cluster in clusters
        for job_id, facts in cluster.jobs.items()
    )
    parts = (
        *((by, ([place], [])) for place, by in named_by_configurations(clusters, settings)),
        *((by, reported_places([each], (), settings)) for by, each in jobs),
        *((each.job_id, reported_places((), [each], settings)) for each in snapshots),
        *(
            (f"{facts.uri} {named.by}", reported_places((), (), settings, ha=[only]))
            for facts in ha
            for named in facts.places
            for only in (replace(facts, places=(named,)),)
        ),
    )
    return frozenset((by, str(place)) for by, (places, _) in parts for place in places)


def checkpoint_named(path: str, settings: StorageRootSettings) -> Location:
    """Return the checkpoint folder that a resource names: people may name its metadata file too."""
    place = folder_named(path, settings)
    return place.parent if place.name == METADATA_NAME else place


def named_as_a_whole(
    clusters: Iterable[ClusterFacts], ha: Iterable[HaFacts], settings: StorageRootSettings
) -> Iterator[Named]:
    """Yield the checkpoints that resources and configurations name, and which one does (R43)."""
    yield from named_by_resources(ha, settings)
    yield from named_by_configurations(clusters, settings)


def named_by_resources(ha: Iterable[HaFacts], settings: StorageRootSettings) -> Iterator[Named]:
    """Yield the checkpoints that resources name; a name that is no place refuses elsewhere."""
    for facts in ha:
        for named in facts.places:
            yield checkpoint_named(named.path, settings), named.by


def named_by_configurations(
    clusters: Iterable[ClusterFacts], settings: StorageRootSettings
) -> Iterator[Named]:
    """Yield what the configurations of clusters restore a job from: a new JobManager reads it."""
    for each in clusters:
        for path in restored_paths(each):
            yield checkpoint_named(path, settings), f"the configuration of {each.uri}"


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


def places_in_answers(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    ha: Iterable[HaFacts],
) -> Iterator[Named]:
    """Yield the places that answers, pins and discovered options name."""
    clusters, ha = tuple(clusters), tuple(ha)
    for by, uri in sorted(namings(clusters, snapshots, settings, ha=ha)):
        yield place_around(canonical(uri)), by
    configured = [(path, each.uri) for each in clusters for path in configured_folders(each)]
    configured += [(each.path, each.by) for facts in ha for each in facts.folders]
    named = [(folder_named(path, settings), by) for path, by in configured]
    found = [(place, f"the configuration of {by}") for place, by in sorted(named, key=str)]
    found += [(canonical(pin, settings.aliases), A_PIN) for pin in settings.pin]
    yield from found
    yield from ((canonical(each), "Flink's options") for each in settings.without_checkpoints)


def homes_in_answers(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    ha: Iterable[HaFacts],
) -> Iterator[Named]:
    """Yield the places that answers name in which jobs keep, or kept, their checkpoints.

    A place of savepoints may hold none yet, and none of them needs files of a job.
    """
    clusters, ha = tuple(clusters), tuple(ha)
    for by, uri in sorted(namings(clusters, snapshots, settings, ha=ha)):
        if not is_savepoint_folder((checkpoint := canonical(uri)).name):
            yield place_around(checkpoint), by
    options = [(o, path, c.uri) for c in clusters for o, path in named_folders(c.options.items())]
    options += [(each.option, each.path, each.by) for facts in ha for each in facts.folders]
    for option, path, by in options:
        if option in CHECKPOINT_OPTIONS:
            yield folder_named(path, settings), f"the configuration of {by}"
