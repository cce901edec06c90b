"""Files that hold segments of many handles: file merging of Flink 1.20 and later (R35, R46, R47).

*Within* and *across* checkpoints have the same names, and REST does not show which one is set.
"""

from __future__ import annotations

import re

from orphangc.core.areas.area import Area, AreaFolder, only_ended
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope

MERGED_FILES = Area(
    name=AreaName.MERGED,
    layout=DirectoryLayout.MERGED,
    folders=(
        AreaFolder(
            Scope.SHARED,
            re.compile(r"job_[0-9a-f]{32}_op_[0-9a-f]{32}_[0-9]+_[0-9]+", re.ASCII),
        ),
        AreaFolder(Scope.TASKOWNED, re.compile(r"job_[0-9a-f]{32}_tm_.+", re.DOTALL)),
    ),
    written_by="TaskManagers",
    named_by="segment handles, the whole file whatever start and size; directory handles name"
    " nothing",
    rule_running="",
    rule_ended="R35",
    objection=only_ended(
        "a TaskManager may append the next segment to a file that no checkpoint names yet, and"
        " Flink does not show whether files are merged across checkpoints"
    ),
)
