"""Reported checkpoint folders, in any place (R4)."""

from __future__ import annotations

from collections.abc import Iterable

from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts, external_paths
from orphangc.core.decision.evidence import UnreadableCheckpoint
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, resolve
from orphangc.core.model.locations import Location, canonical
from orphangc.core.model.naming import METADATA_NAME
from orphangc.core.model.settings import StorageRootSettings


def reported_places(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    *,
    ha: Iterable[HaFacts] = (),
) -> tuple[list[Location], list[UnreadableCheckpoint]]:
    """Return every reported or pinned checkpoint folder (R4), and reports that name no place."""
    paths = {path for cluster in clusters for path in external_paths(cluster)}
    for snapshot in snapshots:
        own = (*(e.path for e in snapshot.retained), *(e.path for e in snapshot.restored))
        paths.update(resolve(path, snapshot.checkpoint_dir) for path in own)
    paths.update(settings.pin)
    places: set[Location] = set()
    unusable: list[UnreadableCheckpoint] = []
    for path in sorted(paths):
        try:
            places.add(canonical(path, settings.aliases))
        except ValueError as err:
            unusable.append(UnreadableCheckpoint(uri=path, reason=str(err), sha256=""))
    for named in sorted({each for facts in ha for each in facts.places}):
        try:
            places.add(place_named(named.path, settings))
        except ValueError as err:
            reason = f"{err} (named by {named.by})"
            unusable.append(UnreadableCheckpoint(uri=named.path, reason=reason, sha256=""))
    return sorted(places, key=str), unusable


def reported_uris(
    clusters: Iterable[ClusterFacts],
    snapshots: Iterable[RegistrySnapshot],
    settings: StorageRootSettings,
    *,
    ha: Iterable[HaFacts] = (),
) -> frozenset[str]:
    """Return the URI of every reported or pinned checkpoint folder."""
    return frozenset(map(str, reported_places(clusters, snapshots, settings, ha=ha)[0]))


def place_named(path: str, settings: StorageRootSettings) -> Location:
    """Return the checkpoint folder that a resource names: people may name its metadata file too.

    Raises:
        ValueError: It is no place, or a path without a file system: Flink would use its default
            one, which the operator did not state.

    """
    place = canonical(path, settings.aliases)
    if place.scheme == "file" and ":" not in path and canonical(settings.root).scheme != "file":
        raise ValueError(f"{path!r} names no file system: say with --alias what it means")
    if place.name == METADATA_NAME:
        return place.parent
    return place
