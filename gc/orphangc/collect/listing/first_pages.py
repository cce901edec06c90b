"""About how many objects a storage root has, from its first pages: only speed rests on that."""

from typing import NamedTuple

from flinkstate.places.checkpoint_names import is_job_id
from orphangc.core.model.job_folders import SHARED
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.core.ranges.split_points import scale_of
from orphangc.ports import Storage

_DIRECTORIES = 8
"""Number of job directories that are looked at; the others count as much on average."""
_AFTER_SLASH = "0"
"""The character after "/": a folder's keys end where this one would begin."""
_FEWEST = 2


class ObjectEstimate(NamedTuple):
    """A number of objects, and whether all of them were listed."""

    objects: int
    is_exact: bool


def estimated_objects(storage: Storage, enough: int) -> ObjectEstimate:
    """Return about how many objects there are.

    Args:
        storage: Storage root; one without an order is listed until there are enough.
        enough: Number of objects from which the exact number makes no difference.

    Raises:
        StorageUnreachableError: A page failed.
    """
    if not storage.is_ordered:
        return _counted(storage, enough)
    directories = [name for name in storage.folder("").folders if is_job_id(name)]
    if not directories:
        return _counted(storage, enough)
    step = max(1, len(directories) // _DIRECTORIES)
    sampled = directories[::step][:_DIRECTORIES]
    objects = sum(_in_folder(storage, f"{each}/{SHARED}/") for each in sampled)
    return ObjectEstimate(objects * len(directories) // len(sampled), is_exact=False)


def _counted(storage: Storage, enough: int) -> ObjectEstimate:
    objects = 0
    for page in storage.pages():
        objects += page.num_rows
        if objects >= enough:
            return ObjectEstimate(objects, is_exact=False)
    return ObjectEstimate(objects, is_exact=True)


def _in_folder(storage: Storage, folder: str) -> int:
    """Return about how many objects a folder has, by how far its first page reaches.

    UUIDs are spread evenly. Names that begin with ids are not: the number is at most tenfold.
    """
    within = KeyRange(folder, folder[:-1] + _AFTER_SLASH)
    page = next(iter(storage.pages(within)), None)
    if page is None or page.num_rows < _FEWEST:
        return 0 if page is None else page.num_rows
    first, last = page["key"][0].as_py(), page["key"][-1].as_py()
    scale = scale_of(first, last)
    seen = scale.at(last) - scale.at(first)
    rows: int = page.num_rows
    return rows if seen <= 0 else max(rows, int(rows / seen))
