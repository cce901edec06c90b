"""What a run is given: metadata, snapshots, plans, inventories, a configuration."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from pathlib import Path
from typing import Any

import yaml

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.uuid_scan import uuid_lots
from flinkstate.values.handles import FileHandle, RelativeHandle, SegmentHandle
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.s3_inventory.data_files import current_objects
from orphangc.app.config.load import load_configuration
from orphangc.core.documents.plan import Plan
from orphangc.core.documents.s3_inventory import is_checksum_of, read_manifest
from orphangc.core.exporter.registry_format import read_snapshot, write_snapshot
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    JobSettings,
    MergingSettings,
    RegistryEntries,
    RegistryEntry,
)
from orphangc.errors import (
    PlanMismatchError,
    SettingsError,
    UnreadableInventoryError,
    UnreadableMetadataError,
    UnreadableSnapshotError,
)
from robustness.fuzz.mutating import mutated, mutated_json, mutated_values
from robustness.fuzz.target import Target
from support.builders import JOB, a_snapshot
from support.exporters import entries_in
from support.inventory_reports import CSV, FORMATS, PARQUET, a_report, a_row
from unit.app.render.plan_builder import a_plan
from unit.flinkstate.metadata.golden_files import golden_files

# --- metadata

SMALL = [file.data for file in golden_files() if len(file.data) < 12_000]


def uuids_in(*texts: str | bytes) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for text in texts:
        raw = b"".join(uuid_lots(text.encode(errors="replace") if isinstance(text, str) else text))
        found.update(raw[at : at + 16] for at in range(0, len(raw), 16))
    return found


def not_references(value: Any) -> Iterator[str | bytes]:
    """Yield every text of a metadata value that names no file: identities, inline state, names."""
    if isinstance(value, str | bytes):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from not_references(each)
    elif is_dataclass(value):
        is_file = isinstance(value, FileHandle | SegmentHandle)
        named = {"path"} if is_file else {"name"} if isinstance(value, RelativeHandle) else set()
        for each in fields(value):
            if each.name not in named | {"taskowned_directory", "shared_directory"}:
                yield from not_references(getattr(value, each.name))


def check_metadata(data: bytes, _: Path) -> None:
    """Make sure that no UUID of the raw bytes is lost between the reader's fingers (R7).

    Each time that one stands in the bytes, it stands in a reference, or in something that the
    strict reader knows to be none.
    """
    references = read_references(data)
    told = uuids_in(
        *references.paths, *references.relative_names, *references.directories,
        *not_references(read_metadata(data)),
    )  # fmt: skip
    lost = uuids_in(data) - told
    assert not lost, f"the bytes show {lost}, the reader does not"


# --- registry snapshots

_ENTRIES = tuple(
    RegistryEntry(f"shared/0000000{n}-0000-4000-8000-000000000000", EntryKind.FILE, n, n, n + 1)
    for n in range(3)
)
_TOLD = JobSettings(
    state_backend="HashMapStateBackend",
    changelog=False,
    merging=MergingSettings(enabled=True, across=False),
)
SNAPSHOT = write_snapshot(a_snapshot(), _ENTRIES)
SNAPSHOT_2 = write_snapshot(a_snapshot(settings=_TOLD), _ENTRIES)
LINES, LINES_2 = (b"[%b]" % b",".join(each.splitlines()[:-1]) for each in (SNAPSHOT, SNAPSHOT_2))
PACKED = write_snapshot(a_snapshot(), _ENTRIES, compress=True)


def check_snapshot(data: bytes, _: Path) -> None:
    """Make sure that whatever is accepted holds every entry: the footer vouches for them."""
    snapshot = read_snapshot(data, max_bytes=1_000_000)
    entries = entries_in(data)
    assert snapshot.entries == RegistryEntries(entries)
    again = read_snapshot(write_snapshot(snapshot, entries))
    assert replace(again, sha256=snapshot.sha256) == snapshot
    assert set(entries) >= set(_ENTRIES) or b'"entries":0' in data.replace(b" ", b"")


def signed_anew(lines: list[Any]) -> bytes:
    header, *entries = (json.dumps(line).encode() + b"\n" for line in lines)
    body = b"".join(entries)
    footer = {"type": "footer", "entries": len(entries), "sha256": sha256(body).hexdigest()}
    return header + body + json.dumps(footer).encode()


def check_signed_snapshot(value: Any, _: Path) -> None:
    """Make sure that what an exporter wrote is read as it stands: every entry, no other."""
    if not isinstance(value, list) or not value:
        return
    snapshot = read_snapshot(signed_anew(value))
    header, *entries = value
    named = [RegistryEntry(e["path"], EntryKind(e["kind"]), 0, 0, 0) for e in entries]
    assert snapshot.entries == RegistryEntries(named)
    told = [(each.id, each.path) for each in snapshot.retained]
    assert told == [(each["id"], each["path"]) for each in header["retained"]]
    assert [each.id for each in snapshot.issued] == [each["id"] for each in header["issued"]]
    assert [each.path for each in snapshot.restored] == [
        each["path"] for each in header["restored"]
    ]
    assert str(snapshot.job_id) == header["job_id"]
    merging = snapshot.settings.merging
    told = None if merging is None else {"enabled": merging.enabled, "across": merging.across}
    assert told == header.get("file_merging")
    assert snapshot.settings.state_backend == header.get("state_backend")
    assert snapshot.settings.changelog == (header.get("changelog") or {}).get("enabled")


# --- plans


def _plan_bytes() -> bytes:
    plan, _ = a_plan()
    named = plan.model_copy(
        update={"verdict_files": {"part-1.parquet": sha256(b"rows").hexdigest()}}
    )
    return named.signed().model_dump_json().encode()


PLAN = _plan_bytes()


def check_plan_file(data: bytes, folder: Path) -> None:
    """Make sure that a plan is the one that was signed; one that is signed anew is another one."""
    (folder / "verdicts").mkdir(exist_ok=True)
    (folder / "verdicts" / "part-1.parquet").write_bytes(b"rows")
    (folder / "plan.json").write_bytes(data)
    assert PlanDirectory(folder).read() == Plan.model_validate_json(PLAN)


def check_forged_plan(value: Any, folder: Path) -> None:
    """Make sure that whoever signs a plan anew still reaches no file but the plan's own."""
    (folder / "verdicts").mkdir(exist_ok=True)
    (folder / "verdicts" / "part-1.parquet").write_bytes(b"rows")
    (folder / "secret").write_bytes(b"rows")
    try:
        data = Plan.model_validate_json(json.dumps(value)).signed().model_dump_json()
    except ValueError:
        data = json.dumps(value)
    (folder / "plan.json").write_text(data, errors="replace")
    plan = PlanDirectory(folder).read()
    assert set(plan.verdict_files) <= {"part-1.parquet"}


