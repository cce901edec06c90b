"""``savepoint-<6 hex>-<12 hex>/``: files of one savepoint (R33)."""

from __future__ import annotations

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope


def _objection(_facts: AreaFacts, _place: FilePlace) -> str:
    """R33: a savepoint belongs to no job directory, and any job may be writing it."""
    return "a savepoint's folder belongs to no job directory, and any job may still write into it"


SAVEPOINT_FOLDER = Area(
    name=AreaName.SAVEPOINT,
    layout=DirectoryLayout.EXCLUSIVE,
    folders=(AreaFolder(Scope.SAVEPOINT),),
    written_by="TaskManagers and the JobManager",
    named_by="relative handles of its _metadata, and file handles of checkpoints that claimed it",
    rule_running="",
    rule_ended="",
    objection=_objection,
)
