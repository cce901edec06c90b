"""``dstl/<uuid>``: the log of the changelog state backend (R35, R45)."""

from __future__ import annotations

from orphangc.core.areas.area import Area, AreaFolder, only_ended
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope

CHANGE_LOG = Area(
    name=AreaName.CHANGELOG,
    layout=DirectoryLayout.CHANGELOG,
    folders=(AreaFolder(Scope.CHANGELOG),),
    written_by="TaskManagers",
    named_by="changelog handles: each stream of the list, by its absolute path",
    rule_running="",
    rule_ended="R35",
    objection=only_ended("a TaskManager may still name a file of the log that waits unnamed"),
)
