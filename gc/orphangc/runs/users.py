"""Which jobs, and which of their checkpoints, still need files of a snapshot (R4, R5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orphangc.core.evidence import Root, UnreadableRoot
from orphangc.core.file_names import FileNames
from orphangc.core.foreign import (
    Foreign,
    Namer,
    Standing,
    Stray,
    files_of,
    meant,
    standing_of,
    strays_of,
)
from orphangc.core.gate import ClusterFacts, JobFacts
from orphangc.core.model import ForeignKind, Scope
from orphangc.core.names import METADATA_NAME, place_of_folder
from orphangc.core.uris import Alias, Location, place_of
from orphangc.runs.weighing import Weighing

__all__ = ["Snapshot", "User", "users_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The snapshot that is asked about.

    Attributes:
        place: Its folder.
        root: What its ``_metadata`` says, ``None`` if there is none.
        stored: Names of the files directly in its folder.

    """

    place: Location
    root: Root | None
    stored: FileNames

    @property
    def files(self) -> Mapping[Location, FileNames]:
        """Return the files that its ``_metadata`` names, by folder."""
        return {} if self.root is None else self.root.files

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
class User:
    """A job, or a checkpoint of no job, that needs the snapshot.

    Attributes:
        job_id: "" for what lies in no job's directory.
        place: The job's directory, or the checkpoint.
        standing: Which files its checkpoints name.
        bytes: Of these files; ``None`` if nobody tells.
        why: How it needs them.

    """

    job_id: str
    place: Location | None
    standing: Standing
    bytes: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Who needs a snapshot, and of whom nobody can tell.

    Attributes:
        users: Those that do.
        unknown: Place and reason of all that may.

    """

    users: tuple[User, ...]
    unknown: tuple[tuple[str, str], ...]


def users_of(
    snapshot: Snapshot,
    roots: Iterable[Root],
    unreadable: Iterable[UnreadableRoot],
    clusters: Iterable[ClusterFacts],
    *,
    aliases: Sequence[Alias],
    ended: frozenset[str],
    weighing: Weighing,
) -> Users:
    """Return who needs a snapshot, as far as the roots that were read can tell.

    Args:
        snapshot: The snapshot.
        roots: Every root that was read; the snapshot's own is no user.
        unreadable: Every one that could not be.
        clusters: What Flink says.
        aliases: The operator's.
        ended: Jobs that are over, by the operator's word.
        weighing: Asks whether files are where they are named, and how large they are.

    """
    groups: dict[tuple[str, Location], list[Root]] = {}
    for root in roots:
        if root.folder != snapshot.place:
            groups.setdefault((root.job_id, root.directory or root.folder), []).append(root)
    users, unknown = [], [(each.uri, each.reason) for each in unreadable]
    if snapshot.root is None:
        unknown.append(
            (
                str(snapshot.place),
                "its _metadata is gone: nobody can tell which files elsewhere were its own",
            )
        )
    for (job_id, place), own in sorted(
        groups.items(), key=lambda each: (each[0][0], str(each[0][1]))
    ):
        user = _user(snapshot, (job_id, place), own, weighing)
        if user is not None:
            users.append(user)
        elif job_id not in ended and (reason := _unproven(own)) is not None:
            unknown.append((str(place), reason))
    facts = _facts(clusters)
    known = {user.job_id for user in users}
    users += [each for each in _restored(snapshot, facts, aliases) if each.job_id not in known]
    return Users(users=tuple(users), unknown=tuple(dict.fromkeys(unknown)))


def _user(
    snapshot: Snapshot, key: tuple[str, Location], roots: Sequence[Root], weighing: Weighing
) -> User | None:
    job_id, place = key
    namers = [
        Namer(uri=str(root.folder), checkpoint_id=root.checkpoint_id, files=root.files)
        for root in roots
    ]
    found = meant(snapshot.foreign, strays_of(namers, (place,), None))
    strays = [left for each in found if len((left := _really(snapshot, each, weighing)).names)]
    if not strays:
        return None
    standing = standing_of(strays)
    count = len(standing.named_by)
    return User(
        job_id=job_id,
        place=place,
        standing=standing,
        bytes=weighing.weigh(strays, snapshot.place),
        why=f"{count} checkpoint{'s' if count > 1 else ''} name its files",
    )


def _really(snapshot: Snapshot, stray: Stray, weighing: Weighing) -> Stray:
    """Return a stray without the files that lie in the user's own folder under the same name.

    Flink keeps the names of files that it copies within a storage.
    """
    if not stray.is_own:
        return stray
    same = FileNames(name for name in stray.names if snapshot.is_named_by(stray.folder, name))
    others = FileNames(name for name in stray.names if name not in same)
    left = weighing.without_those_at_home(replace(stray, names=others)).names
    return replace(stray, names=FileNames([*same, *left]))


def _unproven(roots: Sequence[Root]) -> str | None:
    """Return why a job may use files that none of its checkpoints names (R2)."""
    for root in roots:
        if root.unproven_layout is not None:
            return f"{root.folder} holds {root.unproven_layout}: the job may use files unnamed"
        for folder in root.files:
            place = place_of_folder(folder.path.lstrip("/"))
            if place.scope is Scope.SHARED and place.inner:
                return f"{root.folder} names files below shared/: the job may use others unnamed"
    return None


def _facts(clusters: Iterable[ClusterFacts]) -> list[JobFacts]:
    told = [facts for cluster in clusters for facts in cluster.jobs.values()]
    return [facts for facts in told if not facts.is_globally_terminal]


def _restored(
    snapshot: Snapshot, facts: Iterable[JobFacts], aliases: Sequence[Alias]
) -> Iterable[User]:
    """Yield the running jobs that have nothing else to go back to."""
    for each in facts:
        if (
            each.restored is None
            or place_of(each.restored.external_path, aliases) != snapshot.place
        ):
            continue
        if (each.latest_completed_id or -1) <= each.restored.id:
            yield User(
                job_id=each.job_id,
                place=None,
                standing=Standing(),
                bytes=None,
                why="it was restored from it, and has completed no checkpoint since",
            )
