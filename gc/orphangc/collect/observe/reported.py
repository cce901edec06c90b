"""Reported checkpoint folders, in any place (R4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location, canonical
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts, external_paths
from orphangc.core.decision.evidence import UnreadableCheckpoint
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, resolve
from orphangc.core.model.settings import StorageRootSettings

Naming = tuple[str, str]
"""What names a checkpoint folder: a job of a cluster, a snapshot, a resource; and the folder."""


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
    settings = settings.model_copy(update={"pin": ()})
    jobs = (
        (f"{cluster.uri} {job_id}", replace(cluster, jobs={job_id: facts}))
        for cluster in clusters
        for job_id, facts in cluster.jobs.items()
    )
    parts = (
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
