"""Foreign places that each job's state uses, and whether it still does (R30)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial

from flinkstate.files.paths import by_each_name, is_same, overlap, with_any_name
from flinkstate.places.locations import Location, is_within
from orphangc.collect.dependencies.checkpoint_holds import CheckpointHolds
from orphangc.collect.dependencies.origins import Origins
from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.observation import Environment
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import (
    Checkpoint,
    CycleEvidence,
    JobEvidence,
    UnreadableCheckpoint,
)
from orphangc.core.decision.guards import written_at
from orphangc.core.decision.judge import Judgement, judge
from orphangc.core.dependencies.foreign_files import Foreign, meant, unaccounted
from orphangc.core.dependencies.namers import Namers
from orphangc.core.dependencies.own_changelog import is_folder_of_changes
from orphangc.core.dependencies.restore_fallback import is_restore_fallback
from orphangc.core.dependencies.self_sustained_rule import (
    ForeignUsage,
    Weigh,
    checks_of,
    foreign_usage_of,
    has_nothing_since,
    unweighed,
)
from orphangc.core.dependencies.unnamed_files import unnamed_files_problem
from orphangc.core.documents.self_sustained_record import UsageCheckPart
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker
from orphangc.core.model.codes import OTHERS_UNKNOWN, Condition
from orphangc.core.model.naming import job_directory_of, place_of_folder
from orphangc.core.model.types import ForeignKind, JobId
from orphangc.errors import OrphanGcError
from orphangc.ports import Storage


def _unsearched(
    judged: Iterable[Judgement], cycle: CycleEvidence
) -> tuple[tuple[Condition, str], ...]:
    """Return why some job may need files of any place, unseen.

    Whatever job that blocks: the place that is asked about is in no directory of its own. A job of
    which nothing is known is blocked by all that concerns no job alone.
    """
    unseen = JobEvidence(key="", job_id=JobId(""), is_collected=False, is_declared_ended=False)
    missed = [] if cycle.missed is None else [(cycle.missed.condition, cycle.missed.message)]
    blocked = (e for own in (*judged, judge(unseen, cycle, guards={})) for e in own.blocked)
    found = ((e.condition, e.message) for e in blocked if e.condition in OTHERS_UNKNOWN)
    return tuple(dict.fromkeys([*missed, *found]))


def _absent(missing: Iterable[str], base: Location) -> dict[Location, set[str]]:
    absent: dict[Location, set[str]] = {}
    for key in missing:
        folder, _, name = key.rpartition("/")
        absent.setdefault(base.child(folder), set()).add(name)
    return absent


def names_in(storage: Storage, key: str) -> FileNames:
    """Return the names of the files directly in a folder."""
    return FileNames(each.key.rpartition("/")[2] for each in storage.folder(key).objects)


def _stored(open_storage: Callable[[Location], Storage], place: Location) -> FileNames:
    """Return those names as far as they are known: none if the folder cannot be listed."""
    try:
        return names_in(open_storage(place.top), place.path.lstrip("/"))
    except OrphanGcError:
        return FileNames()


@dataclass(frozen=True, kw_only=True)
class ForeignUsages:
    """Checks the jobs of one cycle.

    Attributes:
        by_job: Foreign files that its state uses, by job key.
        owners: Job key by job directory.
        held: UUIDs of live artifacts in its ``shared/``, by job key.
        stored: Returns the names of the files directly in a folder, none if it cannot be listed.
        ended: Keys of the jobs that are over.
        holds: What names snapshots as a whole: resources, configurations, and pins.
        beside: Jobs that only the search shows, and that are not over.
        origins: Checkpoints with which jobs may begin again.
        quarantines: Markers of checkpoints in quarantine whose copies were not read.
        broken: Checkpoints that cannot be read, and whose bytes name files all the same (R6).
        unsearched: Why some other job may need files of any place, unseen.
    """

    by_job: Mapping[str, ForeignUsage]
    checkpoints: Sequence[Checkpoint]
    owners: Mapping[Location, str]
    held: Mapping[str, UuidSet]
    stored: Callable[[Location], FileNames]
    ended: Collection[str] = ()
    holds: CheckpointHolds = field(default_factory=CheckpointHolds)
    beside: Sequence[JobEvidence] = ()
    origins: Origins = field(default_factory=Origins)
    quarantines: Sequence[ExpiryMarker] = ()
    broken: Sequence[UnreadableCheckpoint] = ()
    is_declared_ended: Callable[[str], bool] = lambda _: False
    written_at: Callable[[Checkpoint], datetime | None] = lambda each: each.modified_at
    unsearched: Sequence[tuple[Condition, str]] = ()

    def check(
        self, key: str, asked: Sequence[Location] = (), weigh: Weigh = unweighed
    ) -> tuple[UsageCheckPart, ...]:
        """Return the checks of one job: of everything, and of each foreign place that matters.

        These are the snapshots that it is said to be restored from, those in ``asked``, and every
        directory and snapshot that contains a file which it still names.
        """
        usage = _spelled_as(asked, self.by_job[key])
        snapshots = dict.fromkeys((*asked, *(place for _, place in usage.restored)))
        if not usage.unowned and not snapshots:
            return checks_of(usage, ())
        by_folder = self.by_folder
        foreigners = [_snapshot(place, by_folder.get(place)) for place in snapshots]
        foreigners += _by_path(usage, self, known=snapshots)
        foreigners = _searched(key, usage, self, foreigners)
        users = {
            each.place: _users_of(each, key, self, by_folder.get(each.place))
            for each in foreigners
            if each.kind is ForeignKind.SNAPSHOT
        }
        unseen = {
            each.place: next((_said(*one) for one in self.unseen(each.place, (key,))), "")
            for each in foreigners
        }
        return checks_of(usage, foreigners, users=users, unseen=unseen, weigh=weigh)

    @cached_property
    def by_folder(self) -> dict[Location, Checkpoint]:
        """Return the checkpoints by their folders."""
        return {each.folder: each for each in self.checkpoints}

    @cached_property
    def loose(self) -> dict[Location, Checkpoint]:
        """Return those in no job directory, by their folders."""
        return {each.folder: each for each in self.checkpoints if each.directory is None}

    @cached_property
    def names_around(self) -> dict[Location, list[FileNames]]:
        """Return the names in each folder that a checkpoint has, by each place around it."""
        found: dict[Location, list[FileNames]] = {}
        for checkpoint in self.checkpoints:
            for folder, names in checkpoint.files.items():
                for place in folder.upwards():
                    found.setdefault(place, []).append(names)
        return found

    @cached_property
    def lacking(self) -> dict[str, list[Checkpoint]]:
        """Return the checkpoints that may hold what a job's own folders lack, by the job's key."""
        own = Namers.of(
            (key, reference.folder, reference.names)
            for key, usage in self.by_job.items()
            for reference in usage.unowned
            if reference.is_own
        )
        ordered = sorted(self.checkpoints, key=lambda each: str(each.folder))
        found: dict[str, list[Checkpoint]] = {}
        for each in ordered:
            for key in own.of_place(_snapshot(each.folder, each)):
                found.setdefault(key, []).append(each)
        return found

    @cached_property
    def claimers(self) -> Namers[str]:
        """Return the keys of the jobs that may need foreign files, by what they name."""
        return Namers.of(
            (key, reference.folder, reference.names)
            for key, usage in self.by_job.items()
            for reference in usage.unowned
        )

    @cached_property
    def abroad(self) -> frozenset[str]:
        """Return the keys of the jobs that name files outside their own directories."""
        jobs = self.by_job.items()
        return frozenset(key for key, one in jobs if any(not each.is_own for each in one.unowned))

    @cached_property
    def fresh(self) -> dict[Location, set[str]]:
        """Return the keys of the jobs with nothing since, by each name of what they began with."""
        return by_each_name(
            (place, key)
            for key, usage in self.by_job.items()
            for at, place in usage.restored
            if has_nothing_since(usage, at)
        )

    @cached_property
    def strangers(self) -> Namers[int]:
        """Return the positions of the checkpoints of no judged job, by the files of others."""
        jobs = self.by_job.values()
        read = {each.folder for usage in jobs for each in usage.job.own_checkpoints}
        return Namers.of(
            (number, folder, foreign)
            for number, each in enumerate(self.checkpoints)
            if each.folder not in read
            for folder, names in each.files.items()
            for own in [each.directory or each.folder]
            for foreign in [FileNames() if own.contains(folder) else names]
        )

    def namers_of(self, place: Location) -> set[str]:
        """Return what names a snapshot as a whole: resources, configurations, and pins."""
        return {f"the pin {by}" if kind == "pin" else by for kind, by in self.holds.of(place)}

    @cached_property
    def refusals(self) -> list[tuple[str, str, str]]:
        """Return the keys and names of the jobs that may live and are refused, and why."""
        return [
            (key, f"job {usage.job.job_id or key}", usage.judgement.refused.message)
            for key, usage in self.by_job.items()
            if usage.judgement.refused is not None and key not in self.ended
        ]

    @cached_property
    def problems_beside(self) -> list[str]:
        """Return why jobs that only the search shows may use files unnamed."""
        problems = (unnamed_files_problem(each.own_checkpoints) for each in self.beside)
        return [each for each in problems if each is not None]

    def unseen(self, place: Location, known: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield what may need files of a place unseen, "" if it is no job or marker, and why.

        Args:
            known: Keys of jobs of which the answer says already whether they need it.
        """
        yield from (("", message) for _, message in self.unsearched)
        yield from ((name, why) for key, name, why in self.refusals if key not in known)
        yield from (("", problem) for problem in self.problems_beside)
        for each in self.quarantines:
            if each.root is None or overlap(each.root, place):
                yield str(each.folder), each.doubt


