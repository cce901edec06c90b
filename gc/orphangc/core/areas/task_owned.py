"""``taskowned/<uuid>``: materialised state of the changelog, write-ahead logs (R35, R37, R48)."""

from orphangc.core.areas.area import Area, AreaFacts, AreaFolder, until_the_end
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, Scope

_OF_THE_END = until_the_end(
    lambda *_: "a TaskManager may still name a file of a materialisation that is under way"
)


def _objection(facts: AreaFacts, place: FilePlace) -> str | None:
    """R37: a write-ahead sink holds handles in state bytes, which no oracle reads."""
    if facts.has_write_ahead_sink:
        return (
            "a checkpoint holds the state of a write-ahead sink (pending-checkpoints), which names"
            " files of taskowned/ in bytes that only the job can read"
        )
    return _OF_THE_END(facts, place)


TASK_OWNED = Area(
    name=AreaName.TASKOWNED,
    layout=DirectoryLayout.TASKOWNED,
    folders=(AreaFolder(Scope.TASKOWNED),),
    written_by="TaskManagers",
    named_by="materialised handles of changelog state, by their absolute path",
    rule_running="",
    rule_ended="R35, R37",
    objection=_objection,
    is_written_in_place=True,
    is_stricter_than_merged=False,
)
