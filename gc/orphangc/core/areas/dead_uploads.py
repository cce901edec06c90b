"""Unfinished multipart uploads: of which of them it is known that nothing completes them (R50).

An upload has no reference, so its key's rule decides, and the time when it was begun, which is the
store's, stands for a store time.
"""

from flinkstate.places.checkpoint_names import METADATA_NAME
from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.recognise import recognise
from orphangc.core.areas.table import AREAS, EXCLUSIVE, area_at
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, JobState, Scope


def area_of_upload(place: FilePlace, name: str) -> AreaName | None:
    """Return the area whose rule decides on an upload, ``None`` if none does.

    Since Flink 1.15 each checkpoint begins an upload for ``chk-<n>/_metadata`` itself.
    Source: Flink 1.15-2.3, ``FsCheckpointMetadataOutputStream.getOutputStreamWrapper``.
    """
    if name == METADATA_NAME:
        is_of_checkpoint = place.scope is Scope.EXCLUSIVE and not place.inner
        return EXCLUSIVE.name if is_of_checkpoint else None
    area = None if recognise(name, place).uuid is None else area_at(place)
    return None if area is None else area.name


def upload_objection(facts: AreaFacts, area: AreaName) -> str | None:
    """Return why uploads of an area may still be completed, whatever the area's rule says.

    On an object store an open merged file is an unfinished upload, whose data a ``_metadata`` that
    was completed may name already.
    """
    if facts.state is not JobState.ENDED and AREAS[area].is_written_in_place:
        return "a running job may complete it, and a completed checkpoint may name its data already"
    return None