def foreign_usages_of(
    environment: Environment,
    marked: Mark,
    *,
    jobs: Mapping[str, JobEvidence],
    judged: Mapping[str, Judgement],
    missing: Mapping[str, Iterable[str]],
    held: Mapping[str, UuidSet],
    cycle: CycleEvidence,
) -> ForeignUsages:
    """Return the foreign usages of the jobs of one cycle.

    Args:
        missing: Keys that are not stored, by key of the jobs whose directories were listed.
        held: UUIDs of live artifacts in its ``shared/``, by job key.
    """
    settings = environment.settings
    base = environment.storage.location
    namers = _folders_of_changes(marked)
    usages = {
        key: foreign_usage_of(
            job,
            judged.get(key, Judgement()),
            absent=_absent(missing[key], base) if key in missing else None,
            aliases=settings.aliases,
            named_by_others={
                folder
                for checkpoint in job.own_checkpoints
                for folder in checkpoint.files
                if namers.get(folder, set()) - {key}
            },
            cycle=cycle,
        )
        for key, job in jobs.items()
    }
    return ForeignUsages(
        by_job=usages,
        checkpoints=marked.checkpoints,
        owners=marked.owners.keys,
        held=held,
        stored=lambda place: _stored(environment.open_storage, place),
        ended={key for key, usage in usages.items() if usage.is_over},
        is_declared_ended=partial(settings.is_declared_ended, by_id=True),
        written_at=partial(written_at, cycle=cycle),
        unsearched=_unsearched(judged.values(), cycle),
        broken=cycle.unreadable,
    )


