"""Everything that reads what others wrote, with good inputs and the errors that may come out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from builders import JOB, a_snapshot
from fuzz.mutating import mutated, mutated_json, mutated_values
from inventory_reports import CSV, PARQUET, a_report, a_row
from orphangc.adapters.plan_files import PlanDirectory
from orphangc.core.inventory import read_manifest
from orphangc.core.kubernetes_answers import KINDS, kubernetes_facts
from orphangc.core.plan import Plan
from orphangc.core.registry import read_snapshot, write_snapshot
from orphangc.core.rest_answers import JobAnswers, cluster_settings, job_facts, listed_jobs
from orphangc.core.snapshot import EntryKind, RegistryEntry
from orphangc.core.zookeeper_nodes import zookeeper_facts
from orphangc.errors import (
    OrphanGcError,
    PlanMismatchError,
    RegistryUnavailableError,
    SettingsError,
    UnreadableInventoryError,
    UnreadableMetadataError,
    UnreadableSnapshotError,
)
from orphangc.flink.handles import FileHandle, RelativeHandle, SegmentHandle
from orphangc.flink.metadata import read_metadata
from orphangc.flink.raw_names import raw_uuids
from orphangc.flink.references import read_references
from orphangc.shell.loading import load_configuration
from rest_server import SAVED
from unit.flink.golden_files import golden_files
from unit.shell.plan_builder import a_plan

HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes:
        name: Of it.
        inputs: Good ones, mutated.
        read: Reads one; checks what it says.
        errors: That may come out.

    """

    name: str
    inputs: st.SearchStrategy[Any]
    read: Callable[[Any, Path], None]
    errors: tuple[type[OrphanGcError], ...]


# --- metadata

SMALL = [file.data for file in golden_files() if len(file.data) < 12_000]


def uuids_in(*texts: str | bytes) -> Counter[bytes]:
    """Return how often each UUID stands in some texts."""
    found: Counter[bytes] = Counter()
    for text in texts:
        raw = raw_uuids(text.encode(errors="replace") if isinstance(text, str) else text)
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
SNAPSHOT = write_snapshot(a_snapshot(entries=_ENTRIES))
PACKED = write_snapshot(a_snapshot(entries=_ENTRIES), compress=True)


def check_snapshot(data: bytes, _: Path) -> None:
    """Make sure that whatever is accepted holds every entry: the footer vouches for them."""
    snapshot = read_snapshot(data, max_bytes=1_000_000)
    assert read_snapshot(write_snapshot(snapshot)) == snapshot
    assert set(snapshot.entries) >= set(_ENTRIES) or snapshot.entries == ()
    if snapshot.entries == ():
        assert b'"entries":0' in data.replace(b" ", b"")


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


# --- what the outside says


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


REST = [
    json.dumps({each.stem: _json(each) for each in sorted(folder.glob("*.json"))}).encode()
    for folder in sorted(SAVED.glob("*/*"))
]


def check_cluster(value: Any, _: Path) -> None:
    """Read the answers of a cluster, any of which may be anything."""
    told = {
        name: json.dumps(value.get(name) if isinstance(value, dict) else value).encode()
        for name in ("config", "jobmanager-config", "jobs", "job", "job-checkpoints",
                     "job-checkpoints-config")
    }  # fmt: skip
    settings = cluster_settings(told["config"], told["jobmanager-config"])
    listed = listed_jobs(told["jobs"])
    answers = JobAnswers(
        details=told["job"],
        checkpoints=told["job-checkpoints"],
        config=told["job-checkpoints-config"],
    )
    for job_id, status in listed.items():
        job_facts(job_id, status, answers, settings.flink_version)


def check_one_answer(data: bytes, _: Path) -> None:
    """Read bytes as any of the answers; one may fit, and then is no error."""
    refused = 0
    reads = (
        lambda: cluster_settings(data, b"[]"),
        lambda: cluster_settings(b'{"refresh-interval":3000,"flink-version":"1.20.5"}', data),
        lambda: listed_jobs(data),
        lambda: job_facts(JOB, "RUNNING", JobAnswers(details=data, checkpoints=data, config=data),
                          "1.20.5"),
    )  # fmt: skip
    for read in reads:
        try:
            read()
        except RegistryUnavailableError:
            refused += 1
    assert refused >= len(reads) - 1


