"""The state location of one storage root: tombstones, journal, history, halt.

Everything is below a folder named by the storage root's digest, so that one location can
serve many storage roots and none is mistaken for another. Losing the state keeps files longer.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flinkstate.places.locations import Location
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.times.instant_columns import check_rows
from orphangc.errors import OrphanGcError, RefusedError, StorageUnreachableError
from orphangc.ports import StateFiles

_GENERATIONS_KEPT = 3
_RUNS_KEPT = 200
_FORGOTTEN_AT_ONCE = 20

BINDING = "root.json"
"""Name of the file that says which storage root a folder of the state location belongs to."""


@dataclass(frozen=True, slots=True)
class RootState:
    """State of one storage root."""

    files: StateFiles
    root: Location

    @property
    def folder(self) -> str:
        """Return the storage root's own folder in the state location."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:32]

    def bind(self) -> None:
        """Record the folder's storage root, or raise ``RefusedError`` if it is another's."""
        content = json.dumps({"root": str(self.root)}).encode()
        name = f"{self.folder}/{BINDING}"
        if not self.files.create(name, content) and self.files.read(name) != content:
            raise RefusedError(
                f"{self.files.location}/{name} does not name {self.root}: if its folder was never"
                " another storage root's, the file is damaged; remove it, and it is written again"
            )

    # --- tombstones

    def tombstones(self) -> Tombstones:
        """Return every tombstone, from the newest complete generation.

        Raises:
            OrphanGcError: The newest generation is not, byte for byte, what was written:
                forgetting it silently would start every quarantine anew, and a flipped bit in a
                time would end one early, which Parquet does not notice.
        """
        names = self._generations()
        if not names:
            return Tombstones.empty()
        name = f"{self.folder}/tombstones/{names[-1]}"
        data = self.files.read(name) or b""
        if not names[-1].endswith(_digested(data)):
            raise OrphanGcError(
                f"tombstones in {self.files.location}/{name} are damaged: restore the file, or"
                " remove all files of its folder, and each quarantine begins anew"
            )
        try:
            with pq.ParquetFile(pa.BufferReader(data)) as file:
                return Tombstones.from_batches(map(check_rows, file.iter_batches()))
        except (pa.ArrowException, ValueError, OSError) as err:
            raise OrphanGcError(f"{self.files.location}/{name} has no tombstones: {err}") from err

    def _generations(self) -> list[str]:
        return [n for n in self.files.names(f"{self.folder}/tombstones") if n.endswith(".parquet")]

    def keep_tombstones(self, tombstones: Tombstones) -> None:
        """Write a new generation that replaces all; older ones stay for a while."""
        buffer = io.BytesIO()
        with pq.ParquetWriter(buffer, TOMBSTONE_SCHEMA, compression="zstd") as writer:
            for batch in tombstones.to_batches():
                writer.write_batch(batch)
        data = buffer.getvalue()
        names = self._generations()
        number = int(names[-1].partition("-")[0]) + 1 if names else 1
        name = f"{number:012d}{_digested(data)}"
        self.files.write(f"{self.folder}/tombstones/{name}", data)
        for name in names[: 1 - _GENERATIONS_KEPT]:
            self.files.remove(f"{self.folder}/tombstones/{name}")

    # --- journal and history

    def write_journal(self, run_id: str, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write one part of a run's journal, before anything in it is acted upon (R23)."""
        text = "".join(json.dumps(line, default=str) + "\n" for line in lines)
        self.write_lines(run_id, name, text.encode())

    def write_lines(self, run_id: str, name: str, lines: bytes) -> None:
        """Write one part of a run's journal: JSON, an object a line."""
        self.files.write(f"{self.folder}/runs/{run_id}/{name}.jsonl", lines)

    def journal_names(self, run_id: str) -> list[str]:
        """Return the names of the parts of a run's journal, sorted."""
        names = self.files.names(f"{self.folder}/runs/{run_id}")
        return [name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")]

    def read_lines(self, run_id: str, name: str) -> bytes:
        """Return one part of a run's journal, b"" if it does not exist."""
        return self.files.read(f"{self.folder}/runs/{run_id}/{name}.jsonl") or b""

    def finish_run(self, run_id: str, outcome: Mapping[str, Any]) -> None:
        """Write the outcome that marks a run as finished."""
        data = (json.dumps(outcome, indent=1, default=str) + "\n").encode()
        self.files.write(f"{self.folder}/runs/{run_id}/outcome.json", data)
        self.files.write(f"{self.folder}/history/{run_id}.json", data)
        with suppress(StorageUnreachableError):  # what is left goes with a later run
            self._forget_old_runs()

    def _forget_old_runs(self) -> None:
        """Remove what people alone read of old runs: a sweep reads the journals of open ones."""
        names = self.files.names(f"{self.folder}/history")[:-_RUNS_KEPT]
        is_open = frozenset(self.interrupted_runs() if names else ())
        old = [run_id for e in names if (run_id := e.removesuffix(".json")) not in is_open]
        for run_id in old[:_FORGOTTEN_AT_ONCE]:
            folder = f"{self.folder}/runs/{run_id}"
            for name in self.files.names(folder):
                self.files.remove(f"{folder}/{name}")
            self.files.remove(folder)
            self.files.remove(f"{self.folder}/history/{run_id}.json")

    def start_run(self, run_id: str, started_at: datetime) -> None:
        """Write down that a run has begun: without an outcome it was interrupted."""
        data = json.dumps({"run_id": run_id, "started_at": started_at.isoformat()}).encode()
        self.files.write(f"{self.folder}/open/{run_id}.json", data)

    def close_run(self, run_id: str) -> None:
        """Forget that the run is open."""
        self.files.remove(f"{self.folder}/open/{run_id}.json")

    def interrupted_runs(self) -> list[str]:
        """Return the runs that began and have no outcome: they crashed."""
        names = self.files.names(f"{self.folder}/open")
        return [name.removesuffix(".json") for name in names]

    def unrecorded_runs(self, plan_id: str) -> list[str]:
        """Return the runs of a plan that died, and that no later run of the same plan ended.

        No outcome beside a plan has what they deleted.
        """
        folder = f"{self.folder}/runs"
        return [
            run_id
            for run_id in self.files.names(folder)
            if _plan_in(self.read_lines(run_id, "evidence")) == plan_id
            and _plan_in(self.files.read(f"{folder}/{run_id}/outcome.json")) != plan_id
        ]

    # --- halt

    def halted(self) -> str | None:
        """Return why all collection of this storage root was stopped, ``None`` if it was not."""
        data = self.files.read(f"{self.folder}/halted.json")
        if data is None:
            return None
        try:
            return str(json.loads(data)["reason"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return "collection was halted, and the reason cannot be read"

    def halt(self, reason: str, at: datetime) -> None:
        """Stop all collection of this storage root until a person has checked it (R17, R22)."""
        content = {"reason": f"halted at {at.isoformat()}: {reason}"}
        self.files.write(f"{self.folder}/halted.json", json.dumps(content).encode())

    def renew_halt(self) -> None:
        """Write a halt again as it is: no rule that removes old objects of a bucket may lift it."""
        name = f"{self.folder}/halted.json"
        data = self.files.read(name)
        if data is not None:
            self.files.write(name, data)

    def clear_halt(self) -> None:
        """End the halt of all collection."""
        self.files.remove(f"{self.folder}/halted.json")


def _plan_in(document: bytes | None) -> str | None:
    """Return the id of the plan that a document of a run names, ``None`` if it cannot be read."""
    try:
        return str(json.loads(document or b"")["plan_id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _digested(data: bytes) -> str:
    """Return the end of a generation's name, which its bytes must confirm."""
    return f"-{hashlib.sha256(data).hexdigest()}.parquet"
