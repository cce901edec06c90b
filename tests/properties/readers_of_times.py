"""Every reader that makes a ``datetime`` of a stored number or text, by the module it lives in.

Each is given one forged time as microseconds since 1970, in the form that it reads, and returns
what came out: an instant, ``None`` for an unknown time, or the error that refuses the input.
"""

import gzip
import hashlib
import io
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from contracts.object_stores.test_azure_answers import STAMP
from contracts.object_stores.test_azure_answers import blob as azure_blob
from contracts.object_stores.test_azure_answers import page as azure_page
from contracts.storage.test_generic import a_file, opened
from flinkstate.places.locations import canonical
from orphangc.adapters.azure import blob_pages
from orphangc.adapters.azure.container import AzureContainer
from orphangc.adapters.files import local_storage, mount_table
from orphangc.adapters.files.state_files import FsspecStateFiles, LocalStateFiles
from orphangc.adapters.files.translate import BatchBuilder
from orphangc.adapters.gcs import gcs_bucket
from orphangc.adapters.object_store import answer_clock
from orphangc.adapters.rows.outcome_files import outcome_rows
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.resumable_listing import ResumableListing, _sealed
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.adapters.rows.verdict_lookup import VerdictLookup
from orphangc.adapters.s3 import bucket_requests as s3_heads
from orphangc.adapters.s3 import s3_bucket as s3_facts
from orphangc.adapters.s3 import s3_unlisted as s3_extras
from orphangc.adapters.s3.pages.page_parser import read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page
from orphangc.adapters.s3.requests import s3_client
from orphangc.adapters.s3_inventory.data_files import current_objects
from orphangc.app.runner.plan_store import KeptPlans
from orphangc.collect.mark.hidden_sums import HiddenSums
from orphangc.collect.state.history import later_run_id, newest_records
from orphangc.collect.state.storage_proof import proof_name, read_proof
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep import upload_abortion
from orphangc.collect.sweep.upload_abortion import UploadMark
from orphangc.collect.world.memory_files import read_acknowledgements, read_memory
from orphangc.core.cluster.rest_json import JobAnswers, job_facts
from orphangc.core.columns.listing_columns import NO_TIME, Recogniser
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.documents.plan import Plan
from orphangc.core.documents.run_record import JobRecord
from orphangc.core.documents.s3_inventory import read_manifest, report_time
from orphangc.core.exporter.registry_format import read_snapshot, write_snapshot
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.ranges.key_ranges import EVERYTHING
from orphangc.core.times.instants import EPOCH, from_microseconds, from_pattern, shifted
from orphangc.core.world.known_world import PlaceKind, SearchedStorage, World
from orphangc.ports import HIDDEN_SCHEMA, LISTING_SCHEMA, HiddenKind
from robustness.fuzz.own_files import (
    IDENTITY,
    NEW_GENERATION,
    NEW_MEMORY,
    OUTCOMES,
    SOME,
    state_with,
)
from support.builders import BASE, a_snapshot
from support.inventory_reports import CSV, ORC, PARQUET, a_report, a_row
from support.tombstone_tables import each_of, table_of
from unit.adapters.s3.pages.test_page_parser import LAST, SHAPE, whole
from unit.app.render.plan_builder import a_plan, verdicts
from unit.app.status.records import a_record
from unit.collect.state.places import SteppedFiles
from unit.core.cluster.test_rest_json import CHECKPOINTS, CONFIG, DETAILS

VERDICT = verdicts().slice(0, 1)
PLAN, _ = a_plan(VERDICT)
_PLACE = {"uri": "s3://b/ck", "kind": next(iter(PlaceKind)), "job_directories": 1, "checkpoints": 1}
WORLD = World(places=(_PLACE,), closed_world={"stated": False, "covers": ()})
Read = Callable[[int, Path], datetime | None]

_NOW = datetime(2026, 11, 21, 14, tzinfo=UTC)


