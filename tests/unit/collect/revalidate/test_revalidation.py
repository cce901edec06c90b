"""Looking again: whatever changed since the cycle is noticed, and what roots name is protected."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from cli.helpers import Bed, Job
from flinkstate.places.locations import canonical
from orphangc.adapters.open import open_storage
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.observation import Environment
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.collect.state.lock import Holder, Lock, acquire
from orphangc.collect.state.store import RootState
from orphangc.core.cluster.ha_facts import HaFacts, PlaceNamed
from orphangc.core.cluster.job_facts import ClusterFacts, JobFacts
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import (
    LockHeldError,
    OrphanGcError,
    RefusedError,
    RegistryUnavailableError,
    StorageUnreachableError,
)
from orphangc.ports import Storage
from support.builders import (
    JOB,
    a_checkpoint,
    a_cluster,
    a_hold,
    a_job,
    a_root,
    a_snapshot,
    an_ended_job,
    some_facts,
)
from unit.collect.delete.deleting import STORED_AT, due_rows
from unit.collect.state.places import SteppedFiles


@dataclass
class Cluster:
    """A cluster that says what it is told."""

    facts: ClusterFacts | None
    uri: str = "http://flink"
    asked: int = 0

    def observe(self) -> ClusterFacts:
        self.asked += 1
        if self.facts is None:
            raise RegistryUnavailableError("Flink does not answer")
        return self.facts


@dataclass
class Namespace:
    """A namespace that says what it is told."""

    facts: HaFacts | None
    uri: str = "kubernetes:flink"
    asked: int = 0

    def observe(self) -> HaFacts:
        self.asked += 1
        if self.facts is None:
            raise RegistryUnavailableError("Kubernetes does not answer")
        return self.facts


def a_namespace(*holds, places: tuple[PlaceNamed, ...] = ()) -> HaFacts:
    return HaFacts(uri="kubernetes:flink", holds=holds, places=places)


@dataclass
class Scene:
    """A running job with two checkpoints, and what looks at it again."""

    folder: Path
    files: SteppedFiles = field(default_factory=SteppedFiles)

    def __post_init__(self) -> None:
        self.job: Job = Bed(self.folder).job()
        self.live = [self.job.shared() for _ in range(2)]
        self.orphan = self.job.shared()
        self.job.checkpoint(7, self.live[0])
        self.job.checkpoint(8, *self.live)
        self.root = self.folder / "checkpoints"
        self.facts: JobFacts = some_facts(self.job.id, checkpoints=())
        self.cluster = Cluster(a_cluster(self.facts))
        self.namespace = Namespace(a_namespace(a_hold(8, job=self.job.id)))
        self.state = RootState(self.files, canonical(str(self.root)))
        holder = Holder(token="t", host="here", pid=1, started="x")
        self.lock: Lock = acquire(self.files, "lock", holder, is_dead=lambda _: False)
        self.revalidation = self.looking()

    def looking(self, reader: CheckpointReader | None = None, **changes: object) -> Revalidation:
        environment = Environment(
            settings=StorageRootSettings(root=str(self.root)),
            reader=reader or CheckpointReader(),
            storage=open_storage(str(self.root)),
            extra=(),
            clusters=(self.cluster,),
            snapshots=list,
            open_storage=open_storage,
            engine=None,
            wait=lambda _: None,
            progress=lambda *_: None,
            ha=(self.namespace,),
        )
        facts = {
            "environment": environment,
            "jobs": (self.evidence,),
            "state": self.state,
            "lock": self.lock,
        }
        return Revalidation(**{**facts, **changes})

    @property
    def evidence(self) -> JobEvidence:
        latest = a_root(8, job=self.job.id, folder=canonical(str(self.job.folder / "chk-8")))
        return a_job(
            self.job.id,
            before=(replace(self.facts, latest_completed_id=8),),
            after=(self.facts,),
            clusters=("http://flink",),
            own_checkpoints=(latest,),
            ids_before=frozenset({8}),
            ids_after=frozenset({8}),
            holds_of_id=frozenset({a_hold(job=self.job.id).uri}),
        )

    def names(self, *paths: Path) -> list[bool]:
        rows = due_rows([str(path.relative_to(self.root)) for path in paths])
        return self.revalidation.check().names(rows).tolist()


@pytest.fixture
def scene(tmp_path) -> Scene:
    return Scene(tmp_path)


def test_what_roots_name_is_known_at_each_look(scene) -> None:
    """A new root protects from the next look on; one that has gone does no harm."""
    assert scene.names(*scene.live, scene.orphan) == [True, True, False]
    scene.job.checkpoint(9, scene.orphan)
    assert scene.names(*scene.live, scene.orphan) == [True, True, True]
    (scene.job.folder / "chk-7" / "_metadata").unlink()
    assert scene.names(*scene.live, scene.orphan) == [True, True, True]


def test_a_root_that_was_renewed_is_read_again(scene) -> None:
    """The same place, other bytes."""
    scene.names(scene.orphan)
    scene.job.checkpoint(8, *scene.live, scene.orphan, age=timedelta(days=1))
    assert scene.names(scene.orphan) == [True]


def test_the_raw_bytes_of_a_broken_root_that_is_acknowledged_protect(scene) -> None:
    """R6, R7: what no parser reads is searched for UUIDs."""
    data = b"broken: " + str(scene.orphan).encode()
    broken = scene.job.checkpoint(9)
    broken.write_bytes(data)
    known = {f"{canonical(str(broken.parent))}/_metadata": sha256(data).hexdigest()}
    scene.revalidation = scene.looking(reader=CheckpointReader((), known))
    assert scene.names(scene.orphan) == [True]


def test_something_that_is_no_artifact_is_refused(scene) -> None:
    """Nobody should have asked for it."""
    with pytest.raises(RefusedError, match="no artifact"):
        scene.names(scene.job.folder / "chk-8" / "_metadata")


def restarted(scene: Scene) -> None:
    scene.cluster.facts = a_cluster(replace(scene.facts, incarnation="another"))


def vanished(scene: Scene) -> None:
    scene.cluster.facts = a_cluster()


def doubled(scene: Scene) -> None:
    scene.cluster.facts = a_cluster(replace(scene.facts, max_concurrent=2))


def silent(scene: Scene) -> None:
    scene.cluster.facts = None


def halted(scene: Scene) -> None:
    scene.state.halt("somebody said so", STORED_AT)


def taken_over(scene: Scene) -> None:
    holder = Holder(token="u", host="here", pid=2, started="x")
    acquire(scene.files, "lock", holder, is_dead=lambda _: True)


def subsumed(scene: Scene) -> None:
    (scene.job.folder / "chk-8" / "_metadata").unlink()


def taken_up(scene: Scene) -> None:
    known = a_hold(8, job=scene.job.id)
    other = replace(known, uri="kubernetes:flink/configmaps/others", cluster="others")
    scene.namespace.facts = a_namespace(known, other)


def unknown(scene: Scene) -> None:
    scene.namespace.facts = None


CHANGES = {
    taken_up: RefusedError,
    unknown: RefusedError,
    restarted: RefusedError,
    vanished: RefusedError,
    doubled: RefusedError,
    silent: RefusedError,
    halted: RefusedError,
    taken_over: LockHeldError,
    subsumed: RefusedError,
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_the_evidence_rested_on_is_looked_at_each_time(scene, change) -> None:
    """R18. And what roots name can be told all the same, for the look after a batch (R22)."""
    scene.revalidation.check()
    change(scene)
    with pytest.raises(CHANGES[change]):
        scene.revalidation.check()
    scene.job.checkpoint(9, scene.orphan)
    rows = due_rows([str(scene.orphan.relative_to(scene.root))])
    assert scene.revalidation.check_after().names(rows).tolist() == [True]


def test_registry_mode_rests_on_a_jobmanager_and_on_no_root(scene) -> None:
    """T2: a subsumed root and four checkpoints at once stop nothing; another epoch does."""
    exported = Exported(job_id=JOB, baseline=a_snapshot(), response=a_snapshot(sequence=18))
    jobs = [a_job(), a_job(exported=exported), an_ended_job(exported=exported)]
    seen = [scene.looking(jobs=(each,)) for each in jobs]
    assert [dict(each._registries.epochs) for each in seen] == [{}, {JOB: "epoch-1"}, {}]
    assert [not each._stable for each in seen] == [False, True, True]


def test_a_halt_is_named_as_the_reason(scene) -> None:
    halted(scene)
    with pytest.raises(RefusedError, match="somebody said so") as refused:
        scene.revalidation.check()
    assert refused.value.guard is Condition.HALTED


@pytest.mark.parametrize("check", ["check", "check_after"])
def test_a_root_that_cannot_be_read_is_no_check_at_all(scene, check) -> None:
    """Neither before nor after: it may name anything (R6)."""
    scene.revalidation.check()
    (scene.job.checkpoint(9, scene.orphan)).write_bytes(b"half")
    with pytest.raises(RefusedError, match="cannot read"):
        getattr(scene.revalidation, check)()


def test_the_gate_is_asked_once_a_look(scene) -> None:
    """Not once a root, and never from memory."""
    for _ in range(3):
        scene.revalidation.check()
    assert scene.cluster.asked == scene.namespace.asked == 3


def test_a_checkpoint_that_flink_reports_elsewhere_protects(scene, tmp_path) -> None:
    """R4: what it was restored from lies outside all bases."""
    elsewhere = Bed(tmp_path / "other").job(2)
    elsewhere.checkpoint(3, scene.orphan)
    at = f"file:{elsewhere.folder}/chk-3"
    checkpoints = (a_checkpoint(3, external_path=at),)
    scene.cluster.facts = a_cluster(replace(scene.facts, checkpoints=checkpoints))
    assert scene.names(scene.orphan) == [True]


def test_a_savepoint_that_a_resource_names_by_now_protects(scene, tmp_path) -> None:
    """R4: as what Flink reports."""
    elsewhere = Bed(tmp_path / "other").job(2)
    elsewhere.checkpoint(3, scene.orphan)
    place = PlaceNamed(f"file:{elsewhere.folder}/chk-3", "kubernetes:flink/FlinkDeployment/x")
    scene.namespace.facts = a_namespace(a_hold(8, job=scene.job.id), places=(place,))
    assert scene.names(scene.orphan) == [True]


def test_ha_metadata_that_is_gone_or_of_another_job_stops_nothing(scene) -> None:
    """What held the job at the cycle may go; what holds others was judged in the cycle."""
    for holds in ((), (a_hold(8, job=scene.job.id), a_hold(3, job="f" * 32, uri="x"))):
        scene.namespace.facts = a_namespace(*holds)
        scene.revalidation.check()


def test_what_holds_for_any_layout_is_not_stopped_by_one(scene) -> None:
    """R56: of a job that a guard refuses in part; a restart of it stops that too."""
    revalidation = scene.looking(of_any_layout={scene.job.id})
    doubled(scene)
    revalidation.check()
    restarted(scene)
    with pytest.raises(RefusedError, match="started again"):
        revalidation.check()


@pytest.mark.parametrize("kind", ["siblings", "remembered"])
def test_a_place_that_cannot_be_searched_by_now_stops(scene, tmp_path, monkeypatch, kind) -> None:
    """R4: it may hold by now what names a file that is to go."""
    other = also_searched(scene, tmp_path, kind)
    scene.revalidation.check()
    out_of_reach(monkeypatch, other)
    with pytest.raises(RefusedError, match="cannot be searched: away") as refused:
        scene.revalidation.check()
    assert refused.value.guard is Condition.PLACE_UNREACHABLE


def test_a_remembered_place_that_is_gone_from_the_beginning_stops_nothing(
    scene, tmp_path, monkeypatch
) -> None:
    """The memory's own conditions have judged it in the cycle."""
    out_of_reach(monkeypatch, also_searched(scene, tmp_path, "remembered"))
    for _ in range(2):
        scene.revalidation.check()


