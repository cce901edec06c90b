"""Places that checkpoints, clusters, registry snapshots and HA stores name, to search around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flinkstate.places.locations import Location, canonical, place_of
from orphangc.collect.observe.reported import namings
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.cluster.place_options import (
    CHECKPOINT_OPTIONS,
    RESTORE_OPTIONS,
    SAVEPOINT_OPTIONS,
)
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
    folders = (*CHECKPOINT_OPTIONS, *SAVEPOINT_OPTIONS)
    configured = [
        (each.options[option], each.uri, option in folders)
        for each in clusters
        for option in (*folders, *RESTORE_OPTIONS)
        if option in each.options
    ]
    configured += [(each.path, each.by, True) for facts in ha for each in facts.folders]
    named = [(path, f"the configuration of {by}", is_folder) for path, by, is_folder in configured]
    for path, by, is_folder in (*named, *((path, "a pin", True) for path in settings.pin)):
        place = place_of(path, settings.aliases)
        if place is not None and not settings.is_empty(place):
            yield (place if is_folder else place_around(place)), by