CONFIGURATIONS = [
    yaml.safe_dump(
        {
            "mode": "delete",
            "schedule": "0 3 * * *",
            "http": {"port": 0},
            "storage_roots": [{"root": "s3://b/ck", "grace_period": "3d", "ended_job": [JOB]}],
        }
    ).encode(),
    (
        b"storage_roots:\n- root: s3://b/ck\n  quarantine_period: 1h\n  allow_short_margins: true\n"
        b"  alias: [s3://a/x=s3://b/x]\n"
    ),
]
CONFIGURED = [json.dumps(yaml.safe_load(each)).encode() for each in CONFIGURATIONS]


def check_configuration(data: bytes, folder: Path) -> None:
    path = folder / "config.yaml"
    path.write_bytes(data)
    load_configuration(path)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MANIFESTS = [
    json.dumps(a_report([a_row("a/b")], form=form).manifest).encode() for form in (CSV, PARQUET)
]
CHECKSUM = md5(MANIFESTS[0], usedforsecurity=False).hexdigest().encode()


def check_manifest(data: bytes, _: Path) -> None:
    """Make sure that a manifest names every file, and that its checksum fits no other one.

    A file too few would be a listing with objects missing.
    """
    assert is_checksum_of(data, CHECKSUM) == (data == MANIFESTS[0])
    manifest, content = read_manifest(data), json.loads(data)
    named = [(each["key"], each["size"], each["MD5checksum"].lower()) for each in content["files"]]
    assert [(each.key, each.size, each.md5) for each in manifest.files] == named
    assert manifest.created_at == EPOCH + timedelta(milliseconds=int(content["creationTimestamp"]))
    assert manifest.source_bucket == content["sourceBucket"]


def check_data_file(form: str) -> Callable[[bytes, Path], None]:
    """Return a check of rows that nobody wrote: their file's MD5 fits, and they do not."""
    manifest = read_manifest(json.dumps(a_report([a_row("x")], form=form).manifest).encode())

    def check(data: bytes, folder: Path) -> None:
        path = folder / "data"
        path.write_bytes(data)
        for batch in current_objects(path, manifest):
            batch.validate(full=True)
            assert not batch["key"].null_count
            assert all(batch["key"].to_pylist())
            assert all(size >= 0 for size in batch["size"].to_pylist())

    return check


ROWS = [a_row(f"ck/{JOB}/shared/{n}", Size=n) for n in range(5)]
DATA_FILES = {form: next(iter(a_report(ROWS, form=form).files.values())) for form in FORMATS}


def check_csv_text(data: bytes, folder: Path) -> None:
    """Pack what was altered before it was packed."""
    check_data_file(CSV)(gzip.compress(data, 1), folder)


TARGETS = (
    Target("metadata", mutated(SMALL), check_metadata, (UnreadableMetadataError,)),
    Target(
        "snapshot",
        mutated([SNAPSHOT, SNAPSHOT_2, PACKED]),
        check_snapshot,
        (UnreadableSnapshotError,),
    ),
    Target(
        "signed snapshot",
        mutated_values([LINES, LINES_2]),
        check_signed_snapshot,
        (UnreadableSnapshotError,),
    ),
    Target(
        "manifest",
        mutated_json(MANIFESTS),
        check_manifest,
        (UnreadableInventoryError, SettingsError),
    ),
    *(
        Target(f"{form} rows", mutated([data]), check_data_file(form), (UnreadableInventoryError,))
        for form, data in DATA_FILES.items()
    ),
    Target(
        "CSV text",
        mutated([gzip.decompress(DATA_FILES[CSV])]),
        check_csv_text,
        (UnreadableInventoryError,),
    ),
    Target("plan", mutated_json([PLAN]), check_plan_file, (PlanMismatchError, SettingsError)),
    Target(
        "forged plan", mutated_values([PLAN]), check_forged_plan, (PlanMismatchError, SettingsError)
    ),
    Target(
        "configuration",
        mutated_json(CONFIGURED) | mutated(CONFIGURATIONS),
        check_configuration,
        (SettingsError,),
    ),
)
