"""Which jobs, and which of their checkpoints, still need files of a snapshot (R4, R5, R43).

The relation of ``self-sustained`` from the other side, by the same cycle.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flinkstate.files.paths import is_same, with_any_name
from flinkstate.places.locations import Location
from flinkstate.text.shown_text import counted
from orphangc.collect.dependencies.foreign_usage import ForeignUsages, maker_of
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.dependencies.foreign_files import (
    Foreign,
    Namer,
    UnownedReference,
    meant,
    standing_of,
    unowned_references,
)
from orphangc.core.documents.self_sustained_record import SnapshotUserPart
from orphangc.core.groups import grouped
from orphangc.core.model.types import ForeignKind, JobState

_METADATA_GONE = "its _metadata is gone: nobody can tell which files elsewhere were its own"
_REGISTERED = "its exported registry names files of it"
_NEWEST = "it is its own newest checkpoint, and the job is not over"
_FRESH = "it was restored from it, and has completed no checkpoint since"
_AGAIN = (
    "it was restored from it, and begins with it again: no HA metadata in use names a checkpoint"
    " of its own (--kubernetes-ha, --zookeeper-ha)"
)
_HIDDEN = (
    "nothing shows what it begins with again: ask its cluster (--flink-rest) and its HA metadata"
    " (--kubernetes-ha, --zookeeper-ha), or declare with --ended-job that it is over"
)
_MAKER_UNKNOWN = (
    "the snapshot is its newest checkpoint, and nobody says whether the job is over: ask Flink with"
    " --flink-rest, or say so with --ended-job"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The snapshot that is asked about.

    Attributes:
        stored: Names of the files directly in its folder.
    """

    place: Location
    checkpoint: Checkpoint | None
    stored: FileNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Users of a snapshot, and what leaves others unknown.

    Attributes:
        unknown: What may need it, "" if that is no single job or place, and why it is unknown.
        is_confirmed: All of this is known, and no pending checkpoint can change it: every job that
            was seen is over.
    """

    users: tuple[SnapshotUserPart, ...]
    unknown: tuple[tuple[str, str], ...]
    is_confirmed: bool


def users_of(snapshot: Snapshot, usages: ForeignUsages, weighing: Weighing) -> Users:
    """Return the users of a snapshot, as far as a cycle shows them."""
    files = {} if snapshot.checkpoint is None else snapshot.checkpoint.files
    foreign = Foreign.of(ForeignKind.SNAPSHOT, snapshot.place, [snapshot.stored, *files.values()])
    stored_at = None if snapshot.checkpoint is None else usages.written_at(snapshot.checkpoint)
    maker, may_go_back = maker_of(snapshot.place, usages)
    users = [*_naming(snapshot, foreign, usages.checkpoints, weighing)]
    users += _registering(foreign, usages, _names(users))
    unknown = [] if snapshot.checkpoint is not None else [(str(snapshot.place), _METADATA_GONE)]
    unknown += [
        (each.uri, each.reason)
        for each in usages.broken
        if not each.is_acknowledged or foreign.may_be_named_in(each.raw)
    ]
    if may_go_back and maker not in _names(users):
        made = usages.by_job.get(maker)
        if made is not None and made.job.state in {JobState.RUNNING, JobState.SUSPENDED}:
            users.append(_whole(made.job.job_id or maker, _NEWEST))
        else:
            unknown.append((f"job {maker}", _MAKER_UNKNOWN))
    users += _beginning(snapshot.place, usages, _names(users))
    known = _names(users)
    users += (
        SnapshotUserPart(job_id="", place=by, why="it names the snapshot as a whole")
        for by in sorted(usages.namers_of(snapshot.place))
    )
    unknown += usages.unseen(snapshot.place, known)
    unknown += [
        (f"job {each.key}", _HIDDEN)
        for each in usages.origins.hidden_from(stored_at, maker)
        if each.key not in known
    ]
    are_all_over = usages.by_job.keys() <= {*usages.ended} and not usages.beside
    return Users(
        users=tuple(users),
        unknown=tuple(dict.fromkeys(unknown)),
        is_confirmed=are_all_over and not unknown,
    )


def _names(users: Iterable[SnapshotUserPart]) -> set[str]:
    """Return the ids and the directories of users: a job's key is one of the two."""
    return {name for each in users for name in (each.job_id, each.place) if name}


def _whole(job_id: str, why: str) -> SnapshotUserPart:
    """Return a job that needs the snapshot itself, whatever files its checkpoints name."""
    return SnapshotUserPart(job_id=job_id, place=None, why=why)


def _beginning(
    place: Location, usages: ForeignUsages, known: Iterable[str]
) -> Iterator[SnapshotUserPart]:
    """Yield the jobs that begin with a snapshot again, but for those that are known users."""
    shown = dict.fromkeys(with_any_name(usages.origins.shown, place), _AGAIN)
    for key in with_any_name(usages.fresh, place):
        shown[usages.by_job[key].job.job_id or key] = _FRESH
    for job_id in sorted(shown.keys() - {*known}):
        yield _whole(job_id, shown[job_id])


def _naming(
    snapshot: Snapshot, foreign: Foreign, checkpoints: Iterable[Checkpoint], weighing: Weighing
) -> Iterator[SnapshotUserPart]:
    """Yield the jobs, and the checkpoints of none, that name files of a snapshot."""
    others = (each for each in checkpoints if not is_same(each.folder, snapshot.place))
    for key, own in _grouped(others).items():
        found = meant(foreign, unowned_references(map(Namer.of, own), (key[1],), None))
        left = [_really(snapshot, each, weighing) for each in found]
        if references := [each for each in left if each.names]:
            yield _user(snapshot, key, references, weighing)


def _registering(
    foreign: Foreign, usages: ForeignUsages, known: Iterable[str]
) -> Iterator[SnapshotUserPart]:
    """Yield the jobs whose exported registries alone name files of a snapshot, but for known users.

    They are a pending checkpoint's.
    """
    for key, usage in usages.by_job.items():
        registered = (each for each in usage.unowned if each.namer.checkpoint_id is None)
        if (job_id := usage.job.job_id or key) not in known and meant(foreign, registered):
            yield _whole(job_id, _REGISTERED)


def _grouped(checkpoints: Iterable[Checkpoint]) -> dict[tuple[str, Location], list[Checkpoint]]:
    """Return checkpoints by job id and directory; one of no job is a group of its own."""
    groups = grouped(checkpoints, lambda each: (each.job_id, each.directory or each.folder))
    return dict(sorted(groups.items(), key=lambda each: (each[0][0], str(each[0][1]))))


def _user(
    snapshot: Snapshot,
    key: tuple[str, Location],
    references: Sequence[UnownedReference],
    weighing: Weighing,
) -> SnapshotUserPart:
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
