"""``savepoint-<6 hex>-<12 hex>/``: files of one savepoint (R33)."""

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope


def _objection(_facts: AreaFacts, _place: FilePlace) -> str:
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
    objection=_objection,
    is_written_in_place=False,
    is_stricter_than_merged=False,
)
