"""The plugin in the lib/ folder of a real Flink: true snapshots, ids in names, and no harm.

What matters most, on the newest Flink, with the agent; by night all of it, every way.
"""

import itertools
import uuid
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flinkstate.places.locations import canonical
from integration.harness.flinkbed.cluster import ClaimMode, Cluster
from integration.harness.flinkbed.exporting import (
    ID_AND_UUID,
    JOB_CHOOSES_STORAGE,
    QUICK_EXPORTS,
    ExportingCluster,
)
from integration.harness.flinkbed.fixtures import NEWEST, VERSIONS, require_flink
from integration.harness.flinkbed.plugin import (
    FACTORY,
    STORAGE,
    build_plugin,
    plugin_jar,
    witness_jar,
)
from integration.harness.flinkbed.settings import ON_REQUEST, as_numbers
from integration.harness.flinkbed.snapshots import echo, entries, snapshots
from integration.harness.flinkbed.truth import retained, shared_files
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until
from orphangc.adapters.open import open_storage
from orphangc.app.wiring.clock import now
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.core.decision.contradictions import contradiction
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.exporter.exporter_answer import Exported, living_rival
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    JobSettings,
    MergingSettings,
    RegistryEntries,
    RegistrySnapshot,
    oldest_retained,
    resolve,
)
from orphangc.core.model.types import JobId
from support.exporters import folder_at

pytestmark = pytest.mark.flink

MATTERS_MOST = (NEWEST, "agent")
PAIRS = [
    pytest.param(pair, marks=() if pair == MATTERS_MOST else pytest.mark.nightly, id="-".join(pair))
    for pair in itertools.product(VERSIONS, ("factory", "agent"))
]
"""Versions, and ways in."""

WITH_IDS = {"execution.checkpointing.storage": STORAGE}
MERGES_SINCE = (1, 20)
TICK_SECONDS = 0.01  # Linux takes a file's time from a clock that ticks 100 times a second or more
QUICK = {**QUICK_EXPORTS, "orphangc.registry.num-retained": "1000"}


def id_in(path: str) -> int:
    """Return the checkpoint id in a shared file's name, which must have one."""
    hit = ID_AND_UUID.fullmatch(path.rpartition("/")[2])
    assert hit, path
    return int(hit[1])


def id_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("chk-"))


class Bed:
    """A cluster with the plugin, the folder that it exports to, and a witness of the truth."""

    def __init__(self, version: str, way: str, work: Path) -> None:
        self.version = version
        self.registry = work / "registry"
        self._data = work / "data"
        self._job_chooses = as_numbers(version) >= JOB_CHOOSES_STORAGE
        self._witness = work / "witness"
        self._witness.mkdir()
        jar = plugin_jar(VERSIONS[0])
        config = QUICK | {
            "orphangc.registry.dir": f"file://{self.registry}",
            "high-availability.type": "RegistryWitness",
            "witness.dir": str(self._witness),
        }
        if way == "factory":
            config["witness.factory"] = FACTORY
        if not self._job_chooses:
            config |= WITH_IDS | {"orphangc.checkpoints.dir": f"file://{self._data}"}
        self.cluster = Cluster(
            version,
            work / "flink",
            config=config,
            libraries=[jar, witness_jar(version)],
            jobmanager_options=[f"-javaagent:{jar}"] if way == "agent" else [],
        )

    def submit(
        self,
        directory: Path,
        restore: Path | None = None,
        mode: ClaimMode | None = None,
        **how: Any,
    ) -> tuple[str, Path]:
        """Start a job whose shared files have ids in their names; return it and its folder."""
        how.setdefault("interval", "300ms")
        config = how.pop("config", {})
        if self._job_chooses:
            config = WITH_IDS | config
        else:
            config = {"execution.checkpointing.dir": ""} | config
            directory = self._data
        job = self.cluster.submit(directory, restore, mode, config=config, **how)
        return job, directory / job

    def snapshots(self, job: str) -> list[RegistrySnapshot]:
        return snapshots(self.registry, job)

    def echo(self, job: str) -> RegistrySnapshot:
        return echo(self.registry, job)

    def pending(self, job: str) -> set[int]:
        history = self.cluster.checkpoints(job)["history"]
        return {each["id"] for each in history if each["status"] == "IN_PROGRESS"}

    def truth(self, job: str) -> Counter[tuple[str, int, int]]:
        """Return what the registry holds now: path, created, last used; some are alike."""
        request = self._witness / "request"
        request.touch()
        wait_until("the witness", lambda: not request.exists())
        lines = (self._witness / job).read_text().splitlines()
        return Counter((p, int(c), int(u)) for p, c, u in (line.split("\t") for line in lines))


