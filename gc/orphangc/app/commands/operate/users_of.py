"""``users-of``: the jobs and checkpoints that still need a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.files.paths import absolute, spelled_in
from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import human_bytes, visible
from orphangc.adapters.open import open_storage
from orphangc.app.config.validate import settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.shown_names import JobNames
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import flink_clusters, ha_metadata
from orphangc.app.wiring.searched_places import storage_search
from orphangc.collect.dependencies.foreign_usage import names_in
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.collect.dependencies.snapshot_users import Snapshot, Users, users_of
from orphangc.collect.observe.checkpoints import CheckpointReader, CheckpointsRead
from orphangc.collect.observe.ended_jobs import Lives
from orphangc.collect.observe.observation import reported_checkpoints
from orphangc.collect.observe.reported import (
    named_by_configurations,
    named_by_resources,
    places_in_answers,
    places_of_files,
)
from orphangc.collect.observe.storage_search import FoundInStorage
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.lineage.continuation import resources_by_job
from orphangc.core.lineage.expiry_marker import ExpiryMarker, markers_in
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.owners import job_directory_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey
from orphangc.errors import ExitCode, RefusedError, SettingsError
from orphangc.ports import ClusterClient, HaMetadata, Storage


def find_users(snapshot: str, roots: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return which checkpoints below some storage roots still need a snapshot.

    Args:
        snapshot: Folder of the snapshot, or its ``_metadata``.
        roots: Storage roots; if empty, the one that holds the snapshot's own job directory.

    Raises:
        SettingsError: A place is invalid, there is no snapshot, or its storage root is unknown.
        RefusedError: The snapshot cannot be read.
        StorageUnreachableError: A storage root cannot be listed.
    """
    asked = absolute(snapshot).rstrip("/").removesuffix(f"/{METADATA_NAME}")
    first, *more = roots or [_root_of(asked)]
    extra = (*more, *(values.get("extra_roots") or ()))
    settings = settings_from({**values, "root": first, "extra_roots": extra})
    reader = CheckpointReader(settings.aliases, settings.acknowledged)  # nothing is listed here
    place = canonical(asked, settings.aliases)
    for root in settings.own_places:
        place = spelled_in(root, place)
    own = _read_snapshot(place, reader)
    world = _World.read(settings, reader)
    held, roots_read = world.held, world.checkpoints
    elsewhere = reported_checkpoints(
        (*world.before, *world.after),
        (),
        settings,
        held,
        reader=reader,
        open_storage=open_storage,
        read={root.folder for root in roots_read},
    )
    places = [base.location for base in world.bases]
    found = users_of(
        own,
        (*roots_read, *(each for each in elsewhere if isinstance(each, Checkpoint))),
        _unacknowledged((*world.unreadable, *elsewhere)),
        Lives(
            before=world.before,
            after=world.after,
            is_declared_ended=settings.is_declared_ended,
            holds=[hold for each in held for hold in each.holds],
            changed_at=_changed_at(roots_read),
            now=now(),
            quiet_period=settings.quiet_period,
            directories=_directories(world.parts, places),
            aliases=settings.aliases,
        ),
        named=(
            *named_by_resources(held, settings),
            *named_by_configurations((*world.before, *world.after), settings),
        ),
        weighing=Weighing(open_storage),
    )
    resources = resources_by_job((e.job_id, e.name) for facts in held for e in facts.names)
    return _document(own, found, settings, places, resources=resources)


