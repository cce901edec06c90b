"""The world as a value: the form in which plan, report and ``orphangc world`` show it.

A path outside every searched place is a hint that the world is larger than what was searched: a job
there may have claimed a checkpoint from here, as the one that names the path has claimed one from
there (R3a).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from flinkstate.places.locations import Location, is_within
from orphangc.core.model.codes import Condition
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.naming import job_directory_of
from orphangc.core.times.instants import Instant

if TYPE_CHECKING:  # the daemon shows a world, and loads no NumPy
    from orphangc.core.columns.file_names import FileNames

_T = TypeVar("_T")


class SearchedStorage(FrozenPart):
    """A storage that is searched for every ``_metadata``, at any depth and under any name.

    Attributes:
        named_by: What names it or a place in it; a few of many.
        keys: Number of listed keys, those of the storage root that is collected aside; ``None`` if
            it could not be searched to its end.
        checkpoints: Number of its checkpoints, of the storage root too; ``None`` likewise.
        tables: Number of objects called ``_metadata`` that are Parquet's.
        left_out: Prefixes that a person states to hold no checkpoint.
    """

    uri: str
    named_by: tuple[str, ...] = ()
    keys: int | None = None
    checkpoints: int | None = None
    tables: int = 0
    newest_checkpoint_at: Instant | None = None
    left_out: tuple[str, ...] = ()
    problem: str | None = None


def storage_of(place: Location, mount: Location | None) -> Location:
    """Return the storage that holds a place.

    That is the bucket or container, or the mounted file system. On the machine's own file system,
    which holds everything, and where nothing bounds a storage, it is the folder around the place;
    the top folder is none.

    Args:
        mount: Where its file system is mounted; ``None`` for the machine's own, or no file system.
    """
    if place.is_in_object_store:
        return place.top
    if mount is not None:
        return mount
    return place if place.parent.path == "/" else place.parent


def place_around(folder: Location) -> Location:
    """Return the place that holds a named folder: the one around its job directory, or around it.

    Beside a job's directory lie those of the jobs that may have claimed its checkpoints. The top
    folder is no place: what is in it is all of the machine.
    """
    home = job_directory_of(folder) or folder
    return home if home.parent == home.top else home.parent


class PlaceKind(StrEnum):
    """Why a place is searched."""

    STORAGE_ROOT = "storage_root"
    """The storage root that is collected."""
    EXTRA_ROOT = "extra_root"
    """The operator named it."""
    SIBLING = "sibling"
    """Another storage root of the configuration file or of the state location, or the folder
    around a storage root that is itself a job directory."""
    REPORTED = "reported"
    """A checkpoint outside all of these that Flink, an HA store, a resource or a pin names."""


class SearchedPlace(FrozenPart):
    """A place that is searched for checkpoints in each cycle.

    Attributes:
        job_directories: Number of job directories in it; ``None`` if it could not be searched.
        newest_checkpoint_at: Store time of the newest of them; ``None`` without any.
    """

    uri: str
    kind: PlaceKind
    device: str | None = None
    job_directories: int | None
    checkpoints: int | None
    newest_checkpoint_at: Instant | None = None
    since: Instant | None = None


class OutsidePath(FrozenPart):
    """A named directory or checkpoint in no searched place.

    Attributes:
        jobs: Keys of the jobs that it may concern; these are blocked.
    """

    uri: str
    named_by: tuple[str, ...]
    jobs: tuple[str, ...] = ()


class KnownCluster(FrozenPart):
    """A Flink cluster, a namespace or a ZooKeeper that is asked.

    Attributes:
        answers: Whether it answered both times in this cycle.
    """

    uri: str
    jobs: tuple[str, ...]
    answers: bool
    problem: str | None = None


class WorldChange(FrozenPart):
    """A fact of an earlier cycle that is no longer true."""

    condition: str
    what: str
    since: Instant | None
    acknowledged: bool = False


class ClosedWorld(FrozenPart):
    """The statement that no checkpoint outside what is searched refers to files in this one.

    Attributes:
        covers: Searched storages, and places that count as searched: with checkpoints, or stated to
            be empty.
    """

    stated: bool
    covers: tuple[str, ...]


class World(FrozenPart):
    """Places that were searched or named, clusters, and changes around one storage root."""

    places: tuple[SearchedPlace, ...]
    storages: tuple[SearchedStorage, ...] = ()
    outside: tuple[OutsidePath, ...] = ()
    clusters: tuple[KnownCluster, ...] = ()
    changed: tuple[WorldChange, ...] = ()
    closed_world: ClosedWorld


_BEST_FIRST = tuple(PlaceKind)


def united_world(worlds: Sequence[World]) -> World:
    """Return one world: each place, path, cluster and change once.

    A place that is one root's storage root and another one's sibling is a storage root. The
    closed world is stated if it is stated for every storage root; what one of them covers, all do.
    """
    return World(
        places=_once(
            (each for world in worlds for each in world.places),
            lambda place: place.uri,
            lambda known, place: min(known, place, key=lambda each: _BEST_FIRST.index(each.kind)),
        ),
        storages=_once(
            (each for world in worlds for each in world.storages),
            lambda storage: storage.uri,
            # one that a single storage root could not search counts so
            lambda known, storage: storage if known.problem is None else known,
        ),
        outside=_once(
            (each for world in worlds for each in world.outside),
            lambda path: path.uri,
            lambda known, path: OutsidePath(
                uri=path.uri,
                named_by=tuple(dict.fromkeys((*known.named_by, *path.named_by))),
                jobs=tuple(dict.fromkeys((*known.jobs, *path.jobs))),
            ),
        ),
        clusters=_once(
            (each for world in worlds for each in world.clusters),
            lambda cluster: cluster.uri,
            lambda known, cluster: KnownCluster(
                uri=cluster.uri,
                jobs=tuple(sorted({*known.jobs, *cluster.jobs})),
                answers=known.answers and cluster.answers,
                problem=known.problem or cluster.problem,
            ),
        ),
        changed=_once(
            (each for world in worlds for each in world.changed),
            lambda change: (change.condition, change.what),
            # one that a single storage root waits for is not acknowledged
            lambda known, change: (
                change if known.acknowledged and not change.acknowledged else known
            ),
        ),
        closed_world=ClosedWorld(
            stated=all(world.closed_world.stated for world in worlds),
            covers=tuple(dict.fromkeys(uri for w in worlds for uri in w.closed_world.covers)),
        ),
    )


def _once(
    found: Iterable[_T], subject: Callable[[_T], object], joined: Callable[[_T, _T], _T]
) -> tuple[_T, ...]:
    by_subject: dict[object, _T] = {}
    for each in found:
        by_subject[subject(each)] = joined(by_subject.get(subject(each), each), each)
    return tuple(by_subject.values())


_ASKED_BY_OPTION = frozenset({Condition.PLACE_LOST, Condition.CLUSTER_SILENT})
_ASKED = frozenset({PlaceKind.EXTRA_ROOT, PlaceKind.SIBLING})


def lacks_checkpoints(place: SearchedPlace, *, is_stated_empty: bool) -> bool:
    """Return whether a place has no checkpoint, so it may not be the place that was meant.

    An unmounted folder, a text file and a mistyped prefix are all found empty.
    """
    return place.kind in _ASKED and place.checkpoints == 0 and not is_stated_empty


def closed_world_of(
    places: Iterable[SearchedPlace],
    storages: Iterable[SearchedStorage] = (),
    *,
    is_stated: bool,
    is_empty: Callable[[str], bool],
) -> ClosedWorld:
    """Return the statement, bound to the storages and places that count as searched."""
    whole = [each.uri for each in storages if each.problem is None]
    covered = (
        each.uri
        for each in places
        if each.checkpoints is not None
        and not lacks_checkpoints(each, is_stated_empty=is_empty(each.uri))
        and not is_within(each.uri, whole)
    )
    return ClosedWorld(stated=is_stated, covers=(*whole, *covered))


def without_unasked(
    world: World, registries: Iterable[str]
) -> tuple[World, tuple[WorldChange, ...]]:
    """Return the world of the places that the call names, and the changes of all others.

    A plan does not distinguish these: it is blocked until they are searched and asked again.
    """
    named = [each.uri for each in world.places]
    named += [*(each.uri for each in world.clusters), *registries]
    unasked = tuple(
        each
        for each in world.changed
        if each.condition in _ASKED_BY_OPTION and not is_within(each.what, named)
    )
    changed = tuple(each for each in world.changed if each not in unasked)
    return world.model_copy(update={"changed": changed}), unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What one checkpoint, registry snapshot or cluster names.

    Attributes:
        jobs: Keys of the jobs that it is evidence of, and of those whose files it names.
        files: Names by folder, outside folders only.
    """

    by: str
    jobs: frozenset[str]
    files: Mapping[Location, FileNames]


