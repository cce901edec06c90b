"""What orphangc wrote itself and reads again, after somebody else had it in hand."""

import hashlib
import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orphangc.adapters.rows.outcome_files import outcome_rows, read_outcome
from orphangc.adapters.rows.resumable_listing import (
    FinishedPart,
    ListingIdentity,
    ResumableListing,
    _sealed,
)
from orphangc.collect.runs.journal import markers_of
from orphangc.collect.state.history import checks_before, has_planned, kept_record, newest_records
from orphangc.collect.state.lock import Holder, acquire
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import read_memory
from orphangc.collect.world.recalling import outside_directories, recalled
from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.world.known_states import MemoryMarker
from orphangc.errors import LockHeldError, OrphanGcError, SettingsError
from orphangc.ports import OUTCOME_SCHEMA
from robustness.fuzz.mutating import mutated, mutated_json
from robustness.fuzz.target import Target
from support.builders import BASE, a_tombstone, an_object
from support.tombstone_tables import each_of, laid_as
from unit.app.status.records import a_record
from unit.collect.state.places import SteppedFiles
from unit.core.memory.memory_builders import NEXT, a_directory, a_job, seen

AT = datetime(2026, 11, 21, 14, tzinfo=UTC)
NEW_GENERATION = f"tombstones/{1:012d}-{{}}.parquet"
NEW_MEMORY = f"world/20261101T000000000000Z-{'0' * 16}-{{}}.json"


def state_with(files: Mapping[str, bytes]) -> RootState:
    """Return a state location of these files; ``{}`` in a name is the digest of the bytes."""
    state = RootState(SteppedFiles(), BASE)
    for name, data in files.items():
        named = name.format(hashlib.sha256(data).hexdigest())
        state.files.write(f"{state.folder}/{named}", data)
    return state


# --- tombstones

SOME = laid_as(
    a_tombstone(an_object(f"shared/0000000{n}-0000-4000-8000-000000000000")) for n in range(3)
)


def _kept() -> tuple[str, bytes]:
    state = state_with({})
    state.keep_tombstones(SOME)
    (name,) = state.files.names(f"{state.folder}/tombstones")
    return name, state.files.read(f"{state.folder}/tombstones/{name}") or b""


GENERATION, TOMBSTONES = _kept()


def check_tombstones(data: bytes, _: Path) -> None:
    """Make sure that an altered generation is refused, for its times end quarantines."""
    found = state_with({f"tombstones/{GENERATION}": data}).tombstones()
    assert each_of(found) == each_of(SOME)


def check_forged_tombstones(data: bytes, _: Path) -> None:
    """Read a generation that was named anew for what is in it: refused, or tombstones."""
    for each in each_of(state_with({NEW_GENERATION: data}).tombstones()):
        assert each.since.tzinfo is not None


# --- records, a halt, a lock

RECORDS = [
    a_record(n, totals={"runs": {"plan/done": n}, "last_success_at": {"plan": AT}})
    .model_dump_json()
    .encode()
    for n in (1, 2)
]


def check_record(data: bytes, _: Path) -> None:
    """Make sure that a record of a run is one, or is left out; and the next one can be kept."""
    state = state_with({"records/1.json": data, "records/2.json": RECORDS[0]})
    records = list(newest_records(state))
    assert len(records) in {1, 2}
    has_planned(state)
    checks_before(state)
    kept = kept_record(state, a_record(3))
    assert kept.totals.runs["plan/done"] >= 2, "a count that the other record has was lost"


def check_halt(data: bytes, _: Path) -> None:
    """Make sure that no damage lifts a halt: only a person does."""
    assert state_with({"halted.json": data}).halted() is not None


HOLDER = Holder(token="t", host="here", pid=7, started="1")


def check_lock(data: bytes, _: Path) -> None:
    """Make sure that a lock that somebody holds is not free for what is written in it."""
    files = SteppedFiles()
    files.write("lock/000000000001.json", data)
    other = Holder(token="other", host="here", pid=8, started="2")
    acquire(files, "lock", other, is_dead=lambda _: False)
    assert data == b'{"released": true}'


# --- the memory of the world

SIGHTING = seen(1, a_directory(1, job=NEXT), jobs=(a_job(NEXT),))
MEMORY = compared(
    WorldMemory(states=("s",)),
    replace(seen(0, a_directory(1, 2), jobs=(a_job(),), others=("s3://x/sp",)), root=str(BASE)),
).memory
MEMORIES = (
    MEMORY.model_dump_json(exclude_defaults=True).encode(),
    MEMORY.model_dump_json().encode(),
)
DIGEST = hashlib.sha256(MEMORIES[0]).hexdigest()
WORD = json.dumps(
    {"condition": "c", "what": "w", "since": str(AT), "at": str(AT), "by": "me@here"}
).encode()


def check_memory(data: bytes, _: Path) -> None:
    """Make sure that an altered memory is refused, and never taken for an empty one."""
    assert read_memory(state_with({NEW_MEMORY.format(DIGEST): data})).memory == MEMORY


def check_forged_memory(data: bytes, _: Path) -> None:
    """Read one that was named anew for what is in it: a problem that blocks, or a memory."""
    before = recalled(state_with({NEW_MEMORY: data}))
    if before.memory_problem is None:
        assert not before.is_new
        compared(before.memory, SIGHTING, before.given)
        outside_directories(before.memory)


