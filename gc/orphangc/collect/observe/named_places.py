"""Places that checkpoints, clusters, registry snapshots and HA stores name, to search around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flinkstate.places.locations import Location, canonical
from orphangc.collect.observe.reported import folder_named, namings
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts, configured_folders, restored_paths
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.outside_naming import home_of
from orphangc.core.world.storages import place_around

Named = tuple[Location, str]
"""A place, and what names it."""


def places_of_files(
    checkpoints: Iterable[Checkpoint], settings: StorageRootSettings
) -> Iterator[Named]:
    """Yield the places of the files that checkpoints name, unless they are stated to be empty."""
    for checkpoint in checkpoints:
        for folder in checkpoint.files:
            if not settings.is_empty(home_of(folder)):
                yield place_around(folder), str(checkpoint.folder)


def places_in_answers(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    ha: Iterable[HaFacts],
) -> Iterator[Named]:
    """Yield the places that answers and pins name, unless they are stated to be empty."""
    clusters, ha = tuple(clusters), tuple(ha)
    for by, uri in sorted(namings(clusters, snapshots, settings, ha=ha)):
        folder = canonical(uri)
        if not settings.is_empty(home_of(folder)):
            yield place_around(folder), by
    configured = [(path, each.uri) for each in clusters for path in configured_folders(each)]
    configured += [(each.path, each.by) for facts in ha for each in facts.folders]
    named = [(folder_named(path, settings), by) for path, by in configured]
    named += [
        (place_around(folder_named(path, settings)), each.uri)
        for each in clusters
        for path in restored_paths(each)
    ]
    found = [(place, f"the configuration of {by}") for place, by in sorted(named, key=str)]
    found += [(canonical(pin, settings.aliases), "a pin") for pin in settings.pin]
    yield from ((place, by) for place, by in found if not settings.is_empty(place))
