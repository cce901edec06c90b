"""Outcome of a sweep beside its plan: first ``outcomes.parquet``, last ``outcome.json``."""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orphangc.adapters.rows.plan_directory import write_atomically
from orphangc.core.times.instant_columns import check_rows
from orphangc.errors import OrphanGcError, SettingsError
from orphangc.ports import OUTCOME_SCHEMA

_REPEATED = ["job_id", "scope", "action", "reason", "outcome", "error"]
_ROWS_A_GROUP = 50_000
_RUN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}", re.ASCII)


class OutcomeFiles:
    """Outcome of one sweep; readers see it only after ``publish``."""

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self._folder = folder
        # a sweep of the same plan that took the lock over writes its own
        self._partial = folder / f"outcomes-{uuid.uuid4().hex}.partial"
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._waiting = 0

    def open(self) -> None:
        """Open the file of the rows before any deletion, or raise ``OrphanGcError``."""
        try:
            self._writer = pq.ParquetWriter(
                self._partial, OUTCOME_SCHEMA, compression="zstd", use_dictionary=_REPEATED
            )
        except OSError as err:
            raise OrphanGcError(
                f"the outcome of the sweep cannot be written into {self._folder}: {err}; nothing"
                " was deleted"
            ) from err

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``OUTCOME_SCHEMA``."""
        self.rows += batch.num_rows
        self._waiting += batch.num_rows
        self._held.append(batch)
        if self._waiting >= _ROWS_A_GROUP:
            self._flush()

    def _flush(self) -> None:
        """Write the buffered rows: small row groups would make a large file."""
        if self._writer is None:
            self.open()
        assert self._writer is not None  # noqa: S101 - just opened
        self._writer.write_table(pa.Table.from_batches(self._held, OUTCOME_SCHEMA))
        self._held, self._waiting = [], 0

    def publish(self, outcome: dict[str, Any]) -> None:
        """Publish the rows, then ``outcome.json``; keep the files of an earlier run.

        The files of an earlier run get its id as a suffix, because only they hold its version ids.
        """
        self._flush()
        self._close()
        self._set_aside()
        self._partial.replace(self._folder / "outcomes.parquet")
        text = json.dumps(outcome, indent=1, default=str) + "\n"
        write_atomically(self._folder / "outcome.json", text.encode())

    def discard(self) -> None:
        """Remove the unpublished rows."""
        self._close()
        self._partial.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _set_aside(self) -> None:
        earlier = self._folder / "outcome.json"
        if not earlier.exists():
            return
        try:
            run_id = str(json.loads(earlier.read_bytes())["run_id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            run_id = ""
        if not _RUN_ID.fullmatch(run_id):  # the id becomes part of a file name
            run_id = f"unknown-{earlier.stat().st_mtime_ns}"
        rows = self._folder / "outcomes.parquet"
        if rows.exists():
            rows.rename(self._folder / f"outcomes-{run_id}.parquet")
        earlier.rename(self._folder / f"outcome-{run_id}.json")


def read_outcome(folder: Path) -> dict[str, Any]:
    """Return the outcome of a plan's last sweep; ``SettingsError`` if none has finished here."""
    try:
        outcome: dict[str, Any] = json.loads((folder / "outcome.json").read_bytes())
    except FileNotFoundError as err:
        raise SettingsError(
            f"no sweep of {folder} has finished: it has no outcome.json; if a sweep was stopped,"
            " the same command finishes it"
        ) from err
    except (OSError, ValueError, RecursionError) as err:
        raise SettingsError(f"no outcome of a sweep in {folder}: {err}") from err
    if not isinstance(outcome, dict):
        raise SettingsError(f"no outcome of a sweep in {folder}: it is no JSON object")
    return outcome


def outcome_rows(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all sweeps of a plan, or raise ``SettingsError``."""
    for path in sorted(folder.glob("outcomes*.parquet")):
        try:
            with pq.ParquetFile(path) as file:
                yield from map(check_rows, file.iter_batches())
        except (OSError, ValueError, pa.ArrowException) as err:
            raise SettingsError(f"{path} cannot be read: {err}") from err
