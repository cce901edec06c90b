"""E1, nonce, E2: against the real folder, with an exporter that the test moves."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from flinkstate.places.locations import canonical
from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.collect.observe.exporters import ExporterHandshake, newest, start_handshake
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntry, RestoredCheckpoint
from orphangc.core.model.types import JobId, Mode
from orphangc.errors import RefusedError, StorageUnreachableError
from orphangc.ports import StoreTime
from support.builders import JOB, OTHER_JOB, T0, a_snapshot, ago, job_directory
from support.exporters import Exporter, folder_at

BASE = job_directory().__class__("s3", "bucket", "/checkpoints")


def nothing() -> None:
    """Let time pass."""


@dataclass
class Scene:
    """One registry folder with one job's exporter, and a collector."""

    folder: Path
    exporter: Exporter = field(init=False)
    meanwhile: Callable[[], object] = nothing
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.exporter = Exporter(self.folder, a_snapshot(sequence=10), ago("1m"))
        self.exporter.export()
        self.exporter.export()

    def wait(self, seconds: float) -> None:
        """Let something happen while the collector waits."""
        self.waits.append(seconds)
        assert len(self.waits) < 1000
        self.meanwhile()

    def baseline(self, *folders: Path) -> ExporterHandshake:
        places = folders or (self.folder,)
        return start_handshake(
            [folder_at(each) for each in places],
            bases=[BASE],
            aliases=(),
            wait=self.wait,
            clock=lambda: StoreTime(now=T0, local=T0, source="test"),
        )

    def response(
        self, handshake: ExporterHandshake, *, wait: str = "60s", ended: bool = False
    ) -> Exported:
        """Ask, and return the answer of the one job."""
        answers = handshake.complete(
            ended=lambda _: ended, bases=[BASE], now=T0, patience=timedelta(seconds=int(wait[:-1]))
        )
        return answers[self.exporter.template.job_id]


@pytest.fixture
def scene(tmp_path) -> Scene:
    return Scene(tmp_path / "registry")


def test_the_newest_snapshot_comes_first_and_the_one_that_repeats_the_nonce_second(scene) -> None:
    """R14; no longer than needed."""
    scene.meanwhile = scene.exporter.export
    handshake = scene.baseline()
    answer = scene.response(handshake)
    assert handshake.snapshots == [answer.baseline]
    assert answer.baseline.sequence == 12
    assert answer.response.sequence == 13
    assert answer.response.nonce == answer.nonce != ""
    assert scene.waits == [2.0]
    assert answer.snapshots == (answer.baseline, answer.response)


def test_a_dead_exporter_is_waited_for_as_long_as_is_said(scene) -> None:
    """R15: nonce never repeated."""
    answer = scene.response(scene.baseline(), wait="7s")
    assert scene.waits == [2.0, 2.0, 2.0, 1.0]
    assert answer.response is None
    assert answer.waited == timedelta(seconds=7)
    assert (scene.exporter.place / "nonce").read_text() == answer.nonce


@pytest.mark.parametrize("reason", ["ended", "stale", "no snapshot", "of nobody's concern"])
def test_nobody_is_waited_for_who_cannot_answer_or_need_not(scene, reason) -> None:
    """A folder of every job that ever ran is common."""
    place = scene.exporter.place / "snapshots"
    if reason == "stale":
        shutil.rmtree(place)
        scene.exporter.at = ago("2h")
        scene.exporter.export()
    elif reason == "no snapshot":
        shutil.rmtree(place)
        place.mkdir()
    elif reason == "of nobody's concern":
        scene.exporter.export(checkpoint_dir=f"s3://elsewhere/{JOB}")
    answer = scene.response(scene.baseline(), ended=reason == "ended")
    assert (scene.waits, answer.nonce, answer.response) == ([], "", None)
    assert not (scene.exporter.place / "nonce").exists()