@pytest.fixture(scope="module", params=PAIRS)
def started_bed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bed]:
    """A cluster with the plugin, one per version and way in."""
    version, way = request.param
    require_flink(version)
    bed = Bed(version, way, tmp_path_factory.mktemp(f"plugin-{version}-{way}-"))
    with bed.cluster:
        yield bed


@pytest.fixture
def bed(started_bed: Bed) -> Iterator[Bed]:
    """The module's cluster, put right after each test."""
    yield started_bed
    started_bed.cluster.tidy()


@pytest.mark.nightly
def test_every_release_compiles_to_the_same_jar(tmp_path: Path) -> None:
    require_flink(VERSIONS[0])
    jars = [build_plugin(version, tmp_path / version) for version in VERSIONS]

    assert len({jar.read_bytes() for jar in jars}) == 1
    with zipfile.ZipFile(jars[0]) as packed:
        classes = [name for name in packed.namelist() if name.endswith(".class")]
        majors = {packed.read(name)[6:8] for name in classes}
    assert majors == {(52).to_bytes(2)}, "Java 8, on which Flink 1.15 runs"


def test_a_snapshot_is_the_registry_and_repeats_the_nonce(bed: Bed, tmp_path: Path) -> None:
    several = {"execution.checkpointing.max-concurrent-checkpoints": "4"}
    several |= {"execution.checkpointing.min-pause": "0 ms"}
    job, job_dir = bed.submit(tmp_path, config=several, interval="200ms")
    bed.cluster.wait_for_checkpoints(job, 4)
    bed.cluster.hold()  # from now on nothing is acknowledged, so the registry rests
    bed.cluster.wait_until_held()
    wait_until("all pending checkpoints", lambda: len(bed.pending(job)) == 4)

    def settled() -> tuple[Counter[tuple[str, int, int]], RegistrySnapshot] | None:
        """Return truth and snapshot, unless an acknowledgement was still on its way."""
        before, snapshot = bed.truth(job), bed.echo(job)
        return (before, snapshot) if bed.truth(job) == before else None

    truth, snapshot = wait_until("the registry to rest", settled)
    directory = snapshot.checkpoint_dir
    exported = Counter(
        (path if kind is EntryKind.OTHER else resolve(path, directory), created, last_used)
        for path, kind, _, created, last_used in entries(bed.registry, snapshot)
    )
    assert exported == truth
    listed = entries(bed.registry, snapshot)
    files = [entry for entry in listed if entry.kind is EntryKind.FILE]
    assert files
    for entry in files:
        assert entry.path.startswith("shared/")
        assert (job_dir / entry.path).stat().st_size == entry.size
        if as_numbers(bed.version) >= (1, 16):  # 1.15 puts a later upload of a table into its entry
            assert id_in(entry.path) == entry.created
    written = {path: id_in(path.name) for path in shared_files(job_dir)}
    assert set(written.values()) & bed.pending(job), "uploaded, and not acknowledged"
    issued = {each.id: each.at.timestamp() for each in snapshot.issued}
    for path, each in written.items():
        assert path.stat().st_mtime + TICK_SECONDS >= issued.get(each, 0)
    assert_header(snapshot, bed, job_dir)


