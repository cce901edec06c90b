"""``dstl/<uuid>``: the log of the changelog state backend (R35, R45)."""

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder, until_the_end
from orphangc.core.model.bounds import Bound, BoundName
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, Scope


def _running(facts: AreaFacts, _: FilePlace) -> str | None:
    """R45: what was uploaded before a completed checkpoint was triggered is in it, or in none (T4).

    A file of the log may wait unnamed for as long as no checkpoint completes. But a TaskManager
    gives a checkpoint everything that was appended since the last materialisation, so what
    a completed one lacks no later one is given; with any number of checkpoints at once.
    Source: Flink 1.15-2.3, ``FsStateChangelogWriter.persist``.
    """
    if facts.state is JobState.RUNNING and facts.newest_trigger is not None:
        return facts.unknown_layout
    return (
        "a TaskManager may still name a file of the log that waits unnamed, and no cluster shows,"
        " by a clock that is not ahead of the storage's, when the newest checkpoint that the job"
        " completed and retains was triggered: name the cluster with --flink-rest"
    )


def _bound(facts: AreaFacts) -> Bound:
    """R45: store times of ``_metadata`` are too late: a file may be uploaded after the trigger."""
    return Bound(BoundName.NEWEST_TRIGGER, facts.newest_trigger)


CHANGE_LOG = Area(
    name=AreaName.CHANGELOG,
    layout=DirectoryLayout.CHANGELOG,
    folders=(AreaFolder(Scope.CHANGELOG),),
    written_by="TaskManagers",
    named_by="changelog handles: each stream of the list, by its absolute path",
    rule_running="R45",
    rule_ended="R35",
    objection=until_the_end(_running),
    is_written_in_place=False,
    is_stricter_than_merged=True,
    bound=_bound,
    withstands=frozenset({Guard.UNPROVEN_LAYOUT, Guard.GATE}),
)
