"""A plan on disk: ``plan.json`` and ``verdicts/*.parquet``."""

import hashlib
import os
import re
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from orphangc.adapters.rows.resumable_listing import LISTING_FOLDER, remove_listing
from orphangc.adapters.rows.written_files import writing
from orphangc.core.documents.plan import Plan
from orphangc.core.times.instant_columns import check_rows
from orphangc.errors import PlanMismatchError, SettingsError

_LEFT = re.compile(rf"{re.escape(LISTING_FOLDER)}|verdicts|\.plan\.json-[0-9a-f]+\.partial")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, as the umask permits, or raise ``OrphanGcError``."""
    partial = path.with_name(f".{path.name}-{uuid.uuid4().hex}.partial")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()


def check_writable(path: Path) -> None:
    """Raise ``SettingsError`` unless a result file can be written, before the work for it."""
    above = _nearest_folder(path.parent)
    if path.is_dir() or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise SettingsError(f"{path} cannot be written: choose another place")


def _nearest_folder(path: Path) -> Path:
    return next(each for each in (path, *path.absolute().parents) if each.exists())


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

    def prepared(self) -> Self:
        """Return this folder, or raise ``SettingsError`` if no new plan can be written here.

        The folder may hold the files of an interrupted plan, whose listing is resumed.
        """
        if self.path.exists() and not (self.path.is_dir() and self._is_free()):
            raise SettingsError(f"{self.path} exists and is not an empty folder; give a new one")
        above = _nearest_folder(self.path)
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise SettingsError(
                f"{self.path} cannot be made: {above} is no folder that this user may write in"
            )
        return self

    def _is_free(self) -> bool:
        """Return whether the folder is empty, or holds an interrupted plan that has a listing."""
        names = {each.name for each in self.path.iterdir()}
        left = {each for each in names if _LEFT.fullmatch(each)}
        return not names or (left == names and LISTING_FOLDER in names)

    @property
    def listing(self) -> Path:
        """Return the folder of the listing during planning."""
        return self.path / LISTING_FOLDER

    def discard(self) -> None:
        """Remove the verdict files of a failed plan, and the folders created for them."""
        self._remove_all_but(())
        for folder in (self.verdicts, self.path):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _remove_all_but(self, names: Collection[str]) -> None:
        """Remove the verdict files of abandoned workers."""
        for file in self.verdicts.glob("part-*.parquet"):
            if file.name not in names:
                file.unlink()

    def write(self, plan: Plan, verdict_files: dict[str, str]) -> Plan:
        """Write ``plan.json`` last, so that a folder with it is complete; return it signed."""
        self._remove_all_but(verdict_files)
        signed = plan.model_copy(update={"verdict_files": verdict_files}).signed()
        write_atomically(
            self.path / "plan.json", (signed.model_dump_json(indent=1) + "\n").encode()
        )
        remove_listing(self.listing)
        for torn in self.path.glob(".plan.json-*.partial"):
            torn.unlink()
        return signed

    def read(self) -> Plan:
        """Return the plan, complete and unaltered; raises as ``read_head``."""
        plan = self.read_head()
        self.check(plan)
        return plan

    def check(self, plan: Plan) -> None:
        """Raise ``PlanMismatchError`` if a verdict file is absent, damaged, or altered."""
        for name, digest in plan.verdict_files.items():
            path = self.verdicts / name
            if path.name != name or not path.is_file() or _sha256(path) != digest:
                raise PlanMismatchError(f"{path} is not the file that was planned; plan again")

    def read_head(self) -> Plan:
        """Return the plan without reading its verdict files, which may be large.

        Raises:
            SettingsError: There is no plan here.
            PlanMismatchError: It is damaged, altered, or by another version of the format.
        """
        path = self.path / "plan.json"
        try:
            data = path.read_bytes()
        except OSError as err:
            raise SettingsError(f"no plan in {self.path}: plan.json: {err.strerror}") from err
        try:
            plan = Plan.model_validate_json(data)
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "all of it"
            raise PlanMismatchError(
                f"{path} is no plan of this version: {where}: {first['msg']}; plan again"
            ) from err
        if plan.plan_id != plan.digest():
            raise PlanMismatchError(f"{path} was altered since it was planned; plan again")
        return plan

    def rows(self, plan: Plan, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the verdict rows of a plan that was read, or raise ``PlanMismatchError``."""
        chosen = list(columns) if columns else None
        for name in sorted(plan.verdict_files):
            path = self.verdicts / name
            try:
                with pq.ParquetFile(path) as file:
                    yield from map(check_rows, file.iter_batches(columns=chosen))
            except (OSError, ValueError, pa.ArrowException) as err:
                raise PlanMismatchError(f"{path} cannot be read: {err}") from err
