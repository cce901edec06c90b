"""The journal of one run: what is about to be deleted, and then what became of it (R23).

JSON lines, one file a batch, so that a person can search it with ``jq`` and ``grep``. A batch
without its ``-done`` file was running when its run died: the objects it names may be gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.collect.state.store import RootState
from orphangc.core.model.types import Outcome

MARKER_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("version_id", pa.string(), nullable=False),
    ]
)
"""One row for each delete marker that a run is known to have made."""

_DONE = "-done"
_OUTCOME_FIELDS = ("key", "outcome", "error", "version_id")
_TORN = (ValueError, TypeError, RecursionError)
_NEEDS_NO_ESCAPE = r"^[ !#-\[\]-~]*$"
_READERS = 16

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Journal:
    """Writes the batches of one run."""

    state: RootState
    run_id: str

    def write_batch(self, number: int, rows: pa.RecordBatch) -> None:
        """Write down what is about to be deleted, before it is (R23)."""
        self.state.write_lines(self.run_id, f"batch-{number:06d}", json_lines(rows))

    def write_outcomes(self, number: int, rows: pa.RecordBatch) -> None:
        """Write down what became of a batch, an ``OUTCOME_SCHEMA`` one."""
        lines = json_lines(rows.select(_OUTCOME_FIELDS))
        self.state.write_lines(self.run_id, f"batch-{number:06d}{_DONE}", lines)


def markers_of(state: RootState, run_id: str) -> Iterator[pa.RecordBatch]:
    """Yield the delete markers that a run wrote down, as ``MARKER_SCHEMA``."""
    names = [name for name in state.journal_names(run_id) if name.endswith(_DONE)]
    with ThreadPoolExecutor(_READERS) as pool:
        for start in range(0, len(names), _READERS):
            some = names[start : start + _READERS]
            for data in pool.map(lambda name: state.read_lines(run_id, name), some):
                try:
                    yield from _markers(data)
                except _TORN as err:  # by the crash: those markers are not known
                    log.warning("journal.torn", run_id=run_id, reason=str(err))


def _markers(data: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the delete markers of one part, or raise ``ValueError`` or ``TypeError``.

    Python's parser reads it: a part that a crash has torn ends the process in Arrow's.
    """
    lines = (_fields_of(line) for line in data.decode().split("\n") if line)
    made = [
        {"key": line["key"], "version_id": line["version_id"]}
        for line in lines
        if line["outcome"] == Outcome.DONE and None not in (line["key"], line["version_id"])
    ]
    if made:
        yield pa.RecordBatch.from_pylist(made, schema=MARKER_SCHEMA)


def _fields_of(line: str) -> dict[str, str | None]:
    content = json.loads(line)
    if not isinstance(content, dict):
        raise TypeError("a line is no object")
    recorded = {name: content.get(name) for name in _OUTCOME_FIELDS}
    if any(not isinstance(each, str | None) for each in recorded.values()):
        raise TypeError("a line has what is no text")
    return recorded


def json_lines(rows: pa.RecordBatch) -> bytes:
    """Return each row as a JSON object on a line of its own; times are spelled in UTC."""
    parts: list[pa.Array | pa.Scalar] = []
    for position, field in enumerate(rows.schema):
        parts += [pa.scalar(f'{", " if position else "{"}"{field.name}": '), _values(rows, field)]
    lines = pc.binary_join_element_wise(*parts, pa.scalar("}\n"), "")
    return "".join(lines.to_pylist()).encode()


def _values(rows: pa.RecordBatch, field: pa.Field) -> pa.Array:
    column = rows.column(field.name)
    if pa.types.is_integer(field.type):
        return column.cast(pa.string()).fill_null("null")
    texts = column.cast(pa.string())
    if pc.all(pc.match_substring_regex(texts, _NEEDS_NO_ESCAPE), min_count=0).as_py():
        return pc.binary_join_element_wise('"', texts, '"', "").fill_null("null")
    return pa.array([json.dumps(each) for each in texts.to_pylist()], pa.string())
