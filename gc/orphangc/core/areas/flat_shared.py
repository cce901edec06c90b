"""``shared/<uuid>``: incremental state that several checkpoints use (R1-R24)."""

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope


def _objection(_facts: AreaFacts, _place: FilePlace) -> None:
    """Return nothing: guards and conditions of the whole job are this area's evidence."""


FLAT_SHARED = Area(
    name=AreaName.SHARED,
    layout=DirectoryLayout.FLAT,
    folders=(AreaFolder(Scope.SHARED),),
    written_by="TaskManagers",
    named_by="file handles, by their absolute path",
    rule_running="R9-R16",
    rule_ended="R35",
    objection=_objection,
    is_written_in_place=False,
    is_stricter_than_merged=False,
)
