"""What the first pass finds out of each row is what every later pass is given."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from orphangc.collect.listing import run_pass
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.tombstones import Tombstones
from orphangc.errors import OrphanGcError
from orphangc.ports import LISTING_SCHEMA
from support.builders import BASE, JOB

NOW = datetime(2026, 1, 2, tzinfo=UTC)
UUIDS = [f"{n:08x}-0000-4000-8000-{n:012x}" for n in range(40)]
LISTED = [
    [f"{JOB}/shared/{each}" for each in UUIDS[:20]],
    [f"{JOB}/chk-7/_metadata", f"{JOB}/shared/odd", *(f"{JOB}/shared/41_{u}" for u in UUIDS[20:])],
    [f"{JOB}/taskowned/{UUIDS[0]}", "x"],
    [],
]


def a_batch(keys: list[str], *, folder: str | None = None) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = [
        {"key": key, "size": at, "modified_at": None if at == 3 else NOW, "etag": "e"}
        for at, key in enumerate(keys)
    ]
    rows += [] if folder is None else [{"key": f"{folder}/", "size": None}]
    return pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA)


@dataclass
class Listing:
    """A spool that is full already."""

    held: list[pa.RecordBatch]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the same batches each time."""
        return iter(self.held)


@dataclass
class Noting:
    phase: str = "noting"
    seen: list[MarkedRows] = field(default_factory=list)

    def begin(self) -> list[MarkedRows]:
        return self.seen

    def add(self, found: list[MarkedRows], rows: MarkedRows) -> None:
        """Keep a batch."""
        found.append(rows)

    def end(self, found: list[MarkedRows]) -> None:
        """Do nothing."""

    def together(self, found: list[list[MarkedRows]]) -> list[MarkedRows]:
        """Return what one worker saw."""
        return found[0]


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    with tempfile.TemporaryFile() as scratch:
        held = [a_batch(keys) for keys in LISTED]
        held.append(a_batch([f"{JOB}/shared/{UUIDS[5]}"], folder=f"{JOB}/shared/op_1"))
        made = LocalEngine(Listing(held), BASE.name, streams=1, scratch=scratch)
        live = LiveSet()
        live.parsed.extend(*words(UUIDS[3:9]))
        live.raw.extend(*words(UUIDS[7:30]))
        made.mark(live, Tombstones.empty())
        yield made


def words(uuids: list[str]) -> tuple[np.ndarray, np.ndarray]:
    numbers = [int(each.replace("-", ""), 16) for each in uuids]
    hi, lo = [n >> 64 for n in numbers], [n & (1 << 64) - 1 for n in numbers]
    return np.array(hi, np.uint64), np.array(lo, np.uint64)


def run(engine: LocalEngine) -> list[MarkedRows]:
    return engine.run(Noting(), lambda *_: None)


def shown(rows: MarkedRows) -> dict[str, Any]:
    columns = rows.columns
    parts = {
        **{name: getattr(columns, name) for name in columns.__slots__},
        "in_parsed": rows.in_parsed,
        "in_raw": rows.in_raw,
        "has": rows.tombstones.has,
        "since_us": rows.tombstones.since_us,
    }
    texts = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in parts.items()}
    return {**texts, "batch": columns.batch.to_pylist(), "folders": rows.folders}


def test_later_passes_are_given_what_the_first_found(engine, monkeypatch) -> None:
    """And only a batch with folders is marked again."""
    first = run(engine)
    marked: list[int] = []
    original = run_pass.marked_rows

    def marking(batch, *others):
        marked.append(batch.num_rows)
        return original(batch, *others)

    monkeypatch.setattr(run_pass, "marked_rows", marking)
    for _ in range(2):
        marked.clear()
        assert [shown(each) for each in run(engine)] == [shown(each) for each in first]
        assert marked == [2]
    assert {each for rows in first for each in rows.in_parsed.tolist()} == {True, False}


def test_another_live_set_marks_anew(engine) -> None:
    """What was orphaned may be live now."""
    run(engine)
    live = LiveSet()
    live.parsed.extend(*words(UUIDS))
    engine.mark(live, Tombstones.empty())
    assert all(rows.in_parsed[rows.columns.has_uuid].all() for rows in run(engine))


def test_names_of_too_many_kinds_are_marked_in_each_pass(engine, monkeypatch) -> None:
    """They would take memory without end."""
    monkeypatch.setattr(run_pass, "_MOST_KINDS", 2)
    first = run(engine)
    assert [shown(each) for each in run(engine)] == [shown(each) for each in first]


def test_a_pass_that_fails_leaves_nothing_to_the_next(engine) -> None:
    """Half of a listing is none."""

    class Failing(Noting):
        def add(self, found, rows):
            super().add(found, rows)
            if len(found) == 2:
                raise OrphanGcError("no more")

    with pytest.raises(OrphanGcError):
        engine.run(Failing(), lambda *_: None)
    assert len(run(engine)) == len(run(engine)) == 5


def test_another_listing_is_found_out(engine) -> None:
    """A row more or less in a batch: the columns would be of other objects."""
    run(engine)
    spool = engine._spool
    engine._spool = replace(spool, held=[spool.held[0].slice(1), *spool.held[1:]])
    with pytest.raises(OrphanGcError, match="has changed between two passes"):
        run(engine)
