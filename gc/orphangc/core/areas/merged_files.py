"""Files that hold segments of many handles: file merging of Flink 1.20 and later (R35, R46, R47).

*Within* and *across* checkpoints have the same names, and REST does not show which one is set.
"""

import re

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder, until_the_end
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, Scope


def _running(facts: AreaFacts, place: FilePlace) -> str | None:
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
    objection=until_the_end(_running),
    is_written_in_place=True,
    is_stricter_than_merged=False,
    withstands=frozenset({Guard.UNPROVEN_LAYOUT}),
)