@pytest.mark.parametrize("what", ["entry", "restored", "no place"])
def test_a_job_elsewhere_that_refers_here_is_asked(scene, what) -> None:
    """R15: each running job that references the directory."""
    file = f"{BASE}/{OTHER_JOB}/shared/x"
    entry = RegistryEntry("file://host/x" if what == "no place" else file, EntryKind.FILE, 1, 1, 1)
    changes = {"restored": (RestoredCheckpoint(id=1, path=file, mode="CLAIM"),)}
    scene.exporter.template = replace(
        scene.exporter.template,
        checkpoint_dir=f"s3://elsewhere/{JOB}",
        **(changes if what == "restored" else {"entries": (entry,)}),
    )
    scene.exporter.export()
    scene.meanwhile = scene.exporter.export
    answer = scene.response(scene.baseline())
    assert answer.response.nonce == answer.nonce


def test_what_follows_in_another_life_ends_the_waiting(scene) -> None:
    """R15: the JobManager was killed between E1 and E2."""
    handshake = scene.baseline()
    scene.exporter.restart("epoch-2")
    scene.meanwhile = scene.exporter.export
    answer = scene.response(handshake)
    assert answer.response.jm_epoch == "epoch-2"
    assert len(scene.waits) == 1


def test_two_lives_at_once_are_noticed_whoever_repeats_the_nonce(scene) -> None:
    """An old JobManager that is not dead yet, beside the new one."""
    handshake = scene.baseline()
    zombie = Exporter(scene.folder, replace(scene.exporter.template, jm_epoch="z"), ago("30s"))
    zombie.nonce = "old"
    zombie.look = lambda: "old"
    scene.meanwhile = lambda: (zombie.export(), scene.exporter.export())
    assert scene.response(handshake).response.jm_epoch == "z"
    assert len(scene.waits) == 1


@pytest.mark.parametrize(
    ("what", "rival"),
    [("a successor", None), ("E1's goes on", "other"), ("one from before E1 goes on", "other")],
)
def test_two_that_write_in_turn_are_told_from_one_that_was_started_again(
    scene, what, rival
) -> None:
    """R15: what to do differs; void is either."""
    other = Exporter(scene.folder, replace(scene.exporter.template, jm_epoch="other"), ago("2m"))
    if what == "one from before E1 goes on":
        other.export()
    handshake = scene.baseline()
    other.at = ago("20s")
    other.export()
    scene.exporter.at = ago("10s") if what == "E1's goes on" else ago("30s")
    scene.exporter.export()
    answer = scene.response(handshake)
    assert (answer.response.jm_epoch, answer.rival) == ("other", rival)
    assert answer.baseline.jm_epoch == scene.exporter.template.jm_epoch


@pytest.mark.parametrize(
    ("epochs", "rival"),
    [("ABABA", "B"), ("BABA", "B"), ("ABA", "B"), ("BBAA", None), ("CBAA", None), ("CBCA", "B")],
)
def test_names_that_alternate_before_the_first_look_show_a_rival(scene, epochs, rival) -> None:
    """R15: a successor never writes before the last of the JobManager that it follows."""
    shutil.rmtree(scene.exporter.place / "snapshots")
    both = {
        each: Exporter(scene.folder, replace(scene.exporter.template, jm_epoch=each), T0, kept=9)
        for each in sorted(set(epochs))
    }
    for number, each in enumerate(epochs):
        both[each].at = ago(f"{60 - number}s")
        both[each].export()
    scene.meanwhile = both["A"].export
    answer = scene.response(scene.baseline())
    assert (answer.baseline.jm_epoch, answer.response.jm_epoch) == ("A", "A")
    assert answer.response.nonce == answer.nonce, "the rival is slow: it answers nobody"
    assert answer.rival == rival


def test_e1_that_comes_between_two_looks_at_the_folder_is_before_what_comes_later(
    scene, monkeypatch
) -> None:
    """The one that it follows goes on, with a clock that is behind: its names come first."""
    shutil.rmtree(scene.exporter.place / "snapshots")
    other = Exporter(scene.folder, replace(scene.exporter.template, jm_epoch="other"), ago("40s"))
    other.export()
    look = ExporterFolder.names

    def late(self, job_id):
        found = look(self, job_id)
        monkeypatch.setattr(ExporterFolder, "names", look)
        scene.exporter.at = ago("20s")
        scene.exporter.export()
        return found

    monkeypatch.setattr(ExporterFolder, "names", late)
    handshake = scene.baseline()
    other.at = ago("30s")
    other.export()
    answer = scene.response(handshake)
    assert answer.baseline.jm_epoch == scene.exporter.template.jm_epoch
    assert answer.rival == "other"