def assert_header(snapshot: RegistrySnapshot, bed: Bed, job_dir: Path) -> None:
    """Compare a snapshot's header with what REST and the storage say."""
    assert snapshot.job_id == job_dir.name
    assert snapshot.flink_version == bed.version
    assert snapshot.max_concurrent == 4
    assert snapshot.checkpoint_dir == f"file:{job_dir}"
    assert [each.path for each in snapshot.retained] == [f"file:{p}" for p in retained(job_dir)]
    issued = {each.id for each in snapshot.issued}
    assert bed.pending(job_dir.name) <= issued
    assert min(issued) > (oldest_retained(snapshot) or 0), "older ones cannot complete any more"
    assert not snapshot.restored
    can_merge = as_numbers(bed.version) >= MERGES_SINCE
    assert snapshot.settings == JobSettings(
        state_backend="EmbeddedRocksDBStateBackend",
        changelog=False,
        merging=MergingSettings(enabled=None, across=None) if can_merge else None,
    )


@pytest.mark.nightly
def test_what_a_snapshot_retains_is_registered_in_it(bed: Bed, tmp_path: Path) -> None:
    """The collector refuses a snapshot that lacks shared state of a checkpoint it retains."""
    several = {"execution.checkpointing.max-concurrent-checkpoints": "4"}
    several |= {"execution.checkpointing.min-pause": "0 ms"}
    several |= {"execution.checkpointing.num-retained": "3"}
    job, _ = bed.submit(tmp_path, config=several, interval="200ms")
    bed.cluster.wait_for_checkpoints(job, 4)
    reader, storage = CheckpointReader(), open_storage(canonical(str(tmp_path)))

    def read() -> dict[int, Checkpoint]:
        return {each.checkpoint_id: each for each in reader.collect(storage).checkpoints}

    checked = 0
    for _ in range(15):
        first, before = bed.echo(job), read()
        second, after = bed.echo(job), read()
        exported = Exported(job_id=JobId(job), baseline=first, response=second)
        seen = (before | after).values()
        assert contradiction(exported, seen, ids_before=before, ids_after=after) is None
        empty = replace(exported, response=replace(second, entries=RegistryEntries()))
        found = contradiction(empty, seen, ids_before=before, ids_after=after)
        checked += found is not None
    assert checked, "some checkpoint stood until after a snapshot, with shared state"


@pytest.mark.nightly
def test_it_marks_its_life_and_gives_way_to_a_newer_one(bed: Bed, tmp_path: Path) -> None:
    job, _ = bed.submit(tmp_path, interval="300ms")
    bed.cluster.wait_for_checkpoints(job, 1)
    epoch, owners = bed.echo(job).jm_epoch, bed.registry / job / "owners"
    assert {path.name for path in owners.iterdir()} == {f"{epoch}.began", f"{epoch}.alive"}
    folder = folder_at(bed.registry)

    def rival_of(one: str) -> str | None:
        return living_rival(folder.owners(JobId(job)), one, now=now())

    assert rival_of(epoch) is None
    (owners / "newer.began").touch()

    def gives_way() -> bool:
        (owners / "newer.alive").touch()
        return f"Another JobManager exports job {job} too" in bed.cluster.jobmanager_log()

    wait_until("the older one to say so", gives_way)
    bed.cluster.wait_for_checkpoints(job, 1)
    before = len(bed.snapshots(job))
    bed.cluster.wait_for_checkpoints(job, 5)
    assert len(bed.snapshots(job)) == before, "it exports no more"
    assert bed.cluster.rest.is_running(job)
    wait_until("its own marker", lambda: rival_of("newer") == epoch)
    assert rival_of(epoch) == "newer"

    bed.cluster.cancel(job)
    left = {"newer.began", "newer.alive"}
    wait_until("its end", lambda: {path.name for path in owners.iterdir()} == left)


