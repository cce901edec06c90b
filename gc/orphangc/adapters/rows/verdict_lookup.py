"""Look up one verdict, or examples of each reason, without reading all files of a plan."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.core.documents.plan import Plan
from orphangc.core.times.instant_columns import check_rows
from orphangc.errors import OrphanGcError, PlanMismatchError

MAX_PLAN_BYTES = 64 * 1024**2
"""Maximum size of a ``plan.json`` that is read to serve a page."""

_MAX_ROWS = 20_000_000
"""Maximum number of rows that one search reads: some seconds."""
_MAX_EXAMPLE_ROWS = 200_000
"""Number of rows searched for examples."""


class TooLargeError(OrphanGcError):
    """The plan is too large to be searched while a page is served."""


class VerdictLookup:
    """Reads single rows of a plan on this machine.

    The files are not checked against their digests, because this would read them all: the rows are
    shown to people and never acted upon.
    """

    def __init__(self, folder: Path) -> None:
        self._directory = PlanDirectory(folder)

    def plan(self) -> Plan:
        """Return the plan, as ``PlanDirectory``; a large one is a ``TooLargeError``."""
        path = self._directory.path / "plan.json"
        if path.is_file() and path.stat().st_size > MAX_PLAN_BYTES:
            raise TooLargeError(f"{path} is too large for a page")
        return self._directory.read_head()

    def find(self, plan: Plan, key: str) -> dict[str, Any] | None:
        """Return the row of a key, ``VERDICT_SCHEMA``, or ``None`` if the plan has none.

        Row groups whose statistics exclude the key are not read.

        Raises:
            TooLargeError: The search would read more than ``_MAX_ROWS`` rows.
            PlanMismatchError: A file is absent or damaged.
        """
        rows = 0
        with self._translated():
            for file, group in self._groups(plan):
                if not _may_have(file, group, key):
                    continue
                rows += file.metadata.row_group(group).num_rows
                if rows > _MAX_ROWS:
                    raise TooLargeError("the plan has too many objects to look one up for a page")
                keys = file.read_row_group(group, columns=["key"], use_threads=False)["key"]
                place = pc.index(keys, pa.scalar(key, keys.type)).as_py()
                if place >= 0:
                    return _row(file.read_row_group(group, use_threads=False), place)
        return None

    def examples(self, plan: Plan, each: int) -> dict[str, list[dict[str, Any]]]:
        """Return the first rows of each reason among the plan's first, or ``PlanMismatchError``."""
        found: dict[str, list[dict[str, Any]]] = {}
        rows = 0
        with self._translated():
            for batch in self._batches(plan):
                _add_examples(found, batch, each)
                rows += batch.num_rows
                if rows >= _MAX_EXAMPLE_ROWS:
                    break
        return found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, pa.ArrowException) as err:
            raise PlanMismatchError(f"cannot read {self._directory.verdicts}: {err}") from err

    def _batches(self, plan: Plan) -> Iterator[pa.RecordBatch]:
        for file, group in self._groups(plan):
            yield from map(check_rows, file.iter_batches(row_groups=[group], use_threads=False))

    def _groups(self, plan: Plan) -> Iterator[tuple[pq.ParquetFile, int]]:
        for name in sorted(plan.verdict_files):
            if Path(name).name != name:
                raise PlanMismatchError(f"{name} is no name of a verdict file")
            with pq.ParquetFile(self._directory.verdicts / name) as file:
                for group in range(file.metadata.num_row_groups):
                    yield file, group


def _may_have(file: pq.ParquetFile, group: int, key: str) -> bool:
    column = file.metadata.row_group(group).column(file.schema_arrow.get_field_index("key"))
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max:
        return True
    encoded = key.encode()  # the store sorts keys by UTF-8 bytes
    return bool(_bytes(statistics.min) <= encoded <= _bytes(statistics.max))


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _row(table: pa.Table, place: int) -> dict[str, Any]:
    (rows,) = table.slice(place, 1).to_batches()
    row: dict[str, Any] = check_rows(rows).to_pylist()[0]
    return row


def _add_examples(found: dict[str, list[dict[str, Any]]], batch: pa.RecordBatch, each: int) -> None:
    for reason in pc.unique(batch.column("reason")).to_pylist():
        rows = found.setdefault(str(reason), [])
        if len(rows) < each:
            those = batch.filter(pc.equal(batch.column("reason"), reason))
            rows += those.slice(0, each - len(rows)).to_pylist()