def test_a_name_that_spells_another_epoch_is_not_believed(scene) -> None:
    """R15: whose a snapshot is must show before it is read."""
    newest_name = max(scene.exporter.written)
    path = scene.exporter.place / "snapshots" / newest_name
    path.rename(path.with_name(newest_name.replace(scene.exporter.template.jm_epoch, "other")))
    assert "is of epoch" in scene.response(scene.baseline(), wait="0s").unread


def test_old_lives_beside_the_new_one_do_no_harm(scene) -> None:
    """What a dead JobManager left stays until it is pushed out."""
    scene.exporter.restart("epoch-2")
    scene.exporter.export()
    scene.meanwhile = scene.exporter.export
    answer = scene.response(scene.baseline())
    assert (answer.baseline.jm_epoch, answer.response.jm_epoch) == ("epoch-2", "epoch-2")
    assert answer.response.nonce == answer.nonce


def half(snapshot) -> bytes:
    data = write_snapshot(snapshot, snapshot.entries or (), compress=True)
    return data[: len(data) // 2]


def test_a_half_written_snapshot_voids_only_as_the_newest(scene) -> None:
    """R15; what is pushed aside by a whole one was nothing."""
    newer = a_snapshot(sequence=13, taken_at=ago("30s"))
    path = scene.exporter.write(half(newer), newer)
    answer = scene.response(scene.baseline())
    assert path.name in answer.unread
    assert answer.baseline is None
    assert scene.waits == []
    scene.exporter.at = ago("20s")
    scene.exporter.export()
    scene.meanwhile = scene.exporter.export
    answer = scene.response(scene.baseline())
    assert answer.unread is None
    assert answer.response.nonce == answer.nonce


@pytest.mark.parametrize("recovers", [False, True])
def test_a_half_written_answer_is_none(scene, recovers) -> None:
    """R15: and another one is waited for."""
    handshake = scene.baseline()
    broken = a_snapshot(sequence=13, taken_at=ago("30s"))
    scene.exporter.write(half(broken), broken)
    scene.exporter.at = ago("20s")
    scene.meanwhile = scene.exporter.export if recovers else nothing
    answer = scene.response(handshake, wait="4s")
    assert (answer.unread is None) is recovers
    assert (answer.response is not None) is recovers


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("snapshot-{}-epoch-9-0000000099.jsonl", True),
        (".snapshot-{}-epoch-9-0000000099.jsonl.gz.inprogress", False),
        ("snapshot-{}-epoch-9-0000000099.jsonl.gz.tmp", False),
        (".snapshot-{}-epoch-9-0000000099.jsonl.gz.crc", False),
        ("README", False),
    ],
)
def test_only_finished_names_are_looked_at(scene, name, counts) -> None:
    """What is being written is no snapshot."""
    (scene.exporter.place / "snapshots" / name.format("9" * 13)).write_bytes(b"garbage")
    answer = scene.response(scene.baseline(), wait="0s")
    assert (answer.unread is not None) is counts


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"job_id": OTHER_JOB, "checkpoint_dir": "s3://b/x"}, f"it is of job {OTHER_JOB}"),
        ({"source": Mode.DERIVED}, "a derived one, not an exporter's"),
    ],
)
def test_what_is_not_the_jobs_own_snapshot_is_not_read(scene, changes, words) -> None:
    """R15: job mismatch."""
    snapshot = a_snapshot(sequence=20, taken_at=ago("10s"), **changes)
    scene.exporter.write(write_snapshot(snapshot, snapshot.entries or ()), snapshot)
    assert words in scene.response(scene.baseline(), wait="0s").unread