@dataclass(frozen=True)
class Reader:
    module: str  # of the package, where a stored time is checked
    read: Read  # returns what comes out of a time, in microseconds since 1970
    step_us: int = 1  # what the form is written in: the reader sees whole steps
    names: str = ""  # what an error must name; "" where the caller names it


def spelled(us: int) -> str:
    """Return ISO 8601 of any 64 bits, as a writer without Python's limits would write it."""
    return f"{np.datetime64(us, 'us')}+00:00"


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _with_time(rows: pa.Table | pa.RecordBatch, column: str, us: int) -> Any:
    at = rows.schema.get_field_index(column)
    times = pa.array([us] * rows.num_rows, pa.int64()).cast(rows.schema.field(at).type)
    return rows.set_column(at, rows.schema.field(at), times)


def _listing(us: int) -> pa.RecordBatch:
    row = {"key": "a", "size": 1, "modified_at": None, "etag": "e"}
    return _with_time(pa.RecordBatch.from_pylist([row], schema=LISTING_SCHEMA), "modified_at", us)


# --- what orphangc wrote itself


def _tombstone(us: int, _: Path, *, column: str) -> datetime | None:
    data = _parquet(_with_time(table_of(SOME), column, us))
    found = each_of(state_with({NEW_GENERATION: data}).tombstones())[0]
    return found.since if column == "since" else found.object.modified_at


def _record(us: int, _: Path, *, place: str) -> datetime | None:
    look = {"value": True, "why": "w", "at": _NOW, "since": _NOW}
    record = a_record(1, jobs=(JobRecord(job_id="j", looks=(look,)),))
    content = record.model_dump(mode="json")
    part = {
        "started_at": content,
        "last_success_at": content["totals"]["last_success_at"],
        "since": content["jobs"][0]["looks"][0],
    }[place]
    part[place if place != "last_success_at" else "plan"] = spelled(us)
    state = state_with({"records/1.json": json.dumps(content).encode()})
    found = next(newest_records(state), None)
    if found is None:
        return None
    return {
        "started_at": found.started_at,
        "last_success_at": found.totals.last_success_at.get("plan"),
        "since": found.jobs[0].looks[0].since,
    }[place]


def _lineage(us: int, _: Path) -> datetime | None:
    edge = {"older": "a", "newer": "b", "source": "rest", "seen_at": spelled(us)}
    return _remembered({"lineage": {"continuations": [edge]}}).lineage.continuations[0].seen_at


def _expired(us: int, _: Path) -> datetime | None:
    record = {"uri": "u", "key": "k", "job_id": "j", "checkpoint_id": 1, "sha256": "0" * 64}
    record |= {"size": 1, "expired_at": spelled(us), "run_id": "r", "reason": "policy"}
    return _remembered({"expired": [record]}).expired[0].expired_at


_MEMORY = {
    "root": str(BASE),
    "written_at": spelled(0),
    "clusters": [{"uri": "http://f:8081", "answered_at": spelled(0)}],
}


def _memory(us: int, _: Path) -> datetime | None:
    clusters = [{"uri": "http://f:8081", "answered_at": spelled(us)}]
    return _remembered({"clusters": clusters}).clusters[0].answered_at


def _remembered(content: dict[str, Any]) -> WorldMemory:
    """Return what is read back of a memory with this content."""
    data = json.dumps(_MEMORY | content).encode()
    return read_memory(state_with({NEW_MEMORY: data})).memory


def _marker(us: int, _: Path) -> datetime | None:
    word = {"root": str(BASE), "state": "s", "since": spelled(us)}
    marker = read_memory(state_with({"remembers.json": json.dumps(word).encode()})).marker
    return None if marker is None else marker.since


def _acknowledged(us: int, _: Path) -> datetime | None:
    word = {"condition": "place_lost", "what": "x", "since": spelled(us), "at": spelled(0)}
    data = json.dumps(word | {"by": "me@here"}).encode()
    return read_acknowledgements(state_with({"acknowledged/1.json": data}))[0].since


