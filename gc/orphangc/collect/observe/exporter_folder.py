"""Folders of files about jobs: that of the exporters inside JobManagers (deploy/flink-plugin),
those of Flink's JobResultStore, and archives for the history server.

An exporter writes:

``<folder>/<job id>/snapshots/snapshot-<13 digits>-<epoch>-<sequence>.jsonl[.gz]`` and
``<folder>/<job id>/nonce``; ``<folder>/<job id>/owners/<epoch>.began`` and ``.alive``;
``<folder>/<job id>/ended/<epoch>.json``. A name of another form is no finished snapshot and is
ignored.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property

from flinkstate.buffers import Buffer
from flinkstate.places.checkpoint_names import is_job_id
from orphangc.core.cluster.end_records import (
    EndFile,
    EndRecord,
    exported_end,
    is_stored_end,
    stored_end,
)
from orphangc.core.exporter.registry_format import MAX_SNAPSHOT_BYTES
from orphangc.core.exporter.registry_snapshot import epoch_in
from orphangc.core.model.types import JobId, ObjectKey, StoredObject
from orphangc.ports import StateFiles, Storage

_SNAPSHOT = re.compile(r"snapshot-[0-9]{13}-.+\.jsonl(?:\.gz)?", re.ASCII)
_NONCE = "nonce"
_MOST_NONCE_BYTES = 1 << 10
_MOST_END_BYTES = 1 << 20


_Read = Callable[[Storage, ObjectKey, StoredObject | None], Buffer | None]


def is_job_folder(name: str) -> bool:
    """Return whether an exporter could have created a folder of this name."""
    return is_job_id(name)


class ExporterFolder:
    """A folder that exporters inside JobManagers write registry snapshots into.

    A new snapshot is requested by a nonce: the only file written beside those of exporters.

    Attributes:
        location: Location of the folder; it has one folder for each job.
    """

    def __init__(
        self, storage: Storage, open_files: Callable[[], StateFiles], read: _Read | None = None
    ) -> None:
        """Take the folder.

        Args:
            open_files: Opens the same folder for writing, once a nonce is to be written.
            read: Reads a large snapshot otherwise than into memory; gets it as it was listed.
        """
        self.location = storage.location
        self._storage = storage
        self._open_files = open_files
        self._read = read
        self._listed: dict[ObjectKey, StoredObject] = {}

    def jobs(self) -> list[JobId]:
        """Return the jobs that have a folder, sorted, or raise ``StorageUnreachableError``."""
        return sorted(
            JobId(name) for name in self._storage.folder("").folders if is_job_folder(name)
        )

    def names(self, job_id: JobId) -> list[str]:
        """Return the names of a job's finished snapshots, oldest first."""
        listed = self._storage.folder(f"{job_id}/snapshots").objects
        self._listed.update((each.key, each) for each in listed)
        names = (each.key.rpartition("/")[2] for each in listed)
        return sorted(name for name in names if _SNAPSHOT.fullmatch(name))

    def read(self, job_id: JobId, name: str) -> Buffer | None:
        """Return the bytes of a snapshot in ``names``, ``None`` if the exporter has removed it."""
        key = ObjectKey(f"{job_id}/snapshots/{name}")
        listed = self._listed.get(key)
        if self._read is not None:
            return self._read(self._storage, key, listed)
        return self._storage.read(key, max_bytes=MAX_SNAPSHOT_BYTES)

    def owners(self, job_id: JobId) -> dict[str, datetime | None]:
        """Return the markers of the JobManagers that export a job: store times by name."""
        listed = self._storage.folder(f"{job_id}/owners").objects
        return {each.key.rpartition("/")[2]: each.modified_at for each in listed}

    def end(self, job_id: JobId) -> EndRecord | None:
        """Return the newest end of a job that an exporter wrote, ``None`` if it wrote none."""
        folder = f"{job_id}/ended"
        files = [
            EndFile(each.key.rpartition("/")[2], data, each.modified_at)
            for each in self._storage.folder(folder).objects
            if (data := self._storage.read(each.key, max_bytes=_MOST_END_BYTES)) is not None
        ]
        if not files:
            return None
        return exported_end(
            job_id,
            files,
            folder=f"{self.location}/{folder}",
            owners=self.owners(job_id),
            newest_epoch=self._newest_epoch(job_id),
        )

    def _newest_epoch(self, job_id: JobId) -> str | None:
        """Return the epoch of the newest snapshot, "" if its name spells none."""
        names = self.names(job_id)
        return epoch_in(names[-1]) or "" if names else None

    def nonce(self, job_id: JobId) -> str | None:
        """Return the nonce that the exporter has to repeat, ``None`` if there is none."""
        key = ObjectKey(f"{job_id}/{_NONCE}")
        data = self._storage.read(key, max_bytes=_MOST_NONCE_BYTES)
        return None if data is None else data.decode("utf-8", "replace").strip()

    def write(self, job_id: JobId, nonce: str) -> None:
        """Replace the nonce of the job's exporter, or raise ``StorageUnreachableError``."""
        self._files.write(f"{job_id}/{_NONCE}", nonce.encode())

    def check_writable(self, job_id: JobId) -> None:
        """Write and remove a file beside the job's nonce, or raise ``StorageUnreachableError``."""
        name = f"{job_id}/doctor-{uuid.uuid4().hex}"
        self._files.write(name, b"")
        self._files.remove(name)

    @cached_property
    def _files(self) -> StateFiles:
        return self._open_files()


_MOST_ARCHIVE_BYTES = 64 << 20
"""An archive has the whole job graph in it."""


def archived_ends(storage: Storage) -> Iterator[EndRecord]:
    """Yield each end of a job that a file directly in a folder states (R34: E3, E4).

    Raises:
        StorageUnreachableError: The folder cannot be listed or read.
    """
    for listed in storage.folder("").objects:
        name = listed.key.rpartition("/")[2]
        if not is_stored_end(name):
            continue
        data = storage.read(listed.key, max_bytes=_MOST_ARCHIVE_BYTES)
        file = EndFile(name, b"" if data is None else data, listed.modified_at)
        end = stored_end(file, str(storage.location))
        if end is not None:
            yield end
