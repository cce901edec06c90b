"""Flink's names of a checkpoint's folder and of the file that makes it one."""

import re
from itertools import pairwise

METADATA_NAME = "_metadata"
METADATA_WORD = "metadata"
"""What a person leaves of it, mostly, in any case: no name that Flink gives a state file has it."""
_OF_OTHERS = re.compile(
    rf"\.{METADATA_WORD}\.json[^/]*$|-[0-9a-f]{{12}}\.(?:csv|txt)\.{METADATA_WORD}$"
    rf"|(?:^|/)(?:expired|damaged)/[0-9a-f]{{64}}\.{METADATA_WORD}$"
)
"""End of keys that Iceberg and Athena give by the thousand, and of those of an expiry's copies."""
_STAGING = f"{METADATA_NAME}.inprogress."
"""In the name of one that is being written, perhaps after a dot.

Source: Flink 1.15-2.3, ``FsCheckpointMetadataOutputStream`` and ``LocalRecoverableWriter``.
"""

MAX_METADATA_BYTES = 2**30
"""A larger ``_metadata`` is refused: it counts as unreadable, and that refuses all work (R6)."""

CHECKPOINT_FOLDER = "(?:chk-[0-9]+|savepoint-[0-9a-f]{6}-[0-9a-f]{12})"
"""Pattern of the folders into which Flink writes a ``_metadata``."""
BY_A_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""Pattern of the end of the name of any other file in them."""

_IS_OF_CHECKPOINT = re.compile(f"(?:^|/){CHECKPOINT_FOLDER}(?:/|$)")
_IS_BY_A_UUID = re.compile(BY_A_UUID)
_AREAS = {"shared", "taskowned"}
_JOB_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_SAVEPOINT = re.compile(r"savepoint-[0-9a-f]{6}-[0-9a-f]{12}", re.ASCII)
_EXCLUSIVE_FOLDER = re.compile(r"chk-(0|[1-9][0-9]{0,18})", re.ASCII)


def may_be_metadata(key: str) -> bool:
    """Return whether a file of this key may be a ``_metadata``, perhaps one that was set aside.

    Flink restores from a file of any name, so one that a person renamed or copied, as
    ``Metadata`` or ``old_metadata.bak``, is as much a checkpoint; and so is any name in the folder
    of a checkpoint or below it, where Flink names each other file by a UUID and makes no folder.
    One that is still being written is none, and neither is what Iceberg or Athena writes, or an
    expiry as its copy.
    """
    folder, _, name = key.rpartition("/")
    if not name or _STAGING in name:
        return False
    if METADATA_WORD in name.lower() and not _OF_OTHERS.search(key):
        return True
    return not _IS_BY_A_UUID.search(name) and _IS_OF_CHECKPOINT.search(folder) is not None


def metadata_folder(key: str) -> str:
    """Return the key of the folder that a ``_metadata`` makes a checkpoint.

    One of another name shares its folder, and stands for itself: no two have one place.
    """
    folder, _, name = key.rpartition("/")
    return folder if name == METADATA_NAME else key


def checkpoint_id_of(folder_name: str) -> int | None:
    """Return the id in the name of a ``chk-<n>`` folder, ``None`` if it is none."""
    match = _EXCLUSIVE_FOLDER.fullmatch(folder_name)
    return None if match is None else int(match[1])


def is_savepoint_folder(name: str) -> bool:
    """Return whether Flink names folders of savepoints so."""
    return _SAVEPOINT.fullmatch(name) is not None


def is_job_id(text: str) -> bool:
    """Return whether a text is spelled as Flink spells a job id."""
    return _JOB_ID.fullmatch(text) is not None


def job_id_of(folder: str) -> str | None:
    """Return the job in whose directory a checkpoint's folder is, ``None`` if its path names none.

    A folder named by a job id owns the areas below it. An area below any other folder is of a job
    that the path does not name, and so is a savepoint.
    """
    parts = folder.strip("/").split("/")
    for above, part in pairwise(parts):
        if is_job_id(above) and is_area(part):
            return above
    if any(map(is_area, parts)) or is_savepoint_folder(parts[-1]):
        return None
    return next(filter(is_job_id, parts), None)


def is_area(name: str) -> bool:
    """Return whether a folder of this name is an area of a job, below whatever folder it is."""
    return name in _AREAS or checkpoint_id_of(name) is not None
