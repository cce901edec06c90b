"""A plan on disk: ``plan.json``, ``verdicts/*.parquet``, and what a sweep writes beside them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc
from pydantic import ValidationError

from orphangc.core.plan import Plan
from orphangc.errors import PlanMismatchError, SettingsError
from orphangc.ports import LISTING_SCHEMA, VERDICT_SCHEMA

__all__ = [
    "ArrowSpool",
    "NoVerdicts",
    "PlanDirectory",
    "VerdictFiles",
    "check_writable",
    "write_atomically",
]

_ROWS_PER_FILE = 5_000_000


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, readable as the umask says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}-{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def check_writable(path: Path) -> None:
    """Make sure that a file can be written, before the work that it is to tell of begins.

    Raises:
        SettingsError: It is a folder, or its folder cannot be made or is write-protected.

    """
    above = _nearest_folder(path.parent)
    if path.is_dir() or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise SettingsError(f"{path} cannot be written: choose another place")


def _nearest_folder(path: Path) -> Path:
    """Return the path itself, or what stands nearest above it and exists."""
    return next(each for each in (path, *path.absolute().parents) if each.exists())


class ArrowSpool:
    """A listing in a temporary Arrow file, which goes when the spool is closed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="orphangc-")
        self._path = Path(self._folder.name) / "listing.arrow"
        self._file = pa.OSFile(str(self._path), "wb")
        self._writer = ipc.new_stream(self._file, LISTING_SCHEMA)

    def __enter__(self) -> Self:
        """Return the open spool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file."""
        self._finish()
        self._folder.cleanup()

    def _finish(self) -> None:
        if not self._file.closed:
            self._writer.close()
            self._file.close()

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch of ``LISTING_SCHEMA``."""
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all batches in order; closes the spool for writing."""
        self._finish()
        with pa.memory_map(str(self._path)) as source:
            yield from ipc.open_stream(source)


class NoVerdicts:
    """Takes verdicts and keeps none: a plan that is only printed."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Forget the batch."""


class VerdictFiles:
    """Verdicts as Parquet files in a new folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0
        self._names: list[str] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""
        if self._writer is None or self._rows + batch.num_rows > _ROWS_PER_FILE:
            self._start_file()
        assert self._writer is not None  # noqa: S101 - opened one line above
        self._writer.write_batch(batch)
        self._rows += batch.num_rows

    def _start_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._names.append(f"part-{len(self._names):05d}.parquet")
        path = self._folder / self._names[-1]
        self._writer = pq.ParquetWriter(path, VERDICT_SCHEMA, compression="zstd")
        self._rows = 0

    def close(self) -> dict[str, str]:
        """Return the sha256 of each file by name."""
        if self._writer is None:
            self._start_file()
        assert self._writer is not None  # noqa: S101 - opened above if it was not
        self._writer.close()
        return {name: _sha256(self._folder / name) for name in self._names}

    def discard(self) -> None:
        """Remove the files of a plan that failed, and the folders made for them."""
        if self._writer is not None:
            self._writer.close()
        for name in self._names:
            (self._folder / name).unlink(missing_ok=True)
        for folder in (self._folder, self._folder.parent):
            if self._names and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class PlanDirectory:
    """The folder that holds one plan and, later, its outcome."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def verdicts(self) -> Path:
        """Return the folder of the verdict files."""
        return self.path / "verdicts"

    def prepare(self) -> None:
        """Make sure that a new plan can be written here.

        Raises:
            SettingsError: The path is no folder, or already holds something.

        """
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise SettingsError(f"{self.path} exists and is not an empty folder; give a new one")
        above = _nearest_folder(self.path)
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise SettingsError(f"{self.path} cannot be made in {above}")

    def write(self, plan: Plan, verdict_files: dict[str, str]) -> Plan:
        """Write ``plan.json`` last, so that a folder with one is complete; return it signed."""
        signed = plan.model_copy(update={"verdict_files": verdict_files}).signed()
        write_atomically(
            self.path / "plan.json", (signed.model_dump_json(indent=1) + "\n").encode()
        )
        return signed

    def read(self) -> Plan:
        """Return the plan, whole and unaltered.

        Raises:
            SettingsError: There is no plan here.
            PlanMismatchError: It is damaged, altered, or by another version of the format.

        """
        path = self.path / "plan.json"
        try:
            data = path.read_bytes()
        except OSError as err:
            raise SettingsError(f"no plan in {self.path}: {err.strerror}") from err
        try:
            plan = Plan.model_validate_json(data)
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise PlanMismatchError(
                f"{path} is no plan of this version: {where}: {first['msg']}"
            ) from err
        if plan.plan_id != plan.digest():
            raise PlanMismatchError(f"{path} was altered: its identity does not match its content")
        for name, digest in plan.verdict_files.items():
            self._check(name, digest)
        return plan

    def _check(self, name: str, digest: str) -> None:
        path = self.verdicts / name
        if not path.is_file() or _sha256(path) != digest:
            raise PlanMismatchError(f"{path} is not the file that was planned")

    def rows(self, plan: Plan, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the verdict rows of a plan that was read."""
        for name in sorted(plan.verdict_files):
            with pq.ParquetFile(self.verdicts / name) as file:
                yield from file.iter_batches(columns=list(columns) if columns else None)

    def write_outcome(self, outcome: dict[str, Any], rows: pa.Table) -> None:
        """Write ``outcomes.parquet`` and then ``outcome.json``; those of an earlier run stay.

        An earlier run's files get its id as a suffix: its version ids stand nowhere else.
        """
        self._set_aside()
        target = self.path / "outcomes.parquet"
        partial = target.with_suffix(".partial")
        pq.write_table(rows, partial, compression="zstd")
        partial.replace(target)
        text = json.dumps(outcome, indent=1, default=str) + "\n"
        write_atomically(self.path / "outcome.json", text.encode())

    def _set_aside(self) -> None:
        """Rename the files of an earlier run of the same plan."""
        earlier = self.path / "outcome.json"
        if not earlier.exists():
            return
        try:
            run_id = str(json.loads(earlier.read_bytes())["run_id"])
        except (ValueError, KeyError, TypeError):
            run_id = f"unknown-{earlier.stat().st_mtime_ns}"
        rows = self.path / "outcomes.parquet"
        if rows.exists():
            rows.rename(self.path / f"outcomes-{run_id}.parquet")
        earlier.rename(self.path / f"outcome-{run_id}.json")

    def read_outcome(self) -> tuple[dict[str, Any], pa.Table]:
        """Return what the last sweep of this plan did, and the rows of all its sweeps.

        Raises:
            SettingsError: No sweep has finished here.

        """
        try:
            outcome = json.loads((self.path / "outcome.json").read_bytes())
            files = sorted(self.path.glob("outcomes*.parquet"))
            return outcome, pa.concat_tables(pq.read_table(file) for file in files)
        except (OSError, ValueError) as err:
            raise SettingsError(f"no outcome of a sweep in {self.path}: {err}") from err
