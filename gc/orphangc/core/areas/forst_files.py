"""``op_*/db/<uuid>``: working files of the ForSt state backend (R35, R49).

They are in ``shared/`` of the job's checkpoints, or in a primary directory of their own:
``<state.backend.forst.primary-dir>/<job id>/op_*/db/<uuid>``. From there a snapshot copies, so that
no checkpoint names a file of it.
Source: Flink 2.0-2.3, ``ForStOptions.PRIMARY_DIRECTORY``, ``ForStStateBackend``.
"""

import re
from typing import Final

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder, until_the_end
from orphangc.core.model.job_folders import NUMBERED_FOLDERS
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope

_WORKING: Final = re.compile(f"{NUMBERED_FOLDERS[Scope.FORST]}.+", re.DOTALL)
_OF_THE_END = until_the_end(lambda *_: "a running database may read files that no checkpoint names")


def _objection(facts: AreaFacts, place: FilePlace) -> str | None:
    """R34, R35: no checkpoint shows whose a primary directory is, so its job id alone must."""
    if facts.is_known_by_fixed_id_alone:
        return (
            "the job id is a fixed one, and nothing but the id shows whose the primary directory"
            " is: another job of the id may run in it; remove it by hand if none does"
        )
    return _OF_THE_END(facts, place)


FORST_FILES = Area(
    name=AreaName.FORST,
    layout=DirectoryLayout.FORST,
    folders=(AreaFolder(Scope.SHARED, _WORKING, "db"), AreaFolder(Scope.FORST, _WORKING, "db")),
    written_by="TaskManagers, as the files of a running database",
    named_by="file handles, by their absolute path; a running database reads files that nothing"
    " names",
    rule_running="",
    rule_ended="R35",
    objection=_objection,
    is_written_in_place=True,
    is_stricter_than_merged=True,
)
