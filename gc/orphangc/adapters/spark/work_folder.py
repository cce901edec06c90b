"""Files that driver and executors exchange through a location that all of them see.

The writer of a file sends its name and digest through Spark's own channel. So a file of an
abandoned attempt is ignored, because no message names it, and a file altered later is an error.
"""

import hashlib
import pickle
import re
import shutil
import struct
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import structlog
from pyarrow import ipc

from flinkstate.places.locations import Location
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.core.model.naming import TEMPORARY
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA, StateFiles

_DONE = "done"
_KINDS = (_DONE, "listed", "values", "verdicts")
_OPTIONS = ipc.IpcWriteOptions(compression="lz4")
THREADS = 16
_OURS = re.compile(r"orphangc-(?:verdicts-)?[0-9a-f]{32}")
_OUR_FILE = (
    rf"^(?:{'|'.join(_KINDS)})/"
    rf"(?:[0-9a-f]{{32}}(?:-[0-9]+-[0-9]+)?|{re.escape(TEMPORARY)}[0-9a-f-]{{36}})?$"
)
_LEFT_AFTER = timedelta(days=1)
_ALIGNED = 64
"""Look-ups in an array that is not aligned would copy it."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ExchangeFile:
    """A file of the work folder, as its writer reported it.

    Attributes:
        name: Name relative to the work folder; no other attempt uses it.
        rows: Number of rows, 0 if the file holds none.
    """

    name: str
    sha256: str
    rows: int = 0


def _aligned(at: int) -> int:
    return at + -at % _ALIGNED


@lru_cache(maxsize=8)
def _files(location: Location) -> StateFiles:
    return open_state_files(location)


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A folder of one run; picklable."""

    location: Location

    def write(self, kind: str, data: bytes, *, rows: int = 0) -> ExchangeFile:
        """Write the data to a new file; return the file."""
        name = f"{kind}/{uuid.uuid4().hex}"
        _files(self.location).write(name, data)
        return ExchangeFile(name, hashlib.sha256(data).hexdigest(), rows)

    def read(self, file: ExchangeFile) -> bytes:
        """Return a file's bytes; ``StorageUnreachableError`` if it is absent or was altered."""
        data = _files(self.location).read(file.name)
        if data is None:
            where = self.location.child(file.name)
            raise StorageUnreachableError(f"{where} is not there: is --work seen by all executors?")
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise StorageUnreachableError(f"{self.location.child(file.name)} was altered")
        return data

    def write_rows(self, kind: str, batches: Sequence[pa.RecordBatch]) -> ExchangeFile:
        """Write the rows of all batches, which have one schema, to a new file; return the file."""
        target = pa.BufferOutputStream()
        with ipc.new_stream(target, batches[0].schema, options=_OPTIONS) as writer:
            for batch in batches:
                writer.write_batch(batch)
        rows = sum(batch.num_rows for batch in batches)
        return self.write(kind, target.getvalue().to_pybytes(), rows=rows)

    def read_rows(self, file: ExchangeFile) -> pa.RecordBatch:
        """Return all rows of a file as one batch; raises as ``read``."""
        with ipc.open_stream(self.read(file)) as reader:
            table = reader.read_all().combine_chunks()
        batches = table.to_batches()
        empty = pa.RecordBatch.from_pylist([], schema=table.schema)
        if table.num_rows != file.rows or len(batches) > 1:
            raise StorageUnreachableError(f"{self.location.child(file.name)} is not as written")
        return batches[0] if batches else empty

    def write_value(self, value: Any) -> ExchangeFile:
        """Write a picklable value to a new file; return the file."""
        return self.write("values", pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))

    def read_value(self, file: ExchangeFile) -> Any:
        """Return a value, unpickled only after its digest was compared with the writer's.

        Raises:
            StorageUnreachableError: See ``read``.
        """
        return pickle.loads(self.read(file))  # noqa: S301 - Spark's channel vouches for the bytes

    def write_packed(self, value: Any) -> ExchangeFile:
        """Write a picklable value, its arrays as they are, to a new file; return the file."""
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
        parts: list[bytes | memoryview] = [head, *(each.raw() for each in arrays)]
        sizes = struct.pack(f"<{1 + len(parts)}q", len(parts), *map(len, parts))
        pieces: list[bytes | memoryview] = []
        for part in (sizes, *parts):
            pieces += [part, bytes(-len(part) % _ALIGNED)]
        return self.write("values", b"".join(pieces))

    def read_packed(self, file: ExchangeFile) -> Any:
        """Return a value whose arrays are read-only parts of the bytes read: there is no copy.

        Raises:
            StorageUnreachableError: See ``read``.
        """
        data = memoryview(self.read(file))
        (count,) = struct.unpack_from("<q", data)
        sizes = struct.unpack_from(f"<{count}q", data, 8)
        parts, at = list[memoryview](), _aligned(8 + 8 * count)
        for size in sizes:
            parts.append(data[at : at + size])
            at = _aligned(at + size)
        return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - see read_value

    def report_done(self, stage: str, number: int, rows: int) -> None:
        """Show the driver that a task of a stage is done, by the name of an empty file."""
        _files(self.location).write(f"{_DONE}/{stage}-{number}-{rows}", b"")

    def rows_done(self, stage: str) -> int:
        """Return the number of rows of a stage's tasks that are done; a repeated one counts once.

        Raises:
            StorageUnreachableError: The work folder cannot be read.
        """
        names = _files(self.location).names(_DONE)
        parts = [name.split("-")[1:] for name in names if name.startswith(f"{stage}-")]
        return sum({int(number): int(rows) for number, rows in parts}.values())

    def discard(self, file: ExchangeFile) -> None:
        """Remove one file."""
        _files(self.location).remove(file.name)

    def remove(self) -> None:
        """Remove all files, those of abandoned attempts included."""
        if self.location.scheme == "file":
            shutil.rmtree(self.location.path, ignore_errors=True)
            return
        files = _files(self.location)
        names = [f"{kind}/{name}" for kind in _KINDS for name in files.names(kind)]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(files.remove, names))


