"""The table of areas; gc/README.md says what a new one needs."""

from collections.abc import Mapping
from typing import Final

from orphangc.core.areas.area import Area
from orphangc.core.areas.change_log import CHANGE_LOG
from orphangc.core.areas.exclusive import EXCLUSIVE
from orphangc.core.areas.flat_shared import FLAT_SHARED
from orphangc.core.areas.forst_files import FORST_FILES
from orphangc.core.areas.merged_files import MERGED_FILES
from orphangc.core.areas.savepoint_folder import SAVEPOINT_FOLDER
from orphangc.core.areas.task_owned import TASK_OWNED
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobId, Scope

AREAS: Final[Mapping[AreaName, Area]] = {
    each.name: each
    for each in (
        FLAT_SHARED,
        EXCLUSIVE,
        SAVEPOINT_FOLDER,
        TASK_OWNED,
        CHANGE_LOG,
        MERGED_FILES,
        FORST_FILES,
    )
}


def area_at(place: FilePlace) -> Area | None:
    """Return the area whose files are directly in a folder, ``None`` if there is none."""
    return next(
        (area for area in AREAS.values() if any(folder.contains(place) for folder in area.folders)),
        None,
    )


def is_known_sub_folder(name: str) -> bool:
    """Return whether a sub-folder of ``shared/`` shows a layout of Flink's."""
    return layout_shown_by(FilePlace("", JobId(""), Scope.SHARED, name)) is not None


def layout_shown_by(place: FilePlace) -> DirectoryLayout | None:
    """Return the layout that a sub-folder shows, at whatever depth, ``None`` if it shows none."""
    return next(
        (
            area.layout
            for area in AREAS.values()
            if any(folder.shows(place) for folder in area.folders)
        ),
        None,
    )
