"""The table of areas; gc/README.md says what a new one needs."""

import re
from collections.abc import Mapping
from typing import Final

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder, until_the_end
from orphangc.core.model.bounds import Bound, BoundName
from orphangc.core.model.codes import Guard
from orphangc.core.model.job_folders import NUMBERED_FOLDERS
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobId, JobState, Scope


def _by_guards_alone(_facts: AreaFacts, _place: FilePlace) -> None:
    """Return nothing: guards and conditions of the whole job are this area's evidence."""


FLAT_SHARED = Area(
    name=AreaName.SHARED,
    layout=DirectoryLayout.FLAT,
    folders=(AreaFolder(Scope.SHARED),),
    written_by="TaskManagers",
    named_by="file handles, by their absolute path",
    rule_running="R9-R16",
    rule_ended="R35",
    objection=_by_guards_alone,
    is_written_in_place=False,
    is_stricter_than_merged=False,
)
"""``shared/<uuid>``: incremental state that several checkpoints use (R1-R24)."""


def _not_below_the_completed_one(facts: AreaFacts, place: FilePlace) -> str | None:
    """R31: checkpoint n is over once the present run has completed one with a higher id (T3).

    When checkpoint k is stored, the JobManager aborts every pending one with a lower id, under
    one lock: with any state backend, and any number of checkpoints at once. The largest
    ``chk-<n>`` that is listed proves nothing: it may be of an earlier run.
    Source: Flink 1.15-2.3, ``CheckpointCoordinator.completePendingCheckpoint``,
    ``dropSubsumedCheckpoints``.
    """
    if facts.state is not JobState.RUNNING or facts.completed_id is None:
        return (
            "no cluster shows which checkpoint the job completed last, so any chk-<n> may be"
            " pending: name the cluster with --flink-rest"
        )
    if facts.unknown_layout is not None:
        return facts.unknown_layout
    if place.checkpoint_id is not None and place.checkpoint_id < facts.completed_id:
        return None
    return f"checkpoint {place.checkpoint_id} may be pending, or is the newest one"


EXCLUSIVE = Area(
    name=AreaName.EXCLUSIVE,
    layout=DirectoryLayout.EXCLUSIVE,
    folders=(AreaFolder(Scope.EXCLUSIVE),),
    written_by="TaskManagers and the JobManager, for checkpoint n alone",
    named_by="relative handles of chk-<n>/_metadata, and file handles of checkpoints that were"
    " restored from it",
    rule_running="R31, R32",
    rule_ended="R35",
    objection=until_the_end(_not_below_the_completed_one),
    is_written_in_place=False,
    is_stricter_than_merged=False,
    withstands=frozenset({Guard.UNPROVEN_LAYOUT, Guard.GATE}),
)
"""``chk-<n>/``: files of one checkpoint (R31, R32, R35)."""


def _any_job_may_write(_facts: AreaFacts, _place: FilePlace) -> str:
    """R33: a savepoint belongs to no job directory, and any job may be writing it.

    So no job's facts suffice: ``collect.decide.abandoned_savepoints`` asks all of them.
    """
    return (
        "a savepoint's folder belongs to no job directory, and any job may still write into it:"
        " its files go only below an extra root, where no cycle saw a _metadata and nothing else"
        " is, while nothing stops any job and no cluster shows a pending savepoint"
    )


SAVEPOINT_FOLDER = Area(
    name=AreaName.SAVEPOINT,
    layout=DirectoryLayout.EXCLUSIVE,
    folders=(AreaFolder(Scope.SAVEPOINT),),
    written_by="TaskManagers and the JobManager",
    named_by="relative handles of its _metadata, and file handles of checkpoints that claimed it",
    rule_running="R33",
    rule_ended="R33",
    objection=_any_job_may_write,
    is_written_in_place=False,
    is_stricter_than_merged=False,
)
"""``savepoint-<6 hex>-<12 hex>/``: files of one savepoint (R33)."""


_TASK_OWNED = until_the_end(
    lambda *_: "a TaskManager may still name a file of a materialisation that is under way"
)


def _write_ahead(facts: AreaFacts, place: FilePlace) -> str | None:
    """R37: a write-ahead sink holds handles in state bytes, which no oracle reads."""
    if facts.has_write_ahead_sink:
        return (
            "a checkpoint holds the state of a write-ahead sink (pending-checkpoints), which names"
            " files of taskowned/ in bytes that only the job can read"
        )
    return _TASK_OWNED(facts, place)


