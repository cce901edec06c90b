"""``users-of``: the jobs and checkpoints that still need a snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import RenderableType

from flinkstate.files.paths import is_inside, located, spelled_in
from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import human_bytes
from orphangc.adapters.open import open_storage
from orphangc.app.config.validate import settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.runner.make_plan import opened_cycle
from orphangc.app.wiring.compose import start_of
from orphangc.collect.dependencies.foreign_usage import names_in
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.collect.dependencies.snapshot_users import Snapshot, Users, users_of
from orphangc.collect.expire.assemble_report import DiscardingSink
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.core.decision.evidence import UnreadableCheckpoint
from orphangc.core.model.codes import Condition
from orphangc.core.model.naming import job_directory_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey
from orphangc.errors import ExitCode, RefusedError, SettingsError


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
    asked = str(located(snapshot)).removesuffix(f"/{METADATA_NAME}")
    first, *more = roots or [_root_of(asked)]
    extra = (*more, *(values.get("extra_roots") or ()))
    settings = settings_from({**values, "root": first, "extra_roots": extra})
    place = canonical(asked, settings.aliases)
    for root in settings.own_places:
        place = spelled_in(root, place)
    directory = job_directory_of(place)
    if directory is not None and not any(is_inside(place, root) for root in settings.own_places):
        # its siblings may need its files, wherever it is
        settings = settings_from({**values, "root": first, "extra_roots": (*extra, str(directory))})
    own = _read_snapshot(place, CheckpointReader(settings.aliases, settings.acknowledged))
    with (
        shown_progress() as progress,
        opened_cycle(start_of(settings), DiscardingSink, progress, is_remembered=False) as (
            cycle,
            _,
        ),
    ):
        usages = cycle.foreign_usages
    # an answer that holds for the checkpoints that were read says so itself
    unsearched = [
        (condition, why)
        for condition, why in usages.unsearched
        if settings.closed_world or condition is not Condition.CLOSED_WORLD
    ]
    found = users_of(own, replace(usages, unsearched=unsearched), Weighing(open_storage))
    return _document(own, found, settings, cycle.remembered.lineage.resources)


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
    resources: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    return {
        "snapshot": str(snapshot.place),
        "checkpoint_id": None if snapshot.checkpoint is None else snapshot.checkpoint.checkpoint_id,
        "files": 0 if snapshot.checkpoint is None else snapshot.checkpoint.references,
        "read": [*map(str, settings.own_places)],
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
        first = ": ".join(filter(None, found.unknown[0]))
        return f"{known} {len(found.unknown)} it cannot be known: {first}"
    if count:
        return need
    if found.is_confirmed and settings.closed_world:
        return "no job needs it, and no pin that was given"
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