def test_two_folders_with_one_job_are_refused(scene, tmp_path) -> None:
    """A copy, or two exporters."""
    shutil.copytree(scene.folder, tmp_path / "copy")
    answer = scene.response(scene.baseline(scene.folder, tmp_path / "copy"), wait="0s")
    assert "two folders" in answer.unread


def test_a_folder_inside_the_storage_root_is_refused(scene) -> None:
    """Nothing is ever written there."""
    folder = folder_at(scene.folder)
    with pytest.raises(RefusedError, match="writes nothing"):
        start_handshake(
            [folder],
            bases=[canonical(str(scene.folder.parent))],
            aliases=(),
            wait=scene.wait,
            clock=lambda: StoreTime(now=T0, local=T0, source="test"),
        )


def test_where_nothing_can_be_written_nothing_is_waited_for(scene, monkeypatch) -> None:
    """The reason is told."""

    def refuse(*_: object) -> None:
        raise StorageUnreachableError("write: permission denied")

    monkeypatch.setattr(ExporterFolder, "write", refuse)
    answer = scene.response(scene.baseline())
    assert answer.unwritten == "write: permission denied"
    assert scene.waits == []


def test_collectors_at_the_same_time_all_get_their_answer(scene) -> None:
    """They share one file: each answer sets one free, and none starves."""
    baseline = [scene.baseline() for _ in range(4)]
    running: list[int] = []
    answers: dict[int, Exported] = {}

    def next_one() -> None:
        """Start the next collector inside the wait of the one before, then let time pass."""
        if len(running) < len(baseline):
            running.append(len(running))
            number = running[-1]
            answers[number] = scene.response(baseline[number], wait="300s")
        elif len(scene.waits) % 5 == 0:
            scene.exporter.export()

    scene.meanwhile = next_one
    next_one()
    assert len(answers) == 4
    for answer in answers.values():
        assert answer.response.nonce == answer.nonce
    assert len({answer.nonce for answer in answers.values()}) == 4


def test_the_nonce_of_a_dead_collector_stands_for_half_a_minute_only(scene) -> None:
    """Nobody must be waited for for ever; and a living one is given its time."""
    nonce = scene.exporter.place / "nonce"
    nonce.write_text("somebody's")
    seen: list[str] = []
    scene.meanwhile = lambda: seen.append(nonce.read_text())
    answer = scene.response(scene.baseline(), wait="120s")
    assert seen[:15] == ["somebody's"] * 15
    assert seen[-1] == answer.nonce


def test_an_overwritten_nonce_is_written_again(scene) -> None:
    """The same one: it was made after the listing, whenever it is found."""
    nonce = scene.exporter.place / "nonce"
    mine: list[str] = []

    def overwrite() -> None:
        mine.append(nonce.read_text())
        if len(scene.waits) == 1:
            nonce.write_text("theirs")
            scene.exporter.export()
        elif len(scene.waits) == 3:
            scene.exporter.export()

    scene.meanwhile = overwrite
    answer = scene.response(scene.baseline())
    assert mine[0] == mine[-1] == answer.nonce == answer.response.nonce


def test_a_snapshot_that_vanishes_is_looked_for_again(scene) -> None:
    """The exporter removes its oldest ones."""
    folder = folder_at(scene.folder)
    names = folder.names(JOB)
    assert names == sorted(scene.exporter.written)
    assert newest(folder, JOB)[0] == names[-1]
    assert newest(folder, JobId("0" * 32)) is None
    assert folder.read(JOB, "snapshot-0000000000000-x.jsonl") is None
    assert folder.jobs() == [JOB]


def test_writing_touches_nothing_but_the_nonce(scene) -> None:
    """One file; whatever stands there is replaced, whole."""
    before = sorted(path.name for path in scene.exporter.place.rglob("*"))
    folder = folder_at(scene.folder)
    folder.write(JOB, "one")
    folder.write(JOB, "two")
    folder.check_writable(JOB)
    assert folder.nonce(JOB) == "two"
    assert sorted(path.name for path in scene.exporter.place.rglob("*")) == ["nonce", *before]
