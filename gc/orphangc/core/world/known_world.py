"""The world as a value: the form in which plan, report and ``orphangc world`` show it."""

from __future__ import annotations

from enum import StrEnum

from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.times.instants import Instant
from orphangc.core.world.storages import SearchedStorage


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
        problem: Why it gave no usable answer.
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
    """Places that were searched or named, clusters, and changes around one storage root.

    Attributes:
        storages: Storages that are searched whole.
    """

    places: tuple[SearchedPlace, ...]
    storages: tuple[SearchedStorage, ...] = ()
    outside: tuple[OutsidePath, ...] = ()
    clusters: tuple[KnownCluster, ...] = ()
    changed: tuple[WorldChange, ...] = ()
    closed_world: ClosedWorld
