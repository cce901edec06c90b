"""``users-of``: the jobs and checkpoints that still need a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import RenderableType

from flinkstate.files.paths import absolute, is_inside, spelled_in
from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import human_bytes
from orphangc.adapters.open import open_storage
from orphangc.app.config.validate import settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import flink_clusters, ha_metadata, state_of
from orphangc.app.wiring.searched_places import storage_search
from orphangc.collect.dependencies.foreign_usage import names_in
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.collect.dependencies.snapshot_users import Snapshot, Users, users_of
from orphangc.collect.dependencies.snapshot_world import SnapshotWorld, Sources, read_world
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.ended_jobs import Lives
from orphangc.collect.observe.observation import reported_checkpoints
from orphangc.collect.world.recalling import recalled
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.decision.flink_traces import has_trace_of_flink, remembered_traces
from orphangc.core.dependencies.foreign_files import Foreign
from orphangc.core.lineage.continuation import resources_by_job
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.naming import job_directory_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ForeignKind, ObjectKey
from orphangc.errors import ExitCode, RefusedError, SettingsError


def find_users(snapshot: str, roots: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return which checkpoints below some storage roots still need a snapshot.

    Args:
        snapshot: Folder of the snapshot, or its ``_metadata``.
        roots: Storage roots; if empty, the one that holds the snapshot's own job directory.

    Raises:
        SettingsError: A place is invalid, there is no snapshot, or its storage root is unknown.
        RefusedError: The snapshot, or what earlier cycles left, cannot be read.
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
    before = recalled(state_of(settings))
    if before.memory_problem is not None:
        raise RefusedError(before.memory_problem)
    own = _read_snapshot(place, reader)
    with shown_progress() as progress:
        sources = Sources(
            bases=[open_storage(each) for each in settings.own_places],
            clusters=flink_clusters(settings),
            holders=ha_metadata(settings),
            search=storage_search(settings, None, before.memory, ()),
            reader=reader,
        )
        world = read_world(sources, settings, progress)
    found = _found(own, world, settings, reader, memory=before.memory)
    resources = resources_by_job(
        (e.job_id, e.name) for facts in world.answers.ha for e in facts.names
    )
    return _document(own, found, settings, world.bases, resources=resources)


def _found(
    own: Snapshot,
    world: SnapshotWorld,
    settings: StorageRootSettings,
    reader: CheckpointReader,
    *,
    memory: WorldMemory,
) -> Users:
    elsewhere = reported_checkpoints(
        world.answers,
        reader=reader,
        open_storage=open_storage,
        read={each.folder for each in world.checkpoints},
    )
    broken = [each for each in elsewhere if isinstance(each, UnreadableCheckpoint)]
    files = () if own.checkpoint is None else own.checkpoint.files.values()
    foreign = Foreign.of(ForeignKind.SNAPSHOT, own.place, [own.stored, *files])
    absent = tuple((str(each.location), each.problem or "") for each in world.absent)
    found = users_of(
        own,
        (*world.checkpoints, *(each for each in elsewhere if isinstance(each, Checkpoint))),
        [
            each
            for each in (*world.unreadable, *broken)
            if not each.is_acknowledged or foreign.may_be_named_in(each.raw)
        ],
        Lives(
            before=world.before,
            after=world.after,
            is_declared_ended=_declared_ended(world, settings, memory),
            holds=[hold for each in world.answers.ha for hold in each.holds],
            changed_at=world.changed_at,
            now=now(),
            quiet_period=settings.quiet_period,
            clock_skew=settings.margins.clock_skew,
            directories=world.directories,
            aliases=settings.aliases,
            memory=memory,
        ),
        named=world.answers.named_as_a_whole(),
        weighing=Weighing(open_storage),
    )
    is_confirmed = found.is_confirmed and not absent
    return replace(found, unknown=(*found.unknown, *absent), is_confirmed=is_confirmed)


def _declared_ended(
    world: SnapshotWorld, settings: StorageRootSettings, memory: WorldMemory
) -> Callable[[str], bool]:
    """Return whether the operator said that a job is over, as a plan takes it.

    ``all`` covers a job in the named places alone, if something shows that Flink wrote each of its
    directories.
    """
    directories, areas = world.directories, world.areas
    traced = remembered_traces(memory)
    folders = {folder for each in world.checkpoints for folder in each.files}
    needed = {around for folder in folders for around in folder.upwards()}
    shown = {str(job_id) for each in world.answers.clusters for job_id in each.jobs}
    shown |= {str(hold.job_id) for each in world.answers.ha for hold in each.holds}

    def is_covered(place: Location, job_id: str) -> bool:
        known = {job_id} & shown, {place} & needed, {str(place)} & traced
        is_here = any(is_inside(place, at) for at in settings.own_places)
        return is_here and has_trace_of_flink(areas.get(place, ()), *known)

    def is_declared(job_id: str) -> bool:
        is_in_all = all(is_covered(each, job_id) for each in directories.get(job_id, ()))
        return settings.is_declared_ended(job_id, by_id=not is_in_all)

    return is_declared


def _root_of(snapshot: str) -> str:
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
        raise RefusedError(f"{root.problem}; which files it names cannot be known")
    return Snapshot(place=place, checkpoint=root, stored=stored)


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
        said = "none among the checkpoints that were read"
    else:
        said = (
            "none of the checkpoints that were read needs it; a job that is not over may, by a"
            " pending checkpoint or to begin with it again"
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
    rows = (
        (
            _name(user),
            ", ".join(str(each["checkpoint_id"]) for each in user["checkpoints"]),
            user["references"],
            "" if user["bytes"] is None else human_bytes(user["bytes"]),
            user["why"],
        )
        for user in document["users"]
    )
    table = text_table(("who", "checkpoints", "files", "bytes", "why"), rows)
    said = as_text(f"snapshot {document['snapshot']}: {document['statement']}")
    return [said, table] if document["users"] else [said]
