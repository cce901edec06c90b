"""The world of one cycle, as its scans and answers show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from flinkstate.places.locations import Location, canonical, places_of
from orphangc.collect.observe.checkpoints import CheckpointScan
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.core.world.known_world import (
    KnownCluster,
    OutsidePath,
    PlaceKind,
    Searched,
    SearchedPlace,
    SearchedStorage,
    World,
    closed_world_of,
    lacks_checkpoints,
)


def world_of(
    seen: Observation, environment: Environment, paths: Sequence[OutsidePath] = ()
) -> World:
    """Return everything that was searched, named and asked in one cycle."""
    places, storages = searched_places(seen, environment), tuple(searched_storages(seen))
    return World(
        places=places,
        storages=storages,
        outside=tuple(paths),
        clusters=_clusters(seen, environment),
        closed_world=closed_world_of(
            places,
            storages,
            is_stated=environment.settings.closed_world,
            is_empty=lambda uri: environment.settings.is_confirmed_empty(canonical(uri)),
        ),
    )


def empty_places(world: World, environment: Environment) -> tuple[str, ...]:
    """Return the searched places without a checkpoint that no one stated to be empty.

    The parent folders of the storage root exist for certain, so they are none of them.
    """
    return tuple(
        each.uri
        for each in world.places
        if lacks_checkpoints(
            each, is_stated_empty=environment.settings.is_confirmed_empty(canonical(each.uri))
        )
        and not canonical(each.uri).contains(environment.storage.location)
    )


def unreached_places(seen: Observation, environment: Environment) -> Mapping[str, str]:
    """Return the reason for each place that could not be searched, unless it is stated empty.

    That statement is contradicted if the place showed a checkpoint before it could not be searched.
    """
    scans = zip(environment.bases, seen.at_start, seen.first, strict=True)
    filled = {base.location for base, scan, read in scans if scan.metadata or read.scan.metadata}
    return {
        str(place): reason
        for place, reason in seen.unreached.items()
        if place in filled or not environment.settings.is_empty(place)
    }


def unsearched_storages(seen: Observation, paths: Sequence[OutsidePath]) -> Mapping[str, str]:
    """Return the reason for each named storage that could not be searched to its end.

    Paths in checkpoints may spell a place that was searched: what they alone name counts if one of
    these paths is in no searched place.
    """
    outside = [canonical(each.uri) for each in paths]
    return {
        str(each.location): each.problem
        for each in seen.storages
        if each.problem is not None
        and (not each.is_named_by_files_alone or any(map(each.location.contains, outside)))
    }


def searched_storages(seen: Observation) -> Iterable[SearchedStorage]:
    """Yield every storage that was searched, or had to be."""
    for each in seen.storages:
        within = [one for one in seen.checkpoints if each.contains(one.folder)]
        places = places_of(broken.uri for broken in seen.unreadable)
        broken = [place for place in places if each.contains(place)]
        is_searched = each.problem is None
        yield SearchedStorage.like(
            each,
            uri=str(each.location),
            checkpoints=len({one.folder for one in within}) + len(broken) if is_searched else None,
            newest_checkpoint_at=_newest(one.modified_at for one in within),
            left_out=tuple(map(str, each.left_out)),
        )


def searched_places(seen: Observation, environment: Environment) -> tuple[SearchedPlace, ...]:
    """Return every place that was searched, the storage root first, reported checkpoints last."""
    kinds = {base.location: PlaceKind.SIBLING for base in environment.siblings}
    kinds |= {base.location: PlaceKind.EXTRA_ROOT for base in environment.extra}
    kinds[environment.storage.location] = PlaceKind.STORAGE_ROOT
    found: dict[Location, SearchedPlace] = {}
    for base, *read in zip(environment.bases, seen.first, seen.second, strict=True):
        place = base.location
        scans = () if place in seen.unreached else tuple(each.scan for each in read)
        found.setdefault(place, _place(place, kinds[place], environment, scans))
    return (*found.values(), *_reported(seen, environment, tuple(found)))


def _place(
    location: Location, kind: PlaceKind, environment: Environment, scans: Sequence[CheckpointScan]
) -> SearchedPlace:
    """Return a place with what two scans show; a place without any could not be searched."""
    directories = {each for scan in scans for each in scan.directories}
    counts = [len(scan.metadata) for scan in scans]
    times = (each.modified_at for scan in scans for each in scan.metadata.values())
    return SearchedPlace(
        uri=str(location),
        kind=kind,
        device=environment.device_of(location),
        job_directories=len(directories) if scans else None,
        checkpoints=(counts[-1] or max(counts)) if counts else None,
        newest_checkpoint_at=_newest(times),
    )


def _newest(times: Iterable[datetime | None]) -> datetime | None:
    return max((at for at in times if at is not None), default=None)


def _reported(
    seen: Observation, environment: Environment, bases: Sequence[Location]
) -> Iterable[SearchedPlace]:
    for checkpoint in {each.folder: each for each in seen.elsewhere}.values():
        areas: list[Searched] = [*bases, *seen.storages]
        if not any(each.contains(checkpoint.folder) for each in areas):
            yield SearchedPlace(
                uri=str(checkpoint.folder),
                kind=PlaceKind.REPORTED,
                device=environment.device_of(checkpoint.folder),
                job_directories=0,
                checkpoints=1,
                newest_checkpoint_at=checkpoint.modified_at,
            )


def _clusters(seen: Observation, environment: Environment) -> tuple[KnownCluster, ...]:
    before, after = (
        {facts.uri: set(facts.jobs) for facts in clusters}
        | {facts.uri: {hold.job_id for hold in facts.holds} for facts in held}
        for clusters, held in ((seen.before, seen.ha_before), (seen.after, seen.ha_after))
    )
    asked = [*(each.uri for each in environment.clusters), *(each.uri for each in environment.ha)]
    return tuple(
        KnownCluster(
            uri=uri,
            jobs=tuple(sorted(before.get(uri, set()) | after.get(uri, set()))),
            answers=uri in before and uri in after,
            problem=seen.source_errors.get(uri),
        )
        for uri in dict.fromkeys((*asked, *before, *after))
    )