TASK_OWNED = Area(
    name=AreaName.TASKOWNED,
    layout=DirectoryLayout.TASKOWNED,
    folders=(AreaFolder(Scope.TASKOWNED),),
    written_by="TaskManagers",
    named_by="materialised handles of changelog state, by their absolute path",
    rule_running="",
    rule_ended="R35, R37",
    objection=_write_ahead,
    is_written_in_place=True,
    is_stricter_than_merged=False,
)
"""``taskowned/<uuid>``: materialised state of the changelog, write-ahead logs (R35, R37, R48)."""


def _not_before_a_trigger(facts: AreaFacts, _: FilePlace) -> str | None:
    """R45: what was uploaded before a completed checkpoint was triggered is in it, or in none (T4).

    A file of the log may wait unnamed for as long as no checkpoint completes. But a TaskManager
    gives a checkpoint everything that was appended since the last materialisation, so what
    a completed one lacks no later one is given; with any number of checkpoints at once.
    Source: Flink 1.15-2.3, ``FsStateChangelogWriter.persist``.
    """
    if facts.state is JobState.RUNNING and facts.newest_trigger is not None:
        return facts.unknown_layout
    return (
        "a TaskManager may still name a file of the log that waits unnamed, and no cluster shows,"
        " by a clock that is not ahead of the storage's, when the newest checkpoint that the job"
        " completed and retains was triggered: name the cluster with --flink-rest"
    )


def _newest_trigger(facts: AreaFacts) -> Bound:
    """R45: store times of ``_metadata`` are too late: a file may be uploaded after the trigger."""
    return Bound(BoundName.NEWEST_TRIGGER, facts.newest_trigger)


CHANGE_LOG = Area(
    name=AreaName.CHANGELOG,
    layout=DirectoryLayout.CHANGELOG,
    folders=(AreaFolder(Scope.CHANGELOG),),
    written_by="TaskManagers",
    named_by="changelog handles: each stream of the list, by its absolute path",
    rule_running="R45",
    rule_ended="R35",
    objection=until_the_end(_not_before_a_trigger),
    is_written_in_place=False,
    is_stricter_than_merged=True,
    bound=_newest_trigger,
    withstands=frozenset({Guard.UNPROVEN_LAYOUT, Guard.GATE}),
)
"""``dstl/<uuid>``: the log of the changelog state backend (R35, R45)."""


def _not_merged_within(facts: AreaFacts, place: FilePlace) -> str | None:
    """R46: merged within a checkpoint, a file has segments of that checkpoint alone (T5).

    So with one checkpoint at a time the bounds of flat files hold for it. Merged across
    checkpoints (R47), a file that nothing names may be in a pool, and get the next segment.
    Source: Flink 1.20-2.3, ``WithinCheckpointFileMergingSnapshotManager.getOrCreateFilePool``,
    ``NonBlockingPhysicalFilePool``.
    """
    if facts.state is not JobState.RUNNING:
        return "no cluster shows the job, so a TaskManager may be writing its merged files"
    if facts.not_merged_within is not None:
        return facts.not_merged_within
    if place.inner and not place.inner.startswith(f"job_{place.job_id}_"):
        return "the folder is named after another job than the directory"
    return None


MERGED_FILES = Area(
    name=AreaName.MERGED,
    layout=DirectoryLayout.MERGED,
    folders=(
        AreaFolder(
            Scope.SHARED, re.compile(r"job_[0-9a-f]{32}_op_[0-9a-f]{32}_[0-9]+_[0-9]+", re.ASCII)
        ),
        AreaFolder(Scope.TASKOWNED, re.compile(r"job_[0-9a-f]{32}_tm_.+", re.DOTALL)),
    ),
    written_by="TaskManagers",
    named_by="segment handles, the whole file whatever start and size; directory handles name"
    " nothing",
    rule_running="R46",
    rule_ended="R35",
    objection=until_the_end(_not_merged_within),
    is_written_in_place=True,
    is_stricter_than_merged=False,
    withstands=frozenset({Guard.UNPROVEN_LAYOUT}),
)
"""Files that hold segments of many handles: file merging of Flink 1.20 and later (R35, R46, R47).

*Within* and *across* checkpoints have the same names, and REST does not show which one is set.
"""