def _folders_of_changes(marked: Mark) -> dict[Location, set[str]]:
    """Return each folder of a changelog with the keys of the jobs whose checkpoints name it.

    A savepoint, which is in no job directory, has the key "".
    """
    found: dict[Location, set[str]] = {}
    for checkpoint in marked.checkpoints:
        directory = checkpoint.directory
        key = "" if directory is None else marked.owners.keys.get(directory, str(directory))
        for folder in filter(is_folder_of_changes, checkpoint.files):
            found.setdefault(folder, set()).add(key)
    return found


def _spelled_as(asked: Sequence[Location], usage: ForeignUsage) -> ForeignUsage:
    named = [
        (at, next((each for each in asked if is_same(each, place)), place))
        for at, place in usage.restored
    ]
    return replace(usage, restored=tuple(dict.fromkeys(named)))


def _snapshot(place: Location, checkpoint: Checkpoint | None) -> Foreign:
    """Return a snapshot; the files of one without a ``_metadata`` are unknown."""
    files = () if checkpoint is None else checkpoint.files.values()
    return Foreign.of(ForeignKind.SNAPSHOT, place, files, is_known=checkpoint is not None)


def _by_path(
    usage: ForeignUsage, usages: ForeignUsages, *, known: Collection[Location]
) -> list[Foreign]:
    loose = usages.loose
    folders = {reference.folder for reference in usage.unowned if not reference.is_own}
    homes = {
        _home(folder, usages.owners, loose)
        for folder in folders
        if not any(place.contains(folder) for place in known)
    }
    return [
        _snapshot(home, loose[home]) if home in loose else _directory(home, usages)
        for home in sorted(homes, key=str)
    ]


def _home(
    folder: Location, owners: Mapping[Location, str], snapshots: Mapping[Location, Checkpoint]
) -> Location:
    known = (place for place in folder.upwards() if place in snapshots or place in owners)
    return next(known, None) or job_directory_of(folder) or folder