class Searched(Protocol):
    """A place, or what is searched of a storage."""

    def contains(self, other: Location, /) -> bool:
        """Return whether a place is in it."""
        ...


def outside_only(
    files: Mapping[Location, FileNames], searched: Iterable[Searched]
) -> dict[Location, FileNames]:
    """Return the files in none of the searched places."""
    places = tuple(searched)
    return {
        folder: names
        for folder, names in files.items()
        if not any(place.contains(folder) for place in places)
    }


def home_of(folder: Location) -> Location:
    """Return the job directory of a folder by its path, or else the folder itself."""
    return job_directory_of(folder) or folder


def outside_paths(found: Iterable[tuple[Location, str, frozenset[str]]]) -> tuple[OutsidePath, ...]:
    """Return each outside place once, with everything that names it and every job concerned."""
    by_place: dict[str, tuple[set[str], set[str]]] = {}
    for place, by, jobs in found:
        named_by, concerned = by_place.setdefault(str(place), (set(), set()))
        named_by.add(by)
        concerned.update(jobs)
    return tuple(
        OutsidePath(uri=uri, named_by=tuple(sorted(by)), jobs=tuple(sorted(jobs)))
        for uri, (by, jobs) in sorted(by_place.items())
    )


def paths_of(key: str, paths: Iterable[OutsidePath]) -> tuple[OutsidePath, ...]:
    """Return the outside paths that concern a job."""
    return tuple(each for each in paths if key in each.jobs)
