"""Folders that hold nothing: which of them no process is about to write into (R53).

Only file systems have them. Flink makes the folders above a file each time that it creates one, so
a folder that goes just before comes back.
Source: Flink 1.15-2.3, ``LocalFileSystem.create``, ``LocalRecoverableWriter.open``.
"""

from orphangc.core.areas.area import AreaFacts, until_the_end
from orphangc.core.areas.exclusive import EXCLUSIVE
from orphangc.core.areas.forst_files import FORST_FILES
from orphangc.core.areas.table import AREAS
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, Scope


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