def remove_left_behind(folder: WorkFolder) -> None:
    """Remove the folders beside one that runs left whose driver died; each one is logged.

    A folder was left if it holds files of a run alone, none of them changed for a day by the clock
    that dated them. A run that lives writes several a minute; one that waits for executors for a
    day misses its file, and ends without a plan.
    """
    above = folder.location.parent
    with suppress(StorageUnreachableError):
        new = folder.write("values", b"")
        now = _files(folder.location).modified_at(new.name)
        folder.discard(new)
        for name in open_storage(above).folder("").folders:
            left = WorkFolder(above.child(name))
            if _OURS.fullmatch(name) and left != folder and now is not None:
                pages = list(open_storage(left.location).pages())
                rows = pa.Table.from_batches(pages, LISTING_SCHEMA)
                is_ours = pc.all(pc.match_substring_regex(rows["key"], _OUR_FILE)).as_py()
                changed = pc.max(rows["modified_at"]).as_py()
                if is_ours and changed is not None and now - changed > _LEFT_AFTER:
                    left.remove()
                    log.warning("work_folder.removed", folder=str(left.location))


class SentVerdicts:
    """A sink that moves its files to the work folder on ``close``; picklable then."""

    def __init__(self, folder: WorkFolder) -> None:
        self.sent: dict[str, ExchangeFile] = {}
        self._folder = folder
        self._here: TemporaryFolder | None = TemporaryFolder()
        self._files: VerdictFiles | None = VerdictFiles(Path(self._here.name))

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""
        assert self._files is not None  # noqa: S101 - write is not called after close
        self._files.write(batch)

    def close(self) -> None:
        """Send the files; may be called twice."""
        if self._files is None or self._here is None:
            return
        self._files.close()
        for name in self._files.digests:
            data = (Path(self._here.name) / name).read_bytes()
            self.sent[name] = self._folder.write("verdicts", data)
        self._here.cleanup()
        self._files = self._here = None

    def fetch(self, target: Path) -> dict[str, str]:
        """Fetch the files into a folder of this machine; return their sha256 by name.

        Raises:
            StorageUnreachableError: A file is absent or was altered.
        """
        target.mkdir(parents=True, exist_ok=True)
        for name, file in self.sent.items():
            data = self._folder.read(file)
            (target / name).write_bytes(data)
            self._folder.discard(file)
        return {name: file.sha256 for name, file in self.sent.items()}
