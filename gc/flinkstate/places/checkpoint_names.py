"""Flink's names of a checkpoint's folder and of the file that makes it one."""

from __future__ import annotations

import re

METADATA_NAME = "_metadata"

MAX_METADATA_BYTES = 2**30
"""A larger ``_metadata`` is refused: it counts as unreadable, and that refuses all work (R6)."""

_EXCLUSIVE_FOLDER = re.compile(r"chk-(0|[1-9][0-9]{0,18})", re.ASCII)


def checkpoint_id_of(folder_name: str) -> int | None:
    """Return the id in the name of a ``chk-<n>`` folder, ``None`` if it is none."""
    match = _EXCLUSIVE_FOLDER.fullmatch(folder_name)
    return None if match is None else int(match[1])