_WORKING: Final = re.compile(f"{NUMBERED_FOLDERS[Scope.FORST]}.+", re.DOTALL)
_DATABASE = until_the_end(lambda *_: "a running database may read files that no checkpoint names")


def _primary_directory(facts: AreaFacts, place: FilePlace) -> str | None:
    """R34, R35: no checkpoint shows whose a primary directory is, so its job id alone must."""
    if facts.is_known_by_fixed_id_alone:
        return (
            "the job id is a fixed one, and nothing but the id shows whose the primary directory"
            " is: another job of the id may run in it; remove it by hand if none does"
        )
    return _DATABASE(facts, place)


FORST_FILES = Area(
    name=AreaName.FORST,
    layout=DirectoryLayout.FORST,
    folders=(AreaFolder(Scope.SHARED, _WORKING, "db"), AreaFolder(Scope.FORST, _WORKING, "db")),
    written_by="TaskManagers, as the files of a running database",
    named_by="file handles, by their absolute path; a running database reads files that nothing"
    " names",
    rule_running="",
    rule_ended="R35",
    objection=_primary_directory,
    is_written_in_place=True,
    is_stricter_than_merged=True,
)
"""``op_*/db/<uuid>``: working files of the ForSt state backend (R35, R49).

They are in ``shared/`` of the job's checkpoints, or in a primary directory of their own:
``<state.backend.forst.primary-dir>/<job id>/op_*/db/<uuid>``. From there a snapshot copies, so that
no checkpoint names a file of it.
Source: Flink 2.0-2.3, ``ForStOptions.PRIMARY_DIRECTORY``, ``ForStStateBackend``.
"""

AREAS: Final[Mapping[AreaName, Area]] = {
    each.name: each
    for each in (
        FLAT_SHARED,
        EXCLUSIVE,
        SAVEPOINT_FOLDER,
        TASK_OWNED,
        CHANGE_LOG,
        MERGED_FILES,
        FORST_FILES,
    )
}


def area_at(place: FilePlace) -> Area | None:
    """Return the area whose files are directly in a folder, ``None`` if there is none."""
    return next(
        (area for area in AREAS.values() if any(folder.contains(place) for folder in area.folders)),
        None,
    )


def is_known_sub_folder(name: str) -> bool:
    """Return whether a sub-folder of ``shared/`` shows a layout of Flink's."""
    return layout_shown_by(FilePlace("", JobId(""), Scope.SHARED, name)) is not None


def layout_shown_by(place: FilePlace) -> DirectoryLayout | None:
    """Return the layout that a sub-folder shows, at whatever depth, ``None`` if it shows none."""
    return next(
        (
            area.layout
            for area in AREAS.values()
            if any(folder.shows(place) for folder in area.folders)
        ),
        None,
    )


# --- folders that hold nothing: which of them no process is about to write into (R53). Only file
# systems have them. Flink makes the folders above a file each time that it creates one, so
# a folder that goes just before comes back.
# Source: Flink 1.15-2.3, ``LocalFileSystem.create``, ``LocalRecoverableWriter.open``.


def area_of_folder(place: FilePlace) -> AreaName | None:
    """Return the area whose files are in or below a folder, ``None`` for no folder of Flink's."""
    return next(
        (area.name for area in AREAS.values() if any(f.leads_to(place) for f in area.folders)), None
    )


def folder_objection(facts: AreaFacts, place: FilePlace) -> str | None:
    """Return why a folder of a job stays although it is empty, ``None`` if it may go.

    Of a job that may run only ``chk-<n>/`` goes, where R31 shows that checkpoint n is over: Flink
    makes ``shared/`` and ``taskowned/`` once, when the job starts.
    Source: Flink 1.15-2.3, ``FsCheckpointStorageAccess.initializeBaseLocationsForCheckpoint``.
    """
    if place.scope is Scope.FORST:
        return FORST_FILES.objection(facts, place)
    if place.scope is Scope.EXCLUSIVE and not place.inner:
        return EXCLUSIVE.objection(facts, place)
    return until_the_end(lambda *_: "the job may run, and write into it")(facts, place)
