"""``shared/op_*/db/<uuid>``: working files of the ForSt state backend (R35, R49)."""

from __future__ import annotations

import re

from orphangc.core.areas.area import Area, AreaFolder, only_ended
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope

FORST_FILES = Area(
    name=AreaName.FORST,
    layout=DirectoryLayout.FORST,
    folders=(AreaFolder(Scope.SHARED, re.compile(r"op_.+", re.DOTALL), "db"),),
    written_by="TaskManagers, as the files of a running database",
    named_by="file handles, by their absolute path; a running database reads files that nothing"
    " names",
    rule_running="",
    rule_ended="R35",
    objection=only_ended("a running database may read files that no checkpoint names"),
)