@pytest.mark.nightly
def test_jobs_are_exported_one_by_one_and_orderly(bed: Bed, tmp_path: Path) -> None:
    first, second = (
        bed.cluster.submit(tmp_path, parallelism=1, interval="300ms") for _ in range(2)
    )
    for job in (first, second):
        bed.cluster.wait_for_checkpoints(job, 3)
        bed.echo(job)

    all_of = {job: bed.snapshots(job) for job in (first, second)}
    for job, taken in all_of.items():
        assert {each.job_id for each in taken} == {job}
        assert len({each.jm_epoch for each in taken}) == 1
        numbers = [each.sequence for each in taken]
        assert numbers == sorted(set(numbers))
        oldest = [oldest_retained(each) or 0 for each in taken]
        assert oldest == sorted(oldest)
    assert all_of[first][0].jm_epoch != all_of[second][0].jm_epoch

    bed.cluster.cancel(first)
    partial = bed.registry / first / "partial"
    wait_until("the last export to be whole", lambda: not any(partial.iterdir()))
    bed.echo(second)
    ended = bed.snapshots(first)
    folder = folder_at(bed.registry)
    end = wait_until("the record of the end", lambda: folder.end(JobId(first)))
    assert (end.status, end.is_of_newest_run) == ("CANCELED", True)
    assert end.directory == ended[-1].checkpoint_dir
    assert folder.end(JobId(second)) is None
    bed.cluster.wait_for_checkpoints(second, 2)
    assert bed.snapshots(first) == ended, "of an ended job nothing more is said"


def test_names_with_ids_are_restored_and_rescaled(bed: Bed, tmp_path: Path) -> None:
    flink = bed.cluster
    first, first_dir = bed.submit(tmp_path / "a", interval=ON_REQUEST)
    flink.wait_for_checkpoints(first, 3)
    native = flink.savepoint(first, tmp_path / "savepoints", "NATIVE")
    flink.cancel(first, between_checkpoints=True)
    checkpoint = retained(first_dir)[-1]
    assert all(id_in(path.name) <= id_of(checkpoint) for path in shared_files(first_dir))

    second, second_dir = bed.submit(tmp_path / "b", checkpoint, "CLAIM", interval=ON_REQUEST)
    flink.wait_for_checkpoints(second, 2)
    snapshot = bed.echo(second)
    (origin,) = snapshot.restored
    assert (origin.path, origin.mode) == (f"file:{checkpoint}", "CLAIM")
    assert origin.id == id_of(checkpoint)
    paths = {path for each in bed.snapshots(second) for _, path in each.entries.paths()}
    assert any(f"/{first}/shared/" in path for path in paths), "incrementally, from old files"
    flink.cancel(second, between_checkpoints=True)

    newest = retained(second_dir)[-1]
    third, third_dir = bed.submit(
        tmp_path / "c", newest, "NO_CLAIM", parallelism=3, interval=ON_REQUEST
    )
    flink.wait_for_checkpoints(third, 3)
    (origin,) = bed.echo(third).restored
    assert origin.mode == "NO_CLAIM"
    flink.cancel(third, between_checkpoints=True)
    for job_dir in (second_dir, third_dir):
        ids = [id_in(path.name) for path in shared_files(job_dir)]
        assert ids
        assert min(ids) > id_of(checkpoint), "the new jobs' counters go on from where they started"
    flink.restore_and_check(retained(third_dir)[-1], parallelism=2)
    flink.restore_and_check(native, parallelism=1)


