"""Folders of Flink's JobResultStore, and of archives for the history server: jobs that are over."""

from __future__ import annotations

from collections.abc import Iterator

from flinkstate.places.locations import Location
from orphangc.adapters.open import open_storage
from orphangc.core.cluster.end_records import EndFile, EndRecord, is_stored_end, stored_end

_MOST_BYTES = 64 << 20
"""An archive has the whole job graph in it."""


def archived_ends(place: Location) -> Iterator[EndRecord]:
    """Yield each end of a job that a file directly in a folder states (R34: E3, E4).

    Raises:
        StorageUnreachableError: The folder cannot be listed or read.
    """
    storage = open_storage(place)
    for listed in storage.folder("").objects:
        name = listed.key.rpartition("/")[2]
        if not is_stored_end(name):
            continue
        data = storage.read(listed.key, max_bytes=_MOST_BYTES)
        file = EndFile(name, b"" if data is None else data, listed.modified_at)
        end = stored_end(file, str(place))
        if end is not None:
            yield end
