"""Which jobs, and which of their checkpoints, still need files of a snapshot (R4, R5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flinkstate.files.paths import is_same
from flinkstate.places.locations import Location, places_of
from flinkstate.text.shown_text import counted
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.collect.observe.ended_jobs import Lives, unread_of
from orphangc.core.cluster.job_facts import comes_back, hidden_origin_problem
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.dependencies.foreign_files import (
    Foreign,
    Namer,
    UnownedReference,
    meant,
    standing_of,
    unowned_references,
)
from orphangc.core.dependencies.restore_fallback import is_restore_fallback, recovers_from_its_own
from orphangc.core.dependencies.unnamed_files import unnamed_files_problem
from orphangc.core.documents.self_sustained_record import SnapshotUserPart
from orphangc.core.groups import grouped
from orphangc.core.memory.job_lives import is_over
from orphangc.core.memory.remembered import RememberedDirectory
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import ForeignKind, Scope
from orphangc.core.times.instants import shifted


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
    def maker(self) -> tuple[str, Location, int | None] | None:
        """Return id ("" if unknown) and directory of the job that made it, and its number.

        ``None`` for a snapshot in no job's directory.
        """
        known = self.checkpoint
        if known is not None and known.directory is not None:
            return known.job_id, known.directory, known.checkpoint_id
        at = place_of_folder(self.place.path.lstrip("/"))
        if at.job_directory is None or at.scope is not Scope.EXCLUSIVE:
            return None
        return at.job_id, self.place.top.child(at.job_directory), at.checkpoint_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Users of a snapshot, and jobs of which this is unknown.

    Attributes:
        is_confirmed: All of this is known, and no pending checkpoint can change it: every job that
            was seen is over.
    """

    users: tuple[SnapshotUserPart, ...]
    unknown: tuple[tuple[str, str], ...]
    is_confirmed: bool


