"""Which jobs, and which of their checkpoints, still need files of a snapshot (R4, R5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flinkstate.files.paths import resolved
from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location, place_of
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.collect.observe.ended_jobs import Lives, unread_of
from orphangc.core.cluster.job_facts import hidden_origin_problem
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.dependencies.foreign_files import (
    Foreign,
    Namer,
    UnownedReference,
    files_of,
    meant,
    standing_of,
    unowned_references,
)
from orphangc.core.dependencies.restore_fallback import is_restore_fallback
from orphangc.core.documents.self_sustained_record import SnapshotUserPart
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import ForeignKind, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The snapshot that is asked about.

    Attributes:
        stored: Names of the files directly in its folder.
    """

    place: Location
    checkpoint: Checkpoint | None
    stored: FileNames

    @property
    def files(self) -> Mapping[Location, FileNames]:
        """Return the files that its ``_metadata`` names, by folder."""
        return {} if self.checkpoint is None else self.checkpoint.files

    @property
    def maker(self) -> tuple[str, Location, int | None] | None:
        """Return id ("" if unknown) and directory of the job that made it, and its number.

        ``None`` for a snapshot in no job's directory.
        """
        file_place = place_of_folder(self.place.path.lstrip("/"))
        if self.checkpoint is not None and self.checkpoint.directory is not None:
            return self.checkpoint.job_id, self.checkpoint.directory, self.checkpoint.checkpoint_id
        if file_place.job_directory is None or file_place.scope is not Scope.EXCLUSIVE:
            return None
        top = Location(self.place.scheme, self.place.authority, "/")
        return file_place.job_id, top.child(file_place.job_directory), file_place.checkpoint_id

    @property
    def foreign(self) -> Foreign:
        """Return it as that which others may name files of."""
        uuids, names = files_of(self.stored, *self.files.values())
        return Foreign(
            kind=ForeignKind.SNAPSHOT,
            place=self.place,
            uuids=uuids,
            names=names - {METADATA_NAME},
        )

    def is_named_by(self, folder: Location, name: str) -> bool:
        """Return whether exactly this path is one of its files."""
        return self.place.contains(folder) or name in self.files.get(folder, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Users of a snapshot, and jobs of which this is unknown.

    Attributes:
        unknown: Place and reason of all that may.
        is_confirmed: All of this is known, and no pending checkpoint can change it: every job that
            was seen is over.
    """

    users: tuple[SnapshotUserPart, ...]
    unknown: tuple[tuple[str, str], ...]
    is_confirmed: bool


_METADATA_GONE = "its _metadata is gone: nobody can tell which files elsewhere were its own"


def users_of(
    snapshot: Snapshot,
    checkpoints: Sequence[Checkpoint],
    unreadable: Iterable[UnreadableCheckpoint],
    lives: Lives,
    *,
    named: Iterable[tuple[Location, str]] = (),
    weighing: Weighing,
) -> Users:
    """Return the users of a snapshot, as far as the checkpoints that were read show them.

    Args:
        checkpoints: Every checkpoint that was read; the snapshot's own only shows its maker.
        named: Checkpoints that resources name, and the resource.
        weighing: Asks whether files are where they are named, and how large they are.
    """
    groups = _grouped(
        checkpoint for checkpoint in checkpoints if checkpoint.folder != snapshot.place
    )
    users, unknown = [], [(each.uri, each.reason) for each in unreadable]
    if snapshot.checkpoint is None:
        unknown.append((str(snapshot.place), _METADATA_GONE))
    for (job_id, place), own in groups.items():
        user = _user(snapshot, (job_id, place), own, weighing)
        if user is not None:
            users.append(user)
        elif not lives.is_ended(job_id) and (reason := _unproven(own)) is not None:
            unknown.append((str(place), reason))
    maker = _maker(snapshot, groups, lives)
    if isinstance(maker, SnapshotUserPart):
        users += _others([maker], users)
    elif maker is not None and maker[0] not in {user.place for user in users}:
        unknown.append(maker)
    users += _others(_restored(snapshot, lives), users)
    users += _pinning(snapshot, named)
    read = checkpoints if snapshot.checkpoint is None else [*checkpoints, snapshot.checkpoint]
    unknown += unread_of(lives, read)
    if (hidden := hidden_origin_problem(lives.after)) is not None:
        unknown.append((str(snapshot.place), hidden))
    seen = {
        *lives.directories,
        *(checkpoint.job_id for checkpoint in read if checkpoint.directory is not None),
    }
    is_over = not lives.living and all(lives.is_ended(each) for each in seen)
    return Users(
        users=tuple(users),
        unknown=tuple(dict.fromkeys(unknown)),
        is_confirmed=is_over and not unknown,
    )


def _grouped(checkpoints: Iterable[Checkpoint]) -> dict[tuple[str, Location], list[Checkpoint]]:
    """Return checkpoints by job id and directory; one of no job is a group of its own."""
    groups: dict[tuple[str, Location], list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        groups.setdefault(
            (checkpoint.job_id, checkpoint.directory or checkpoint.folder), []
        ).append(checkpoint)
    return dict(sorted(groups.items(), key=lambda each: (each[0][0], str(each[0][1]))))


def _others(
    found: Iterable[SnapshotUserPart], known: Iterable[SnapshotUserPart]
) -> list[SnapshotUserPart]:
    """Return the users whose jobs are not among those that are known."""
    ids = {user.job_id for user in known}
    return [each for each in found if each.job_id not in ids]


def _maker(
    snapshot: Snapshot, groups: Mapping[tuple[str, Location], Sequence[Checkpoint]], lives: Lives
) -> SnapshotUserPart | tuple[str, str] | None:
    """Return the job that made a snapshot if it may restore it, or why that is unknown."""
    if snapshot.maker is None:
        return None
    job_id, place, number = snapshot.maker
    own = [
        checkpoint
        for (_, each), checkpoints in groups.items()
        if each == place
        for checkpoint in checkpoints
    ]
    facts, holds = lives.newest_of(job_id), lives.holds_of(job_id)
    is_needed = is_restore_fallback(snapshot.place, number, own, facts=facts, holds=holds)
    if lives.is_ended(job_id) or not is_needed:
        return None
    if job_id not in lives.living:
        reason = (
            "the snapshot is its newest checkpoint, and nobody says whether the job is over: ask"
            " Flink with --flink-rest, or say so with --ended-job"
        )
        return str(place), reason
    return SnapshotUserPart(
        job_id=job_id,
        place=str(place),
        why="it is its own newest checkpoint, and the job is not over",
    )


def _user(
    snapshot: Snapshot,
    key: tuple[str, Location],
    checkpoints: Sequence[Checkpoint],
    weighing: Weighing,
) -> SnapshotUserPart | None:
    job_id, place = key
    named = unowned_references(map(Namer.of, checkpoints), (place,), None)
    found = meant(snapshot.foreign, named)
    references = [left for each in found if len((left := _really(snapshot, each, weighing)).names)]
    if not references:
        return None
    standing = standing_of(references)
    count = len(standing.named_by)
    return SnapshotUserPart(
        job_id=job_id,
        place=str(place),
        why=f"{count} checkpoint{'s' if count > 1 else ''} name its files",
        references=standing.references,
        bytes=weighing.weigh(references, snapshot.place),
        sample=standing.sample,
        checkpoints=standing.named_by,
    )


def _really(
    snapshot: Snapshot, reference: UnownedReference, weighing: Weighing
) -> UnownedReference:
    """Return a reference without the files of the same name in the user's own folder.

    Flink keeps the names of files that it copies within a storage.
    """
    if not reference.is_own:
        return reference
    same = FileNames(
        name for name in reference.names if snapshot.is_named_by(reference.folder, name)
    )
    others = FileNames(name for name in reference.names if name not in same)
    left = weighing.without_those_at_home(replace(reference, names=others)).names
    return replace(reference, names=FileNames([*same, *left]))


def _unproven(checkpoints: Sequence[Checkpoint]) -> str | None:
    """Return why a job may use files that none of its checkpoints names (R2)."""
    for checkpoint in checkpoints:
        if checkpoint.unproven_layout is not None:
            layout = checkpoint.unproven_layout
            return f"{checkpoint.folder} holds {layout}: the job may use files unnamed"
        for folder in checkpoint.files:
            place = place_of_folder(folder.path.lstrip("/"))
            if place.scope is Scope.SHARED and place.inner:
                at = checkpoint.folder
                return f"{at} names files below shared/: the job may use others unnamed"
    return None


def _pinning(
    snapshot: Snapshot, named: Iterable[tuple[Location, str]]
) -> Iterator[SnapshotUserPart]:
    """Yield the resources that name a snapshot as a whole (R43)."""
    real = resolved(snapshot.place)
    for by in sorted({by for place, by in named if resolved(place) == real}):
        yield SnapshotUserPart(job_id="", place=by, why="this resource names it as a whole")


def _restored(snapshot: Snapshot, lives: Lives) -> Iterator[SnapshotUserPart]:
    """Yield the running jobs that have nothing else to go back to."""
    for job_id in lives.living:
        for each in lives.newest_of(job_id):
            if each.restored is None or not each.has_nothing_since:
                continue
            if place_of(each.restored.external_path, lives.aliases) == snapshot.place:
                yield SnapshotUserPart(
                    job_id=job_id,
                    place=None,
                    why="it was restored from it, and has completed no checkpoint since",
                )
                break