RESOURCES = [
    json.dumps({kind: [_json(path)]}).encode()
    for path in sorted((HERE / "fixtures_kubernetes").glob("flink*.json"))
    for kind, name in KINDS.items()
    if path.name.startswith(name.lower())
]
CONFIG_MAPS = [
    json.dumps([content["metadata"]["name"], list(content["data"])]).encode()
    for path in sorted((HERE / "fixtures_kubernetes").glob("ha-*.json"))
    if "data" in (content := _json(path))
]


def check_resources(value: Any, _: Path) -> None:
    """Read custom resources: documents that users write, so anything may stand anywhere in them."""
    known = {
        kind: [each for each in some if isinstance(each, dict)]
        for kind, some in value.items()
        if kind in KINDS and isinstance(some, list)
    }
    kubernetes_facts("flink", [], known)


def check_config_map(value: Any, _: Path) -> None:
    """Read names and keys of a ConfigMap, which are texts."""
    texts = [each for each in value if isinstance(each, str)]
    keys = [key for each in value if isinstance(each, list) for key in each]
    kubernetes_facts("flink", [(texts[0] if texts else "", map(str, keys))], {})


NODES = [f"/flink/orders/jobs/{JOB}/checkpoints/0000000000000000041", f"/flink/x/jobgraphs/{JOB}"]
odd_texts = st.text(max_size=20) | st.sampled_from(["/", "//", "checkpoints", "0" * 400, "\n", "٤"])
nodes = st.lists(
    st.builds(
        lambda node, at, text: node[: at % (len(node) + 1)] + text + node[at % (len(node) + 1) :],
        st.sampled_from(NODES),
        st.integers(0, 120),
        odd_texts,
    ),
    max_size=4,
)

CONFIGURATIONS = [
    yaml.safe_dump(
        {
            "mode": "delete",
            "schedule": "0 3 * * *",
            "http": {"port": 0},
            "storage_roots": [{"root": "s3://b/ck", "grace_period": "3d", "ended_job": [JOB]}],
        }
    ).encode(),
    b"storage_roots:\n- root: s3://b/ck\n  quarantine_period: 1h\n  alias: [s3://a/x=s3://b/x]\n",
]
CONFIGURED = [json.dumps(yaml.safe_load(each)).encode() for each in CONFIGURATIONS]


def check_configuration(data: bytes, folder: Path) -> None:
    """Load a configuration file."""
    path = folder / "config.yaml"
    path.write_bytes(data)
    load_configuration(path)


MANIFESTS = [
    json.dumps(a_report([a_row("a/b")], form=form).manifest).encode() for form in (CSV, PARQUET)
]


def each_bytes(read: Callable[[bytes], object]) -> Callable[[bytes, Path], None]:
    """Return a check that only reads."""
    return lambda data, _: read(data) and None


TARGETS = (
    Target("metadata", mutated(SMALL), check_metadata, (UnreadableMetadataError,)),
    Target("snapshot", mutated([SNAPSHOT, PACKED]), check_snapshot, (UnreadableSnapshotError,)),
    Target(
        "manifest",
        mutated_json(MANIFESTS),
        each_bytes(read_manifest),
        (UnreadableInventoryError, SettingsError),
    ),
    Target("plan", mutated_json([PLAN]), check_plan_file, (PlanMismatchError, SettingsError)),
    Target(
        "forged plan",
        mutated_values([PLAN]),
        check_forged_plan,
        (PlanMismatchError, SettingsError),
    ),
    Target("cluster", mutated_values(REST), check_cluster, (RegistryUnavailableError,)),
    Target("one answer", mutated_json(REST), check_one_answer, ()),
    Target("resources", mutated_values(RESOURCES), check_resources, (RegistryUnavailableError,)),
    Target(
        "config map", mutated_values(CONFIG_MAPS), check_config_map, (RegistryUnavailableError,)
    ),
    Target("nodes", nodes, lambda paths, _: zookeeper_facts("u", "e", paths) and None, ()),
    Target(
        "configuration",
        mutated_json(CONFIGURED) | mutated(CONFIGURATIONS),
        check_configuration,
        (SettingsError,),
    ),
)