def _directory(place: Location, usages: ForeignUsages) -> Foreign:
    found = Foreign.of(ForeignKind.DIRECTORY, place, usages.names_around.get(place, ()))
    found.uuids.update(usages.held.get(usages.owners.get(place, ""), ()))
    return found


def _searched(
    key: str, usage: ForeignUsage, usages: ForeignUsages, foreigners: list[Foreign]
) -> list[Foreign]:
    """Return the foreign places with those that contain what the job's own folders lack.

    A file that Flink wrote to the wrong folder (FLINK-39964) is in some snapshot: in one that was
    read, or beside the ``_metadata`` of one that Flink has deleted since, file by file.
    """
    if not unaccounted(usage.unowned, foreigners):
        return foreigners
    found = [
        each
        if each.is_known
        else Foreign.of(each.kind, each.place, [usages.stored(each.place)], is_known=False)
        for each in foreigners
    ]
    places = {each.place for each in found}
    own = [reference for reference in usage.unowned if reference.is_own]
    others = (
        _snapshot(each.folder, each)
        for each in usages.lacking.get(key, ())
        if usages.owners.get(each.directory or each.folder) != key and each.folder not in places
    )
    return [*found, *(each for each in others if meant(each, own))]


def _said(by: str, why: str) -> str:
    return f"{by}: {why}" if by else why


def _users_of(
    snapshot: Foreign, key: str, usages: ForeignUsages, checkpoint: Checkpoint | None
) -> tuple[str, ...]:
    """Return the other users of a snapshot's files: jobs, resources, and checkpoints of neither.

    The job that made it shares files with it, and keeps them: it counts only as long as it may go
    back to this very checkpoint, or another one of its own names files in that one's folder. The
    job that is asked about counts if it may begin with it again.
    """
    maker, is_user = maker_of(snapshot.place, usages)
    others = {maker} if is_user and maker != key else set[str]()
    found = usages.claimers.of_place(snapshot) | with_any_name(usages.fresh, snapshot.place)
    others |= {
        usages.by_job[other].job.job_id or other
        for other in found.union(() if snapshot.is_known else usages.abroad) - {key, maker}
        if _is_user(usages.by_job[other], snapshot)
    }
    strangers = (usages.checkpoints[at] for at in usages.strangers.of_place(snapshot))
    others |= {str(each.folder) for each in strangers if _is_named_by(each, snapshot)}
    stored_at = None if checkpoint is None else usages.written_at(checkpoint)
    others |= {*usages.origins.users_of(snapshot.place, stored_at, maker)}
    others |= usages.namers_of(snapshot.place)
    broken = (e for e in usages.broken if not is_within(e.uri, [str(snapshot.place)]))
    others |= {each.uri for each in broken if snapshot.may_be_named_in(each.raw)}
    return tuple(sorted(others))


def _is_named_by(checkpoint: Checkpoint, snapshot: Foreign) -> bool:
    own = checkpoint.directory or checkpoint.folder
    is_named = not own.contains(snapshot.place) and any(
        snapshot.place.contains(folder)
        or (not own.contains(folder) and snapshot.uuids.contains(*names.uuids).any())
        for folder, names in checkpoint.files.items()
    )
    return is_named and not is_same(checkpoint.folder, snapshot.place)


def maker_of(place: Location, usages: ForeignUsages) -> tuple[str, bool]:
    """Return the key of the job that made a snapshot, "" for none, and whether it needs it."""
    home = _home(place, usages.owners, {})
    file_place = place_of_folder(place.path.lstrip("/"))
    maker = usages.owners.get(home, file_place.job_id)
    if not maker:
        return "", False
    if maker not in usages.by_job:
        is_living = any(each.job_id == maker for each in usages.beside)
        return maker, is_living or not usages.is_declared_ended(maker)
    job = usages.by_job[maker].job
    own = [replace(e, modified_at=usages.written_at(e)) for e in job.own_checkpoints]
    is_needed = is_restore_fallback(
        place, file_place.checkpoint_id, own, facts=job.facts, holds=job.holds
    )
    is_named = any(
        place.contains(folder)
        for each in job.own_checkpoints
        if not is_same(each.folder, place)
        for folder in each.files
    )
    return maker, is_named or (maker not in usages.ended and is_needed)


def _is_user(usage: ForeignUsage, snapshot: Foreign) -> bool:
    """Return whether a job names files of a snapshot, or has nothing else to go back to."""
    return bool(meant(snapshot, usage.unowned)) or any(
        has_nothing_since(usage, at) and is_same(place, snapshot.place)
        for at, place in usage.restored
    )