def also_searched(scene: Scene, folder: Path, kind: str) -> Storage:
    elsewhere = Bed(folder / "other")
    elsewhere.job(2).checkpoint(3)
    storage = open_storage(str(elsewhere.root))
    environment = replace(scene.revalidation.environment, **{kind: (storage,)})
    scene.revalidation = scene.looking(environment=environment)
    return storage


def out_of_reach(monkeypatch: pytest.MonkeyPatch, storage: Storage) -> None:
    collect = CheckpointReader.collect

    def fails(self, asked):
        if asked.location == storage.location:
            raise StorageUnreachableError("away")
        return collect(self, asked)

    monkeypatch.setattr(CheckpointReader, "collect", fails)


@pytest.mark.parametrize("has_savepoints", [True, False])
def test_a_pending_savepoint_stops_only_what_deletes_files_of_savepoints(
    scene, has_savepoints
) -> None:
    """R33: it may have begun since the cycle."""
    scene.revalidation = scene.looking(has_savepoints=has_savepoints)
    scene.revalidation.check()
    pending = a_checkpoint(9, status="IN_PROGRESS", is_savepoint=True, external_path=None)
    facts = replace(scene.facts, checkpoints=(pending,), in_progress_count=1)
    scene.cluster.facts = a_cluster(facts)
    if has_savepoints:
        with pytest.raises(RefusedError, match="is writing a savepoint"):
            scene.revalidation.check()
    else:
        scene.revalidation.check()


def test_an_error_of_another_kind_is_not_taken_for_an_answer(scene, monkeypatch) -> None:
    """A fault of ours in the gate is raised, not passed over."""
    monkeypatch.setattr(Cluster, "observe", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scene.revalidation.check()
    assert issubclass(RefusedError, OrphanGcError)