def _proof(us: int, _: Path) -> datetime | None:
    files = SteppedFiles()
    words = {"storage": "s3://b/", "tool_version": "1", "client": "c 1", "checks": ["names"]}
    data = json.dumps(words | {"proven_at": spelled(us)}).encode()
    files.write(proof_name(BASE), data)
    found = read_proof(files, BASE)
    return None if found is None else found.proven_at


def _known_state(us: int, folder: Path) -> datetime | None:
    run = folder / f"20261121T140000000000Z-{'0' * 8}"
    run.mkdir(exist_ok=True)
    (run / "plan.json").write_text(json.dumps({"created_at": spelled(us), "states": ["s"]}))
    known = KeptPlans(folder, 1).known_state()
    return known[0].at if known else None


_REPORT = {
    "root": "s3://b/ck",
    "created_at": spelled(0),
    "policy": None,
    "lineages": (),
    "unneeded_bytes": 0,
    "unneeded_objects": 0,
    "expiring_bytes": 0,
    "expiring_objects": 0,
}


def _plan(us: int, folder: Path, *, place: str) -> datetime | None:
    world = WORLD.model_copy(update={"storages": (SearchedStorage(uri="s3://bucket/"),)})
    content = PLAN.model_copy(update={"world": world}).model_dump(mode="json")
    content["expiry"] = dict(_REPORT)
    parts = {
        "created_at": content,
        "since": content["world"]["places"][0],
        "newest_checkpoint_at": content["world"]["storages"][0],
        "expiry": content["expiry"],
    }
    parts[place]["created_at" if place == "expiry" else place] = spelled(us)
    with suppress(ValueError):  # the reader must refuse it, too
        content = Plan.model_validate(content).signed().model_dump(mode="json")
    (folder / "plan.json").write_text(json.dumps(content))
    plan = PlanDirectory(folder).read_head()
    return {
        "created_at": plan.created_at,
        "since": plan.world.places[0].since,
        "newest_checkpoint_at": plan.world.storages[0].newest_checkpoint_at,
        "expiry": plan.expiry.created_at,
    }[place]


def _planned(us: int, folder: Path) -> Plan:
    """Write a plan of one verdict with this time."""
    data = _parquet(pa.Table.from_batches([_with_time(VERDICT, "modified_at", us)]))
    (folder / "verdicts").mkdir(exist_ok=True)
    (folder / "verdicts" / "part-1.parquet").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    return PLAN.model_copy(update={"verdict_files": {"part-1.parquet": digest}})


def _verdict(us: int, folder: Path) -> datetime | None:
    (batch,) = PlanDirectory(folder).rows(_planned(us, folder))
    found: datetime = batch["modified_at"][0].as_py()
    return found


def _looked_up(us: int, folder: Path) -> datetime | None:
    plan = _planned(us, folder)
    row = VerdictLookup(folder).find(plan, VERDICT["key"][0].as_py())
    assert row is not None
    (examples,) = VerdictLookup(folder).examples(plan, 1).values()
    assert examples == [row]
    found: datetime = row["modified_at"]
    return found


def _outcome(us: int, folder: Path) -> datetime | None:
    table = _with_time(OUTCOMES.slice(0, 1), "modified_at", us)
    (folder / "outcomes.parquet").write_bytes(_parquet(table))
    (batch,) = outcome_rows(folder)
    found: datetime = batch["modified_at"][0].as_py()
    return found


def _kept_listing(us: int, folder: Path) -> datetime | None:
    """Return when an interrupted listing began, ``None`` if it is not gone on with."""
    header = {"root": "r", "tool_version": "1", "fingerprint": "f", "started_at": spelled(us)}
    part = {"after": None, "until": None, "rows": 0, "file": "0.arrow", "offset": 0, "length": 0,
            "crc32": 0}  # fmt: skip
    lines = [json.dumps({"format": 1, **header, "root": IDENTITY.root}), json.dumps(part)]
    (folder / "parts.jsonl").write_bytes(b"\n".join(_sealed(line.encode()) for line in lines))
    at = from_microseconds(us)
    listing = ResumableListing(folder, IDENTITY, clock=lambda: at or _NOW)
    try:
        return at if listing.take_over() else None
    finally:
        listing.close()


