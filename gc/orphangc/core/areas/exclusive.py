"""``chk-<n>/``: files of one checkpoint (R31, R32, R35)."""

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder, until_the_end
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, Scope


def _running(facts: AreaFacts, place: FilePlace) -> str | None:
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
    objection=until_the_end(_running),
    is_written_in_place=False,
    is_stricter_than_merged=False,
    withstands=frozenset({Guard.UNPROVEN_LAYOUT, Guard.GATE}),
)