_AGAIN = "and begins with it again: no HA metadata in use names a checkpoint of its own"
_FORGOTTEN = (
    "Flink shows no longer what it was first restored from, and it begins with that again: no HA"
    " metadata in use names a checkpoint of its own (--kubernetes-ha, --zookeeper-ha)"
)
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
    """
    files = {} if snapshot.checkpoint is None else snapshot.checkpoint.files
    foreign = Foreign.of(ForeignKind.SNAPSHOT, snapshot.place, [snapshot.stored, *files.values()])
    groups = _grouped(each for each in checkpoints if not is_same(each.folder, snapshot.place))
    users, unknown = [], [(each.uri, each.reason) for each in unreadable]
    if snapshot.checkpoint is None:
        unknown.append((str(snapshot.place), _METADATA_GONE))
    for (job_id, place), own in groups.items():
        found = meant(foreign, unowned_references(map(Namer.of, own), (place,), None))
        left = [_really(snapshot, each, weighing) for each in found]
        user = _user(snapshot, (job_id, place), [each for each in left if each.names], weighing)
        if user is not None:
            users.append(user)
        elif not lives.is_ended(job_id):
            reason = unnamed_files_problem(own, lives.newest_of(job_id))
            unknown += [] if reason is None else [(str(place), reason)]
    maker = _maker(snapshot, checkpoints, lives)
    if isinstance(maker, tuple) and maker[0] not in {user.place for user in users}:
        unknown.append(maker)
    read = checkpoints if snapshot.checkpoint is None else [*checkpoints, snapshot.checkpoint]
    unnamed = [maker] if isinstance(maker, SnapshotUserPart) else []
    bound = _bound({*lives.living, *(each.job_id for each in lives.memory.jobs)}, read, lives)
    known = {each.job_id for each in users}
    for user in (*unnamed, *_beginning(snapshot, bound, lives)):
        if user.job_id not in known:
            known.add(user.job_id)
            users.append(user)
    users += _pinning(snapshot, named)
    hidden = hidden_origin_problem(lives.after)
    unknown += [*_lost(read, lives.memory.directories), *unread_of(lives, read)]
    unknown += [
        *_forgotten(snapshot, bound, lives),
        *_restored_before(snapshot, bound.keys() - known, lives),
    ]
    unknown += [(str(snapshot.place), hidden)] if hidden else []
    return Users(
        users=tuple(users),
        unknown=tuple(dict.fromkeys(unknown)),
        is_confirmed=_are_all_over(lives, read) and not unknown,
    )


def _lost(
    read: Iterable[Checkpoint], remembered: Iterable[RememberedDirectory]
) -> Iterator[tuple[str, str]]:
    """Yield the directories that lack the newest checkpoint that an earlier cycle saw there.

    Whether Flink removed it, a cycle says, and not this; what it needs is no longer read.
    """
    newest: dict[str, int] = {}
    for each in read:
        place = str(each.directory or each.folder.parent)
        newest[place] = max(newest.get(place, -1), each.checkpoint_id)
    for seen in remembered:
        if seen.resolved_at is None and seen.newest_id > newest.get(seen.uri, -1):
            reason = (
                f"an earlier plan saw checkpoint {seen.newest_id} there, and it is not there now:"
                " plan again, which says whether Flink removed it"
            )
            yield seen.uri, reason


def _are_all_over(lives: Lives, read: Iterable[Checkpoint]) -> bool:
    seen = {
        *(each.job_id for each in lives.memory.jobs if not is_over(each)),
        *lives.directories,
        *(checkpoint.job_id for checkpoint in read if checkpoint.directory is not None),
    }
    return not lives.living and all(lives.is_ended(each) for each in seen)


def _grouped(checkpoints: Iterable[Checkpoint]) -> dict[tuple[str, Location], list[Checkpoint]]:
    """Return checkpoints by job id and directory; one of no job is a group of its own."""
    groups = grouped(checkpoints, lambda each: (each.job_id, each.directory or each.folder))
    return dict(sorted(groups.items(), key=lambda each: (each[0][0], str(each[0][1]))))


def _maker(
    snapshot: Snapshot, checkpoints: Sequence[Checkpoint], lives: Lives
) -> SnapshotUserPart | tuple[str, str] | None:
    """Return the job that made a snapshot if it may restore it, or why that is unknown."""
    if snapshot.maker is None:
        return None
    job_id, place, number = snapshot.maker
    own = [each for each in checkpoints if is_same(each.directory or each.folder, place)]
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
    references: Sequence[UnownedReference],
    weighing: Weighing,
) -> SnapshotUserPart | None:
    if not references:
        return None
    job_id, place = key
    standing = standing_of(references)
    count = len(standing.named_by)
    return SnapshotUserPart(
        job_id=job_id,
        place=str(place),
        why=f"{counted(count, 'checkpoint')} name{'s' if count == 1 else ''} its files",
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
    folder, names = reference.folder, reference.names
    if not reference.is_own or snapshot.place.contains(folder):
        return reference
    exact = () if snapshot.checkpoint is None else snapshot.checkpoint.files.get(folder, ())
    others = replace(reference, names=FileNames(name for name in names if name not in exact))
    left = weighing.without_those_at_home(others).names
    return replace(reference, names=FileNames(n for n in names if n in exact or n in left))


def _pinning(
    snapshot: Snapshot, named: Iterable[tuple[Location, str]]
) -> Iterator[SnapshotUserPart]:
    """Yield the resources and configurations that name a snapshot as a whole (R43)."""
    for by in sorted({by for place, by in named if is_same(place, snapshot.place)}):
        yield SnapshotUserPart(job_id="", place=by, why="it names the snapshot as a whole")


def _beginning(
    snapshot: Snapshot, bound: Collection[str], lives: Lives
) -> Iterator[SnapshotUserPart]:
    """Yield the living jobs that begin with a snapshot again, as Flink shows (R43)."""
    for job_id in lives.living:
        shown = [e for e in lives.newest_of(job_id) if e.has_nothing_since or job_id in bound]
        restored = [each.restored.external_path for each in shown if each.restored]
        places = places_of(restored, lives.aliases)
        if any(is_same(place, snapshot.place) for place in places):
            is_new = any(each.has_nothing_since for each in shown)
            since = "and has completed no checkpoint since" if is_new else _AGAIN
            why = f"it was restored from it, {since}"
            yield SnapshotUserPart(job_id=job_id, place=None, why=why)


def _bound(
    jobs: Iterable[str], checkpoints: Iterable[Checkpoint], lives: Lives
) -> dict[str, list[Checkpoint]]:
    """Return the jobs that begin with their first origin again, each with its checkpoints."""
    by_id = grouped(checkpoints, lambda each: str(each.job_id))
    found = ((each, by_id.get(each, [])) for each in sorted(jobs))
    return {job_id: own for job_id, own in found if not _recovers(job_id, own, lives)}


def _recovers(job_id: str, own: Iterable[Checkpoint], lives: Lives) -> bool:
    ids = {each.checkpoint_id for each in own if each.directory is not None}
    facts = lives.newest_of(job_id)
    holds = () if comes_back(job_id, facts) else lives.holds_of(job_id)
    return recovers_from_its_own(facts, holds, ids)


def _forgotten(
    snapshot: Snapshot, bound: Mapping[str, Sequence[Checkpoint]], lives: Lives
) -> Iterator[tuple[str, str]]:
    """Yield the living jobs that Flink shows restored from their own: they may have failed over.

    What was stored after its run had begun, none began with; nor with what it made itself.
    """
    stored_at = None if snapshot.checkpoint is None else snapshot.checkpoint.modified_at
    maker = None if snapshot.maker is None else snapshot.maker[0]
    for job_id in (each for each in lives.living if each in bound):
        facts, own = lives.newest_of(job_id), bound[job_id]
        homes = {*lives.directories.get(job_id, ()), *(e.directory for e in own if e.directory)}
        restored = [each.restored.external_path for each in facts if each.restored]
        places = places_of(restored, lives.aliases)
        oldest = min((e.modified_at for e in own if e.modified_at), default=lives.now)
        begun = shifted(max(oldest, *(each.started_at for each in facts)), lives.clock_skew)
        if (
            any(home.contains(place) for place in places for home in homes)
            and (stored_at is None or stored_at <= begun)
            and job_id != maker
        ):
            yield f"job {job_id}", _FORGOTTEN


_RESTORED_BEFORE = (
    "an earlier cycle saw it restored from the snapshot, and it may begin with that again: ask its"
    " cluster and its HA metadata, or declare with --ended-job that it is over"
)


def _restored_before(
    snapshot: Snapshot, bound: Collection[str], lives: Lives
) -> Iterator[tuple[str, str]]:
    """Yield the jobs that earlier cycles saw restored from a snapshot, and that may live (R43)."""
    for record in lives.memory.jobs:
        places, job_id = places_of(record.restored, lives.aliases), record.job_id
        if (
            any(is_same(place, snapshot.place) for place in places)
            and not lives.is_ended(job_id)
            and job_id in bound
        ):
            yield f"job {job_id}", _RESTORED_BEFORE
