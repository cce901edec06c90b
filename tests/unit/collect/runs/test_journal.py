"""The journal: every line is JSON that says what the row said, however odd its text."""

import json
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from orphangc.collect.runs.journal import Journal, json_lines, markers_of
from orphangc.collect.state.store import RootState
from orphangc.ports import OUTCOME_SCHEMA
from support.builders import BASE
from unit.collect.delete.deleting import due_rows, keys_of
from unit.collect.state.places import SteppedFiles

ODD = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.text('az09 /"\\\x7f', max_size=4)
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
ROWS = st.one_of(
    st.lists(st.tuples(st.none() | texts, st.none() | texts, NUMBERS), max_size=20)
    for texts in (ODD, PLAIN)
)


@given(ROWS)
def test_lines_are_read_back_as_they_were(rows) -> None:
    """Quotes, backslashes, line ends, nulls and empty texts."""
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    types = (pa.string(), pa.string(), pa.int64())
    batch = pa.RecordBatch.from_arrays(
        [pa.array(each, kind) for each, kind in zip(columns, types, strict=True)],
        names=["key", "etag", "size"],
    )
    lines = json_lines(batch).splitlines()
    assert [tuple(json.loads(line).values()) for line in lines] == rows
    assert len(lines) == len(rows)


def test_a_time_is_spelled_in_utc() -> None:
    """A person compares it with the storage's."""
    at = pa.array([datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), None], pa.timestamp("us", "UTC"))
    lines = json_lines(pa.RecordBatch.from_arrays([at], names=["at"])).splitlines()
    assert [json.loads(line)["at"] for line in lines] == ["2026-01-02 03:04:05.000678Z", None]


def outcomes(keys: list[str], versions: list[str | None]) -> pa.RecordBatch:
    rows = [
        {**row, "outcome": "done" if row["key"] != keys[0] else "gone", "version_id": version}
        for row, version in zip(due_rows(keys).to_pylist(), versions, strict=True)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=OUTCOME_SCHEMA)


def test_what_a_run_that_died_may_have_deleted_is_found_in_its_journal() -> None:
    """By its delete marker or, where no answer named one or no outcome is known, by its ETag."""
    state = RootState(SteppedFiles(), BASE)
    journal = Journal(state, "run")
    keys = keys_of(63)
    for number in range(20):
        part = keys[3 * number : 3 * number + 3]
        journal.write_batch(number, due_rows(part))
        journal.write_outcomes(number, outcomes(part, ["v0", f"v{number}", None]))
    journal.write_batch(20, due_rows(keys[60:]))
    state.write_lines("run", "uploads-000000", b'{"key": "an upload", "etag": "x"}')
    found = [tuple(row.values()) for batch in markers_of(state, "run") for row in batch.to_pylist()]
    etags = dict(zip(keys, due_rows(keys)["etag"].to_pylist(), strict=True))
    assert None not in etags.values()
    versions = {keys[3 * n + 1]: f"v{n}" for n in range(20)}
    assert found == [
        (key, versions.get(key, etags[key]))
        for number, key in enumerate(keys)
        if number % 3 or number >= 60
    ]
    assert list(markers_of(state, "another")) == []