def _spooled(us: int, folder: Path) -> datetime | None:
    """Return the time of a row that an interrupted run has listed."""
    with ArrowSpool(ResumableListing(folder / "kept", IDENTITY, clock=lambda: _NOW)) as spool:
        part = spool.part()
        part.append(_listing(us))
        part.finish(EVERYTHING)
        (batch,) = spool.batches()
    found: datetime = batch["modified_at"][0].as_py()
    return found


# --- what others wrote


def _snapshot(us: int, _: Path) -> datetime | None:
    lines = write_snapshot(a_snapshot(), ()).splitlines()
    header = json.dumps({**json.loads(lines[0]), "taken_at": spelled(us)}).encode()
    return read_snapshot(b"\n".join([header, *lines[1:], b""])).taken_at


def _rest(us: int, _: Path, *, place: str) -> datetime | None:
    shown = {**CHECKPOINTS["history"][0], "trigger_timestamp": us // 1000}
    checkpoints = {**CHECKPOINTS, "history": [shown]}
    details = {**DETAILS}
    if place == "start-time":
        details["start-time"], checkpoints = us // 1000, CHECKPOINTS
    told = (json.dumps(each).encode() for each in (details, checkpoints, CONFIG))
    answers = JobAnswers(**dict(zip(("details", "checkpoints", "config"), told, strict=True)))
    facts = job_facts(DETAILS["jid"], "RUNNING", answers, "1.20.5")
    return facts.started_at if place == "start-time" else facts.checkpoints[0].triggered_at


def _manifest(us: int, _: Path) -> datetime | None:
    manifest = {**a_report([a_row("x")]).manifest, "creationTimestamp": str(us // 1000)}
    return read_manifest(json.dumps(manifest).encode()).created_at


def _run_id(us: int, _: Path) -> datetime | None:
    plan = re.sub(r"[-:.]", "", str(np.datetime64(us, "us")))
    first = "10000101T000000000001Z-236f9ad7"
    later = later_run_id(RootState(SteppedFiles(), BASE), first, [f"{plan}Z-00000000"])
    at = None if later == first else from_pattern(later.partition("-")[0], "%Y%m%dT%H%M%S%fZ")
    return at and shifted(at, -timedelta(microseconds=1))


def _report_folder(us: int, _: Path) -> datetime | None:
    return report_time(spelled(us)[:16].replace(":", "-") + "Z")


def _inventory(us: int, folder: Path, *, form: str, unit: str = "ms") -> datetime | None:
    report = a_report([a_row("x")], form=form)
    manifest = read_manifest(json.dumps(report.manifest).encode())
    (data,) = report.files.values()
    if form == CSV:
        line = f'"source","x","7","{spelled(us)[:-6]}Z","e","STANDARD"\n'
        data = gzip.compress(line.encode())
    else:
        table = (pq if form == PARQUET else po).read_table(pa.BufferReader(data))
        steps = {"ms": 1000, "us": 1}[unit]
        zone = "UTC" if form == PARQUET else None
        times = pa.array([us // steps], pa.int64()).cast(pa.timestamp(unit, tz=zone))
        at = table.schema.get_field_index("last_modified_date")
        sink = io.BytesIO()
        (pq if form == PARQUET else po).write_table(
            table.set_column(at, "last_modified_date", times), sink
        )
        data = sink.getvalue()
    (folder / "data").write_bytes(data)
    (batch,) = current_objects(folder / "data", manifest)
    found: datetime = batch["modified_at"][0].as_py()
    return found


def _page(us: int, _: Path) -> datetime | None:
    stamp = spelled(us).partition(".")[0].removesuffix("+00:00") + "Z"
    row = f"<Contents><Key>cp/a</Key><LastModified>{stamp}</LastModified><Size>1</Size></Contents>"
    body = whole(row, head=LAST)
    quick, slow = read_page(body, "cp/"), parse_page(body, "cp/", SHAPE)
    if quick is not None:
        assert quick.objects.equals(slow.objects)
    found: datetime = slow.objects["modified_at"][0].as_py()
    return found


def _s3_answer(us: int, _: Path) -> datetime | None:
    """Return what a HEAD answer shows, parsed as the client has botocore parse it."""
    at = s3_client._instant(spelled(us))
    return s3_facts._stored("a", {"ContentLength": 1, "LastModified": at}).modified_at


def _header(us: int) -> str:
    """Return a time as HTTP headers have it."""
    at = from_microseconds(us)
    year = int(spelled(us).removeprefix("-").split("-", 1)[0])
    return f"{at:%a, %d %b %Y %H:%M:%S GMT}" if at else f"Fri, 31 Dec {year} 23:59:59 +99999999999"


def _store_date(us: int, _: Path) -> datetime | None:
    asked_at = answer_clock.host_now()
    answer = answer_clock.DatedAnswer(asked_at, asked_at, _header(us))
    return answer_clock.store_time(answer).now


def _azure_page(us: int, _: Path) -> datetime | None:
    body = azure_page(azure_blob("cp/a").replace(STAMP, _header(us)))
    return from_microseconds(blob_pages.read_page(body.encode()).times[0])


def _azure_facts(us: int, _: Path) -> datetime | None:
    """Return what the client makes of the ``Last-Modified`` header."""
    container = AzureContainer.__new__(AzureContainer)
    container.root = ""
    at = from_microseconds(us)
    facts = SimpleNamespace(
        metadata={}, size=1, etag="e", last_modified=at and at.replace(microsecond=0)
    )
    container._properties = lambda _: facts
    return container.head("a").modified_at


def _gcs_page(us: int, _: Path) -> datetime | None:
    stated = {"name": "a", "size": "1", "generation": "1", "timeCreated": spelled(us)}
    return gcs_bucket._columns([stated])[2][0].as_py()


def _s3_head(us: int, _: Path) -> datetime | None:
    answer = s3_heads._facts({"content-length": "1", "etag": "e", "last-modified": _header(us)})
    return s3_facts._stored("a", answer).modified_at


def _hidden(us: int, _: Path) -> datetime | None:
    extras = s3_extras.S3Unlisted(SimpleNamespace(), SimpleNamespace(relative=str))
    at = s3_client._instant(spelled(us))
    row = extras._version(HiddenKind.NONCURRENT, {"Key": "k", "LastModified": at}, {})
    found: datetime = pa.RecordBatch.from_pylist([row], schema=HIDDEN_SCHEMA)["at"][0].as_py()
    return found


def _generic(us: int, _: Path, *, told: Callable[[int], dict[str, Any]]) -> datetime | None:
    storage, _file_system = opened(a_file("x", **told(us)))
    (listed,) = storage.objects()
    (found,) = storage.stat(["x"])
    assert listed["modified_at"][0].as_py() == found.modified_at
    return found.modified_at


def _local(us: int, _: Path) -> datetime | None:
    shown = SimpleNamespace(st_mode=0o100644, st_size=1, st_mtime_ns=us * 1000, st_ino=1)
    found = local_storage._facts("x", shown).modified_at
    rows = BatchBuilder()
    rows.add("x", 1, us, None)
    assert rows.take()["modified_at"][0].as_py() == found
    return found


def _local_state(us: int, folder: Path) -> datetime | None:
    shown = os.stat_result((0o100644, 1, 1, 1, 0, 0, 1, 0, 0, 0), {"st_mtime_ns": us * 1000})
    with patch.object(Path, "stat", lambda _: shown):
        return LocalStateFiles(canonical(str(folder))).modified_at("x")


def _mounted_clock(us: int, folder: Path) -> datetime | None:
    """Return what a new file of a mounted file system shows."""
    shown = os.stat_result((0o040755, 1, 1, 1, 0, 0, 1, 0, 0, 0), {"st_mtime_ns": us * 1000})
    with patch.object(Path, "stat", lambda *_, **__: shown):
        return mount_table._time_of_new_file(folder)


def _generic_state(us: int, _: Path) -> datetime | None:
    file_system = SimpleNamespace(invalidate_cache=lambda: None, modified=lambda _: us / 1_000_000)
    files = FsspecStateFiles(canonical("tell://h/r"), file_system=(file_system, "/r"))
    return files.modified_at("x")


# --- what passes rows on


def _columns(us: int, _: Path) -> datetime | None:
    (found,) = Recogniser("").columns(_listing(us)).modified_us.tolist()
    return None if found == NO_TIME else EPOCH + timedelta(microseconds=found)


def _stored(us: int, _: Path) -> datetime | None:
    return stored_objects(_listing(us))[0].modified_at


def _oldest_hidden(us: int, _: Path) -> datetime | None:
    row = {"kind": HiddenKind.UPLOAD, "key": "k/x", "size": 1, "at": None}
    sums = HiddenSums("r")
    sums.add(_with_time(pa.RecordBatch.from_pylist([row], schema=HIDDEN_SCHEMA), "at", us))
    return sums.parts()[0].oldest_upload_at


def _upload_mark(us: int, _: Path, *, place: str) -> datetime | None:
    mark = UploadMark(key="k", upload_id="u", begun_at=_NOW, since=_NOW, plan_id="p")
    rows = json.dumps([{**mark.model_dump(mode="json"), place: spelled(us)}]).encode()
    data = upload_abortion._digest(rows) + b"\n" + rows
    found = upload_abortion.read_marks(state_with({upload_abortion._NAME: data}))
    return getattr(found[0], place) if found else None


SECOND = 1_000_000
READERS = {
    **{
        f"mark of an upload, {place}": Reader(
            "collect.sweep.upload_abortion", partial(_upload_mark, place=place)
        )
        for place in ("begun_at", "since")
    },
    "tombstone, since": Reader(
        "collect.state.store", partial(_tombstone, column="since"), names="tombstones/"
    ),
    "tombstone, stored": Reader(
        "collect.state.store", partial(_tombstone, column="modified_at"), names="tombstones/"
    ),
    **{
        f"record, {place}": Reader(module, partial(_record, place=place))
        for place, module in (
            ("started_at", "core.documents.run_record"),
            ("last_success_at", "core.documents.run_record"),
            ("since", "core.documents.self_sustained_record"),
        )
    },
    "plan, created_at": Reader(
        "core.documents.plan", partial(_plan, place="created_at"), names="plan.json"
    ),
    "plan, since": Reader(
        "core.world.known_world", partial(_plan, place="since"), names="plan.json"
    ),
    "plan, storage": Reader(
        "core.world.known_world", partial(_plan, place="newest_checkpoint_at"), names="plan.json"
    ),
    "plan, expiry": Reader(
        "core.documents.lineage_report", partial(_plan, place="expiry"), names="plan.json"
    ),
    "memory of the world": Reader("core.memory.remembered", _memory, names="world/"),
    "lineage": Reader("core.lineage.continuation", _lineage, names="world/"),
    "expired checkpoint": Reader("core.lineage.expired_checkpoint", _expired, names="world/"),
    "marker of a memory": Reader("core.world.known_states", _marker, names="remembers.json"),
    "acknowledgement": Reader("core.memory.acknowledgement", _acknowledged, names="acknowledged/"),
    "id of a run": Reader("collect.state.history", _run_id),
    "proof of a storage": Reader("collect.state.storage_proof", _proof),
    "kept plan": Reader("app.runner.plan_store", _known_state),
    "verdict": Reader("adapters.rows.plan_directory", _verdict, names="part-1.parquet"),
    "verdict of a page": Reader("adapters.rows.verdict_lookup", _looked_up, names="verdicts"),
    "outcome": Reader("adapters.rows.outcome_files", _outcome, names="outcomes.parquet"),
    "kept listing": Reader("adapters.rows.resumable_listing", _kept_listing),
    "rows of a kept listing": Reader("adapters.rows.spool", _spooled),
    "registry snapshot": Reader("core.exporter.registry_snapshot", _snapshot, names="taken_at"),
    **{
        f"REST, {place}": Reader(module, partial(_rest, place=place), step_us=1000, names="/jobs")
        for place, module in (
            ("start-time", "core.cluster.rest_json"),
            ("trigger_timestamp", "core.cluster.job_facts"),
        )
    },
    "manifest": Reader(
        "core.documents.s3_inventory", _manifest, step_us=1000, names="creationTimestamp"
    ),
    "folder of a report": Reader(
        "core.documents.s3_inventory", _report_folder, step_us=60 * SECOND
    ),
    "inventory, CSV": Reader(
        "adapters.s3_inventory.data_files",
        partial(_inventory, form=CSV),
        step_us=SECOND,
        names="data file",
    ),
    "inventory, ORC": Reader(
        "adapters.s3_inventory.data_files",
        partial(_inventory, form=ORC, unit="us"),
        step_us=SECOND,
        names="data file",
    ),
    **{
        f"inventory, Parquet in {unit}": Reader(
            "adapters.s3_inventory.data_files",
            partial(_inventory, form=PARQUET, unit=unit),
            step_us=SECOND,
            names="data file",
        )
        for unit in ("ms", "us")
    },
    "S3 page": Reader("adapters.s3.pages.parsed_pages", _page, step_us=SECOND, names="page"),
    "S3 page by its bytes": Reader(
        "adapters.s3.pages.page_parser", _page, step_us=SECOND, names="page"
    ),
    "S3 answer": Reader("adapters.s3.requests.s3_client", _s3_answer, step_us=SECOND),
    "S3 facts": Reader("adapters.s3.s3_bucket", _s3_answer, step_us=SECOND),
    "S3 HEAD": Reader("adapters.s3.bucket_requests", _s3_head, step_us=SECOND),
    "clock of a store": Reader("adapters.object_store.answer_clock", _store_date, step_us=SECOND),
    "Azure page": Reader("adapters.azure.blob_pages", _azure_page, step_us=SECOND, names="page"),
    "Google's page": Reader("adapters.gcs.gcs_bucket", _gcs_page),
    "Azure facts": Reader("adapters.azure.container", _azure_facts, step_us=SECOND),
    "S3 version": Reader("adapters.s3.s3_unlisted", _hidden),
    "fsspec, milliseconds": Reader(
        "adapters.files.fsspec_storage",
        partial(_generic, told=lambda us: {"modificationTime": us // 1000}),
        step_us=1000,
    ),
    "fsspec, seconds": Reader(
        "adapters.files.translate",
        partial(_generic, told=lambda us: {"mtime": us // SECOND}),
        step_us=SECOND,
    ),
    "fsspec, text": Reader(
        "adapters.files.translate", partial(_generic, told=lambda us: {"updated": spelled(us)})
    ),
    "local file": Reader("adapters.files.local_storage", _local),
    "clock of a mount": Reader("adapters.files.mount_table", _mounted_clock),
    "local state": Reader("adapters.files.state_files", _local_state),
    "fsspec state": Reader(
        "adapters.files.state_files",
        lambda us, _: _generic_state(us // SECOND * SECOND, _),
        step_us=SECOND,
    ),
    "columns of a listing": Reader("core.columns.listing_columns", _columns),
    "rows as objects": Reader("core.columns.stored_objects", _stored),
    "hidden things, the oldest": Reader("collect.mark.hidden_sums", _oldest_hidden),
}