def check_acknowledgement(data: bytes, _: Path) -> None:
    """Make sure that a person's word is one, or blocks."""
    before = recalled(state_with({"acknowledged/1.json": data}))
    assert (before.memory_problem is None) == (len(before.given) == 1)


MARKER = (MemoryMarker(root=str(BASE), state="s", since=AT).model_dump_json().encode(),)


def check_marker(data: bytes, _: Path) -> None:
    """Make sure that the marker of a memory that is gone blocks, whatever is left of it."""
    before = recalled(state_with({"remembers.json": data}))
    assert (before.memory_problem or before.state_problem) is not None


# --- what stands beside a plan

OUTCOME = b'{"run_id": "r1", "counts": {"delete/done": {"objects": 2, "bytes": 9}}}'


VALUES = {"string": "x", "int64": 1, "timestamp[us, tz=UTC]": AT, "bool": True}
ROW = {each.name: VALUES[str(each.type)] for each in OUTCOME_SCHEMA}
OUTCOMES = pa.Table.from_pylist([ROW] * 3, OUTCOME_SCHEMA)
"""Rows of a sweep that deleted three objects."""


def _rows_of_outcomes() -> bytes:
    sink = io.BytesIO()
    pq.write_table(OUTCOMES, sink, compression="zstd")
    return sink.getvalue()


def check_outcome(data: bytes, folder: Path) -> None:
    (folder / "outcome.json").write_bytes(data)
    assert isinstance(read_outcome(folder), dict)


def check_outcome_rows(data: bytes, folder: Path) -> None:
    (folder / "outcomes.parquet").write_bytes(data)
    for batch in outcome_rows(folder):
        batch.validate(full=True)


LINES = b'{"key": "a", "outcome": "done", "error": null, "version_id": "v1"}\n' * 3


def check_journal(data: bytes, _: Path) -> None:
    """Read the journal of a run that died: what it tells are keys and versions."""
    state = state_with({})
    for part in ("batch-000000", "batch-000000-done"):
        state.write_lines("r1", part, data)
    for batch in markers_of(state, "r1"):
        batch.validate(full=True)
        assert not any(column.null_count for column in batch.columns)


# --- a listing that was interrupted

IDENTITY = ListingIdentity(root="s3://b/ck", tool_version="1", fingerprint="f")
ROWS = b"rows of the listing"
PARTS = [
    FinishedPart(
        after=after, until=until, rows=3, file="0.arrow", offset=0, length=len(ROWS),
        crc32=zlib.crc32(ROWS),
    )
    for after, until in ((None, "c"), ("m", None))
]  # fmt: skip


def _listing() -> bytes:
    """Return the manifest of a listing of which two parts of three are there."""
    header = {**asdict(IDENTITY), "format": 1, "started_at": AT.isoformat()}
    lines = [json.dumps(header), *(each.model_dump_json() for each in PARTS)]
    return b"".join(_sealed(line.encode()) + b"\n" for line in lines)


LISTING = _listing()


def check_listing(data: bytes, folder: Path) -> None:
    """Make sure that a part is counted in only if its line and its bytes are as they were."""
    for each in _taken_over(data, folder):
        assert each in PARTS


def check_forged_listing(data: bytes, folder: Path) -> None:
    """Read one whose lines have fresh checksums: its parts have their bytes, and no key twice."""
    sealed = b"\n".join(_sealed(line[9:]) if line else line for line in data.split(b"\n"))
    found = sorted(_taken_over(sealed, folder), key=lambda each: each.order)
    for each in found:
        part = ROWS[each.offset :][: each.length]
        assert (len(part), zlib.crc32(part)) == (each.length, each.crc32) or each.rows == 0
    for each, after in pairwise(found):
        assert each.until is not None
        assert after.after is not None
        assert each.until <= after.after


def _taken_over(data: bytes, folder: Path) -> list[FinishedPart]:
    (folder / "0.arrow").write_bytes(ROWS)
    (folder / "parts.jsonl").write_bytes(data)
    listing = ResumableListing(folder, IDENTITY, clock=lambda: AT)
    try:
        return listing.take_over()
    finally:
        listing.close()


TARGETS = (
    Target("tombstones", mutated([TOMBSTONES]), check_tombstones, (OrphanGcError,)),
    Target("forged tombstones", mutated([TOMBSTONES]), check_forged_tombstones, (OrphanGcError,)),
    Target("record", mutated_json(RECORDS), check_record, ()),
    Target("memory", mutated([MEMORIES[0]]), check_memory, (OrphanGcError,)),
    Target("forged memory", mutated_json(list(MEMORIES)), check_forged_memory, ()),
    Target("marker of a memory", mutated_json(list(MARKER)), check_marker, ()),
    Target("acknowledgement", mutated_json([WORD]), check_acknowledgement, ()),
    Target("halt", mutated_json([b'{"reason": "halted at 1: x"}']), check_halt, ()),
    Target(
        "lock",
        mutated_json([HOLDER.encoded(), b'{"released": true}']),
        check_lock,
        (LockHeldError,),
    ),
    Target("outcome", mutated_json([OUTCOME]), check_outcome, (SettingsError,)),
    Target("outcome rows", mutated([_rows_of_outcomes()]), check_outcome_rows, (SettingsError,)),
    Target("journal", mutated([LINES]) | mutated_json([LINES.splitlines()[0]]), check_journal, ()),
    Target("listing", mutated([LISTING]), check_listing, ()),
    Target("forged listing", mutated([LISTING]), check_forged_listing, ()),
)
