"""What one cycle saw of the world, in the form in which the next cycles remember it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flinkstate.places.locations import is_within
from orphangc.core.lineage.continuation import LineageMemory
from orphangc.core.memory.remembered import RememberedDirectory, RememberedRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPlace:
    """A place that the cycle searched, or tried to.

    Attributes:
        checkpoints: Number of checkpoints in it; ``None`` if it could not be searched.
        is_stated: Whether a person named a storage in the settings that state a closed world.
        left_out: Parts of a storage, or all of it, that a person states to hold no checkpoint.
    """

    uri: str
    kind: str
    device: str | None = None
    checkpoints: int | None = 0
    job_directories: int = 0
    keys: int | None = None
    is_stated: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def is_left_out(self) -> bool:
        """Return whether all of it is stated to hold no checkpoint."""
        return self.uri in self.left_out

    def contains(self, uri: str) -> bool:
        """Return whether a folder is in what is searched of it."""
        return is_within(uri, (self.uri,)) and not is_within(uri, self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenJob:
    """Present facts of one cluster, HA store or resource about one job.

    Attributes:
        status: Flink's word, "" where none was said.
        started_at: Start of its JobManager, by that one's clock.
        ended_at: End by the same clock of one that is over; its start where Flink shows none.
        directories: Job directories of the paths reported for it.
        is_from_nothing: Whether Flink shows that it was restored from no checkpoint.
        stores_in: Job directories that its cluster's configuration gives it.
        needs: Directories in which its checkpoints name files, or else the one that it was
            restored from; "" among them if that could not be read.
    """

    job_id: str
    by: str
    is_alive: bool
    status: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    directories: tuple[str, ...] = ()
    restored: str | None = None
    is_from_nothing: bool = False
    is_restored_from_savepoint: bool = False
    stores_in: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenReport:
    """A checkpoint that Flink reports completed and not discarded.

    Attributes:
        path: Folder of the checkpoint, or Flink's path if it names no place.
        triggered_at: Time at which Flink triggered it, by the JobManager's clock.
        was_shown_before: Whether the cluster showed it so before the listing too: it was there all
            the while, as Flink says.
    """

    job_id: str
    by: str
    path: str
    directory: str
    checkpoint_id: int
    triggered_at: datetime | None = None
    is_living: bool = False
    was_shown_before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingSavepoint:
    """A savepoint that its job was stopped with, as its own metadata says."""

    checkpoint_id: int
    stored_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What one cycle saw.

    Attributes:
        at: Start of the cycle, by the storage's clock.
        state: State location, as it was given; ``None`` for the default one.
        present: Folders of all checkpoints that are there now, readable or not.
        registry_jobs: Job folders with any snapshot, whatever it concerns, in registry folders.
        discarded: Checkpoints that the cluster of their own directory reports discarded, with the
            time at which each was triggered.
        stops: Savepoints that jobs were stopped with, by folder.
        clusters: Whether each configured cluster answered, by address.
        declared_ended: Job ids that the operator declared ended, one by one.
        savepoints: Folders of savepoints below the storage root that hold a ``_metadata``.
        savepoint_folders: All folders of savepoints that are listed now; ``None`` if only an older
            listing is known.
    """

    at: datetime
    root: str
    state: str | None = None
    places: tuple[SeenPlace, ...] = ()
    directories: tuple[RememberedDirectory, ...] = ()
    present: frozenset[str] = frozenset()
    jobs: tuple[SeenJob, ...] = ()
    reports: tuple[SeenReport, ...] = ()
    registries: tuple[RememberedRegistry, ...] = ()
    registry_jobs: frozenset[str] = frozenset()
    discarded: Mapping[str, datetime] = field(default_factory=dict)
    stops: Mapping[str, StoppingSavepoint] = field(default_factory=dict)
    clusters: Mapping[str, bool] = field(default_factory=dict)
    declared_ended: frozenset[str] = frozenset()
    are_all_declared_ended: bool = False
    clock_skew: timedelta = timedelta(minutes=15)
    lineage: LineageMemory = field(default_factory=LineageMemory)
    savepoints: frozenset[str] = frozenset()
    savepoint_folders: frozenset[str] | None = None
    is_world_closed: bool = False

    def is_searched(self, uri: str) -> bool:
        """Return whether a folder is in a place that was searched, or had to be."""
        return any(each.contains(uri) for each in self.places)