_IN_QUARANTINE = (
    "its _metadata is in quarantine, and may come back: which files it names is not read here"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What the storage roots and the storages around them hold, and what Flink says of it.

    Attributes:
        parts: What was read of each base.
    """

    bases: Sequence[Storage]
    parts: Sequence[CheckpointsRead]
    storages: Sequence[FoundInStorage]
    before: Sequence[ClusterFacts]
    after: Sequence[ClusterFacts]
    held: Sequence[HaFacts]

    @classmethod
    def read(cls, settings: StorageRootSettings, reader: CheckpointReader) -> _World:
        """Read all of it: what is searched, and what the statement of a closed world covers."""
        bases = [open_storage(each) for each in settings.own_places]
        clusters, holders = flink_clusters(settings), ha_metadata(settings)
        search = storage_search(settings, None, WorldMemory(), ())
        with shown_progress() as progress:
            before, held_before = _asked(clusters, holders)
            named = [*places_in_answers(before, (), settings, held_before)]
            listings = search.listings(named, reader, progress)
            parts = [reader.collect(base) for base in bases]
            after, held_after = _asked(clusters, holders)
            storages = search.contents(
                listings,
                (*named, *places_in_answers(after, (), settings, held_after)),
                places_of_files,
                read=[each for part in parts for each in part.checkpoints],
                links=(),
                seen={
                    base.location.child(folder): stored
                    for base, part in zip(bases, parts, strict=True)
                    for folder, stored in part.scan.metadata.items()
                },
                reader=reader,
                progress=progress,
            )
        held = (*held_before, *held_after)
        return cls(
            bases=bases, parts=parts, storages=storages, before=before, after=after, held=held
        )

    @property
    def everything(self) -> tuple[CheckpointsRead | FoundInStorage, ...]:
        """Return what was read."""
        return (*self.parts, *self.storages)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Return every checkpoint, once."""
        read = (each for part in self.everything for each in part.checkpoints)
        unique = {(each.folder, each.sha256): each for each in read}
        return [*unique.values()]

    @property
    def unreadable(self) -> list[UnreadableCheckpoint]:
        """Return what cannot be read, a storage that cannot be searched among it."""
        found = [each for part in self.everything for each in part.unreadable]
        found += [
            UnreadableCheckpoint(uri=str(each.location), reason=each.problem, sha256="")
            for each in self.storages
            if each.problem is not None
        ]
        found += [
            UnreadableCheckpoint(uri=str(each.folder), reason=_IN_QUARANTINE, sha256="")
            for each in self._expiries()
            if each.state
        ]
        return found

    def _expiries(self) -> tuple[ExpiryMarker, ...]:
        """Return what expiries left beside the checkpoints that they put into quarantine."""
        parts = zip(self.bases, self.parts, strict=True)
        left = [(base.location, read.scan.expiries) for base, read in parts]
        return markers_in([*left, *((each.location, each.markers) for each in self.storages)])


def _asked(
    clusters: Sequence[ClusterClient], holders: Sequence[HaMetadata]
) -> tuple[list[ClusterFacts], list[HaFacts]]:
    return [each.observe() for each in clusters], [each.observe() for each in holders]


def _changed_at(roots: Iterable[Checkpoint]) -> dict[str, datetime]:
    """Return the storage's time of the newest checkpoint in the directories of each job id."""
    found: dict[str, datetime] = {}
    for root in roots:
        if root.directory is not None and root.modified_at is not None:
            found[root.job_id] = max(root.modified_at, found.get(root.job_id, root.modified_at))
    return found


def _root_of(snapshot: str) -> str:
    """Return the folder that holds the job directory of a checkpoint.

    Raises:
        SettingsError: The checkpoint is in no job directory; it is probably a savepoint.
    """
    try:
        place = canonical(snapshot)
    except ValueError as err:
        raise SettingsError(str(err)) from err
    directory = job_directory_of(place)
    if directory is None:
        raise SettingsError(f"{snapshot} is in no job directory: name the storage roots to read")
    return str(directory.parent)


def _read_snapshot(place: Location, reader: CheckpointReader) -> Snapshot:
    storage = open_storage(place.parent)
    stored = names_in(storage, place.name)
    if not stored:
        raise SettingsError(f"{place} holds no file: there is no snapshot")
    metadata = storage.stat([ObjectKey(f"{place.name}/{METADATA_NAME}")])[0]
    root = None if metadata is None else reader.read(storage, place.name, metadata)
    if isinstance(root, UnreadableCheckpoint):
        raise RefusedError(
            f"cannot read {root.uri}: {root.reason}; which files it names cannot be known"
        )
    return Snapshot(place=place, checkpoint=root, stored=stored)


def _unacknowledged(
    found: Iterable[Checkpoint | UnreadableCheckpoint],
) -> list[UnreadableCheckpoint]:
    broken = (each for each in found if isinstance(each, UnreadableCheckpoint))
    return [each for each in broken if not each.is_acknowledged]


def _directories(
    read: Sequence[CheckpointsRead], bases: Sequence[Location]
) -> dict[str, list[Location]]:
    """Return the job directories by their owner's id, "" where it is unknown."""
    found: dict[str, list[Location]] = {}
    for base, each in zip(bases, read, strict=True):
        for directory in sorted(each.scan.directories):
            job_id = place_of_folder(f"{directory}/shared".lstrip("/"), base.name).job_id
            found.setdefault(job_id, []).append(base.child(directory))
    return found


def _document(
    snapshot: Snapshot,
    found: Users,
    settings: StorageRootSettings,
    bases: Sequence[Location],
    *,
    resources: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    return {
        "snapshot": str(snapshot.place),
        "checkpoint_id": None if snapshot.checkpoint is None else snapshot.checkpoint.checkpoint_id,
        "files": 0 if snapshot.checkpoint is None else snapshot.checkpoint.references,
        "read": [str(base) for base in bases],
        "closed_world": settings.closed_world,
        "has_users": True if found.users else (None if found.unknown else False),
        "is_complete": not found.unknown,
        "confirmed": found.is_confirmed,
        "statement": _statement(found, settings),
        "users": [
            {**each.model_dump(), "resources": resources.get(each.job_id, ())}
            for each in found.users
        ],
        "unknown": [{"uri": uri, "reason": reason} for uri, reason in found.unknown],
    }


def _statement(found: Users, settings: StorageRootSettings) -> str:
    count = len(found.users)
    need = "1 needs it" if count == 1 else f"{count} need it"
    if found.unknown:
        known = f"{need}, and of" if count else "of"
        uri, reason = found.unknown[0]
        return f"{known} {len(found.unknown)} it cannot be known: {uri}: {reason}"
    if count:
        return need
    if found.is_confirmed and settings.closed_world:
        return "nobody needs it"
    if found.is_confirmed:
        said = "none among the roots that were read"
    else:
        said = (
            "none of the checkpoints that were read needs it; a pending one may: look again after"
            " the next checkpoint"
        )
    return said if settings.closed_world else f"{said}; nobody has stated that these are all"


def exit_code(document: Mapping[str, Any]) -> ExitCode:
    """Return 0 if all users are known, 4 if there may be others."""
    return ExitCode.DONE if document["is_complete"] else ExitCode.REFUSED


def _name(user: Mapping[str, Any]) -> str:
    job_id = user["job_id"]
    return JobNames({job_id: user["resources"]})(job_id) if job_id else str(user["place"])


def user_tables(document: Mapping[str, Any]) -> list[RenderableType]:
    """Return the users as a table, one line each, and the conclusion."""
    table = Table("who", "checkpoints", "files", "bytes", "why")
    for user in document["users"]:
        table.add_row(
            Text(visible(_name(user))),
            ", ".join(str(each["checkpoint_id"]) for each in user["checkpoints"]),
            str(user["references"]),
            "" if user["bytes"] is None else human_bytes(user["bytes"]),
            Text(visible(user["why"])),
        )
    said = f"snapshot {document['snapshot']}: {document['statement']}"
    shown: list[RenderableType] = [Text(visible(said))]
    return [*shown, table] if document["users"] else shown
