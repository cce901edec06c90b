"""The journal of one run: what is about to be deleted, and then what became of it (R23).

JSON lines, one file a batch, so that a person can search it with ``jq`` and ``grep``. Of a batch
without its ``-done`` file, which its check kept, or in which its run died, objects may be gone.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

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
"""One row for each object that a run may have deleted: its delete marker's version id, if that is
known, else its ETag, as ``Storage.undelete`` takes them."""

_BATCH = "batch-"
_DONE = "-done"
_OUTCOME_FIELDS = ("key", "outcome", "error", "version_id")
_READ_FIELDS = ("key", "outcome", "version_id", "etag")
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
        self.state.write_lines(self.run_id, f"{_BATCH}{number:06d}", json_lines(rows))

    def write_outcomes(self, number: int, rows: pa.RecordBatch) -> None:
        """Write down what became of a batch, an ``OUTCOME_SCHEMA`` one."""
        lines = json_lines(rows.select(_OUTCOME_FIELDS))
        self.state.write_lines(self.run_id, f"{_BATCH}{number:06d}{_DONE}", lines)


def markers_of(state: RootState, run_id: str) -> Iterator[pa.RecordBatch]:
    """Yield what a run deleted, or may have deleted, as ``MARKER_SCHEMA``.

    Without an outcome an object may be gone: no answer came, or its run died before it.
    """
    names = [name for name in state.journal_names(run_id) if name.startswith(_BATCH)]
    begun = [name for name in names if not name.endswith(_DONE)]
    with ThreadPoolExecutor(_READERS) as pool:
        for start in range(0, len(begun), _READERS):
            yield from pool.map(partial(_markers, state, run_id), begun[start : start + _READERS])


def _markers(state: RootState, run_id: str, name: str) -> pa.RecordBatch:
    objects: dict[str | None, dict[str, str | None]] = {}
    for part in (name, f"{name}{_DONE}"):
        for line in _lines(state, run_id, part):
            objects[line["key"]] = {**objects.get(line["key"], {}), **line}
    made = [
        {"key": key, "version_id": identity}
        for key, each in objects.items()
        if each.get("outcome") in {None, Outcome.DONE}
        and None not in (key, identity := each.get("version_id") or each.get("etag"))
    ]
    return pa.RecordBatch.from_pylist(made, schema=MARKER_SCHEMA)


def _lines(state: RootState, run_id: str, name: str) -> list[dict[str, str | None]]:
    """Return the lines of one part, none of one that a crash has torn.

    Python's parser reads it: such a part ends the process in Arrow's.
    """
    try:
        lines = state.read_lines(run_id, name).decode().split("\n")
        return [_fields_of(line) for line in lines if line]
    except _TORN as err:
        log.warning("journal.torn", run_id=run_id, reason=str(err))
        return []


def _fields_of(line: str) -> dict[str, str | None]:
    content = json.loads(line)
    if not isinstance(content, dict):
        raise TypeError("a line is no object")
    recorded = {name: content[name] for name in _READ_FIELDS if name in content}
    if "key" not in recorded or any(not isinstance(e, str | None) for e in recorded.values()):
        raise TypeError("a line has no key, or what is no text")
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