@pytest.mark.nightly
def test_nothing_disturbs_the_job_and_a_new_jobmanager_is_a_new_epoch(
    bed: Bed, tmp_path: Path
) -> None:
    job = uuid.uuid4().hex
    config = {"$internal.pipeline.job-id": job}
    bed.registry.mkdir(exist_ok=True)
    in_the_way = bed.registry / job
    in_the_way.write_text("no folder can be made here")
    assert bed.cluster.submit(tmp_path, config=config, interval="300ms") == job
    bed.cluster.wait_for_checkpoints(job, 3)
    wait_until("a complaint", lambda: f"failed for job {job}" in bed.cluster.jobmanager_log())
    assert bed.cluster.rest.is_running(job)
    assert not bed.cluster.rest.root_exception(job)
    assert not bed.cluster.checkpoints(job)["counts"]["restored"]
    in_the_way.unlink()
    before = wait_until("a snapshot", lambda: bed.snapshots(job))[-1]

    bed.cluster.kill_jobmanager()
    bed.cluster.kill_taskmanager()
    half = bed.registry / job / "partial" / f"snapshot-{0:013d}-half.jsonl.gz"
    half.write_bytes(b"what a killed JobManager leaves")
    bed.cluster.start_jobmanager()
    bed.cluster.start_taskmanager()
    last = retained(tmp_path / job)[-1]
    assert bed.cluster.submit(tmp_path, last, "CLAIM", config=config, interval="300ms") == job
    bed.cluster.wait_for_checkpoints(job, 1)

    after = bed.echo(job)
    assert after.jm_epoch != before.jm_epoch
    assert (oldest_retained(after) or 0) >= (oldest_retained(before) or 0)
    assert [each.path for each in after.restored] == [f"file:{last}"]
    assert not half.exists()


ACROSS = "execution.checkpointing.file-merging.across-checkpoint-boundary"
MERGES = {"execution.checkpointing.file-merging.enabled": "true"}


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["1.20.5", NEWEST])
def test_only_what_the_jobs_own_configuration_names_of_merging_is_told(
    version: str, tmp_path: Path
) -> None:
    """R55: each TaskManager asks it first. REST makes a job inherit the cluster's, as true here."""
    require_flink(version)
    bed = ExportingCluster(version, tmp_path, retained=2, more={ACROSS: "true"})
    in_place = {"state.backend.type": "forst"} if as_numbers(version) >= (2,) else {}
    told = []
    with bed.cluster as flink:
        for config in (
            MERGES | {ACROSS: "false"},
            in_place | {ACROSS: "true"},
            {"state.changelog.enabled": "true"},
        ):
            job = bed.submit(with_ids=False, interval="300ms", config=config)
            flink.wait_for_checkpoints(job, 1)
            told.append(echo(bed.registry, job).settings)
            flink.cancel(job)
    plain = "EmbeddedRocksDBStateBackend"
    inherited = MergingSettings(enabled=None, across=True)
    assert told == [
        JobSettings(
            state_backend=plain,
            changelog=False,
            merging=MergingSettings(enabled=True, across=False),
        ),
        JobSettings(
            state_backend="ForStStateBackend" if in_place else plain,
            changelog=False,
            merging=inherited,
        ),
        JobSettings(state_backend=plain, changelog=True, merging=inherited),
    ]


@pytest.mark.parametrize(
    ("since", "setting", "reason"),
    [
        ((1, 20), "execution.checkpointing.file-merging.enabled=true", "merges files"),
        (JOB_CHOOSES_STORAGE, "state.changelog.enabled=true", "belong to no checkpoint"),
        ((2, 0), "state.backend.type=forst", "names its files itself"),
    ],
)
def test_what_names_its_own_files_is_refused_at_the_start(
    bed: Bed, since: tuple[int, int], setting: str, reason: str
) -> None:
    if as_numbers(bed.version) < since:
        pytest.skip(f"in Flink {bed.version} a job cannot ask for it by settings")
    key, _, value = setting.partition("=")
    with pytest.raises(FlinkbedError, match=f"CheckpointIdStorageFactory cannot.*{reason}"):
        bed.submit(Path("/nowhere"), config={key: value})
