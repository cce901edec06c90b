"""``doctor --prove``: what a deletion relies on is tried in a storage, and nothing of it stays."""

import json
import shlex
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from cli.helpers import Ran, run
from cli.stories import Story
from cli.stories_on_s3 import S3Story
from orphangc import __version__
from orphangc.adapters.files.fsspec_storage import FsspecStorage
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.app.commands.examine import prove_storage
from orphangc.collect.state.storage_proof import StorageProof
from orphangc.ports import DeletionStatus

CHECKS = ["names", "order", "clock", "lock", "conditional delete", "failures by key", "undelete"]


class TriedFileSystem(MemoryFileSystem):
    """A file system of a kind that is not tested."""

    protocol = "tried"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    _one_at_a_time = threading.RLock()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("tried://").strip("/")

    def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        with self._one_at_a_time:
            return super()._open(path, mode, **more)


@pytest.fixture
def tried() -> Iterator[type[TriedFileSystem]]:
    """Give an empty one."""
    fsspec.register_implementation("tried", TriedFileSystem, clobber=True)
    TriedFileSystem.store.clear()
    TriedFileSystem.pseudo_dirs[:] = [""]
    TriedFileSystem().makedirs("/host/cp")
    yield TriedFileSystem
    TriedFileSystem.store.clear()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write fewer objects; the contracts of storages have a listing of several pages."""
    monkeypatch.setattr(prove_storage, "_MANY", prove_storage._MANY[::20])


def prove(place: object, *options: object) -> tuple[Ran, dict[str, tuple[str, str]]]:
    ran = run("doctor", "--prove", place, *options, "--output", "json")
    return ran, {each["check"]: (each["health"], each["message"]) for each in ran.json}


def test_a_local_folder_is_proven_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    ran, found = prove(tmp_path)
    assert (ran.code, list(found)) == (0, [*CHECKS, "removal"])
    assert {health for health, _ in found.values()} == {"good", "note"}
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A mistyped one was proven, and its folder was left behind."""
    ran = run("doctor", "--prove", tmp_path / "mistyped/place", "--output", "json")
    assert (ran.code, ran.out) == (10, "")
    assert ran.complaints == [f"orphangc: folder {tmp_path}/mistyped/place does not exist"]
    assert list(tmp_path.iterdir()) == []


def test_a_versioned_bucket_is_proven_and_only_its_own_objects_are_there(on_s3: S3Story) -> None:
    """Order, ranges, and back from a delete marker."""
    before = on_s3.contents()
    ran, found = prove(f"s3://{on_s3.bucket}/checkpoints")
    assert ran.code == 0, ran.err
    assert {name for name, (health, _) in found.items() if health != "good"} == set()
    assert on_s3.contents() == before
    _, found = prove(f"s3://{on_s3.bucket}/checkpoints", "--state", f"s3://{on_s3.bucket}/state")
    assert found["proof"][1].endswith(f" by orphangc {__version__}")


# --- what must be found


def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = LocalStorage.objects

    def objects(self: LocalStorage, prefix: str = "") -> Iterator[pa.RecordBatch]:
        for batch in listing(self, prefix):
            yield batch.slice(0, batch.num_rows - 1)

    monkeypatch.setattr(LocalStorage, "objects", objects)


def _folding(monkeypatch: pytest.MonkeyPatch) -> None:
    write = LocalStateFiles.write
    monkeypatch.setattr(
        LocalStateFiles, "write", lambda self, name, data: write(self, name.lower(), data)
    )


def _careless(monkeypatch: pytest.MonkeyPatch) -> None:
    delete = LocalStorage.delete

    def anything(self: LocalStorage, objects: Any) -> Any:
        return delete(
            self,
            [f or w for f, w in zip(self.stat([o.key for o in objects]), objects, strict=True)],
        )

    monkeypatch.setattr(LocalStorage, "delete", anything)


def _vague(monkeypatch: pytest.MonkeyPatch) -> None:
    delete = LocalStorage.delete
    monkeypatch.setattr(
        LocalStorage,
        "delete",
        lambda self, objects: [
            replace(e, status=DeletionStatus.DELETED) if e.status is DeletionStatus.GONE else e
            for e in delete(self, objects)
        ],
    )


def _unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(self: LocalStateFiles, name: str, data: bytes) -> bool:
        self.write(name, data)
        return True

    monkeypatch.setattr(LocalStateFiles, "create", create)


def _timeless(monkeypatch: pytest.MonkeyPatch) -> None:
    now = LocalStorage.now
    monkeypatch.setattr(LocalStorage, "now", lambda self: replace(now(self), now=None))


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (_forgetful, "names"),
        (_folding, "names"),
        (_careless, "conditional delete"),
        (_vague, "failures by key"),
        (_unlocked, "lock"),
        (_timeless, "clock"),
    ],
)
def test_what_a_storage_lacks_is_found_and_it_is_not_proven(
    tmp_path: Path, monkeypatch, broken, check
) -> None:
    """The proof is not kept, and what was written is removed all the same."""
    (tmp_path / "place").mkdir()
    broken(monkeypatch)
    ran, found = prove(tmp_path / "place", "--state", tmp_path / "state")
    assert ran.code != 0
    assert found[check][0] == "bad"
    assert "proof" not in found
    assert not (tmp_path / "state" / "proofs").exists()
    files = [each for each in (tmp_path / "place").rglob("*") if each.is_file()]
    assert files == []


@pytest.mark.parametrize("broken", ["order", "parts", "undelete"])
def test_what_a_bucket_lacks_is_found(on_s3: S3Story, monkeypatch, broken: str) -> None:
    """Descending pages, a range that is not one, and a marker that stays."""
    pages = ObjectStorage.pages

    def reordered(self: ObjectStorage, *within: Any) -> Any:
        return [b.take(pa.array(range(b.num_rows - 1, -1, -1))) for b in pages(self, *within)]

    def shorter(self: ObjectStorage, *within: Any) -> Any:
        return [b.slice(0, b.num_rows - 1) if within[0].after else b for b in pages(self, *within)]

    faults = {
        "order": ("pages", reordered),
        "parts": ("pages", shorter),
        "undelete": ("undelete", lambda *_: []),
    }
    monkeypatch.setattr(ObjectStorage, *faults[broken])
    ran, found = prove(f"s3://{on_s3.bucket}/elsewhere")
    assert ran.code != 0
    assert [name for name, (health, _) in found.items() if health == "bad"] == [
        "undelete" if broken == "undelete" else "order"
    ]


# --- file systems of a kind that is not tested


class StaleFacts(TriedFileSystem):
    """Shows the facts of an object as it saw them first: no condition on them means anything."""

    seen: ClassVar[dict[str, Any]] = {}

    def info(self, path: str, **more: Any) -> Any:
        found = super().info(path, **more)
        return self.seen.setdefault(path, found) if found["type"] == "file" else found


class CoarseTimes(TriedFileSystem):
    """Has whole days as times, and no identity: a replaced object may look as before."""

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:  # noqa: FBT001, FBT002
        found = super().ls(path, detail=True, **more)
        shown = [dated(each, hour=0, minute=0, second=0, microsecond=0) for each in found]
        return shown if detail else [each["name"] for each in shown]

    def info(self, path: str, **more: Any) -> Any:
        return dated(super().info(path, **more), hour=0, minute=0, second=0, microsecond=0)


def dated(info: dict[str, Any], **parts: int) -> dict[str, Any]:
    return info | ({"created": info["created"].replace(**parts)} if "created" in info else {})


class LateList(TriedFileSystem):
    """Shows the newest objects of a folder in the second list."""

    shown: ClassVar[dict[str, set[str]]] = {}

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:  # noqa: FBT001, FBT002
        found = super().ls(path, detail=True, **more)
        known = self.shown.setdefault(path, set())
        late = [each for each in found if each["name"] in known or each["type"] == "directory"]
        known.update(each["name"] for each in found)
        return late if detail else [each["name"] for each in late]


class LateRemoval(TriedFileSystem):
    """Lists what was removed once more."""

    removed: ClassVar[list[dict[str, Any]]] = []

    def rm_file(self, path: str) -> None:
        self.removed.append(super().info(path))
        super().rm_file(path)

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:  # noqa: FBT001, FBT002
        found = super().ls(path, detail=True, **more)
        above = self._strip_protocol(path)
        late = [each for each in self.removed if each["name"].rpartition("/")[0] == above]
        self.removed[:] = [each for each in self.removed if each not in late]
        found = [*found, *late]
        return found if detail else [each["name"] for each in found]


class ClockOff(TriedFileSystem):
    """Is an hour behind, in its clock and all its times."""

    by: ClassVar[timedelta] = timedelta(hours=1)

    def is_off(self, path: str) -> bool:
        return bool(path)

    def info(self, path: str, **more: Any) -> Any:
        found = super().info(path, **more)
        return self._shifted(found)

    def modified(self, path: str) -> Any:
        return self.info(path)["created"]

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:  # noqa: FBT001, FBT002
        found = [self._shifted(each) for each in super().ls(path, detail=True, **more)]
        return found if detail else [each["name"] for each in found]

    def _shifted(self, found: dict[str, Any]) -> dict[str, Any]:
        if "created" not in found or not self.is_off(found["name"]):
            return found
        return found | {"created": found["created"] - self.by}


class ClocksOff(ClockOff):
    """Has nodes of which some are an hour behind."""

    def is_off(self, path: str) -> bool:
        return path.endswith("0")


class Folding(TriedFileSystem):
    """Does not distinguish capitals."""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path).lower()


class Keeping(Folding):
    """Shows the capitals of the first name."""

    first: ClassVar[dict[str, str]] = {}

    def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        return super()._open(path, mode, **more)

    def pipe_file(self, path: str, value: bytes, **more: Any) -> None:
        self.first.setdefault(path.lower(), path)
        super().pipe_file(path, value, **more)

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:  # noqa: FBT001, FBT002
        found = super().ls(path, detail=True, **more)
        named = [each | {"name": self.first.get(each["name"], each["name"])} for each in found]
        return named if detail else [each["name"] for each in named]


class Composing(TriedFileSystem):
    """Takes a letter and its accent for the letter with the accent."""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return unicodedata.normalize("NFC", super()._strip_protocol(path))


class SaysDeleted(TriedFileSystem):
    """Fails to remove an object, and does not say so."""

    def rm_file(self, path: str) -> None:
        if not path.endswith("going"):
            super().rm_file(path)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (StaleFacts, "conditional delete"),
        (CoarseTimes, "conditional delete"),
        (LateList, "names"),
        (LateRemoval, "failures by key"),
        (ClockOff, "clock"),
        (ClocksOff, "clock"),
        (Folding, "names"),
        (Keeping, "names"),
        (Composing, "names"),
        (SaysDeleted, "failures by key"),
    ],
)
def test_a_file_system_that_misleads_is_not_proven(tried, kind: type, check: str) -> None:
    """Whatever else it shows, the check that it fails says so, and no proof is kept."""
    fsspec.register_implementation("tried", kind, clobber=True)
    for each in ("seen", "shown", "removed", "first"):
        getattr(kind, each, []).clear()
    ran, found = prove("tried://host/cp", "--state", "tried://host/state")
    assert ran.code != 0
    assert found[check][0] == "bad", found
    assert "proof" not in found
    assert not any("/proofs/" in name for name in tried.store)


# --- a kind that is not tested


def swept(story: Story, out: Path) -> Ran:
    """Plan and sweep twice, as the quarantine of nothing asks for."""
    margins = ("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0")
    more = (*margins, "--quarantine-period", "0", "--allow-short-margins", "--ended-job", "all")
    place = ("tried://host/cp", "--state", "tried://host/state", "--closed-world")
    alias = ("--alias", f"{story.bed.root}=tried://host/cp")
    for number in range(2):
        run("plan", *place, *alias, *more, "--out", out / f"{number}")
        ran = run("sweep", out / f"{number}", "--delete")
    return ran


def test_orphans_on_an_untested_kind_go_only_after_a_proof_of_that_storage(
    story: Story, tried, tmp_path: Path
) -> None:
    """R27: a plan is a report before, and says afterwards what it rests on."""
    fs = tried()
    for path in (each for each in story.bed.root.rglob("*") if each.is_file()):
        fs.pipe_file(f"/host/cp/{path.relative_to(story.bed.root)}", path.read_bytes())
    before = {each for each in tried.store if each.startswith("/host/cp/")}
    orphans = {f"/host/cp/{each.relative_to(story.bed.root)}" for each in story.orphans}
    ran = swept(story, tmp_path / "unproven")
    assert ran.code == 4
    assert before <= tried.store.keys()
    plan = json.loads((tmp_path / "unproven/1/plan.json").read_text())
    (said,) = {
        blocked["message"]
        for job in plan["jobs"]
        for blocked in job["blocked"]
        if blocked["condition"] == "untested_storage"
    }
    lifting = shlex.split(said.partition("run: orphangc ")[2])
    assert lifting == ["doctor", "--prove", "tried://host/cp", "--state", "tried://host/state"]
    fs.makedirs("/other/cp")
    assert prove("tried://other/cp", "--state", "tried://host/state")[0].code == 0
    swept(story, tmp_path / "another")
    assert before <= tried.store.keys()
    assert run(*lifting).code == 0
    swept(story, tmp_path / "proven")
    assert before - tried.store.keys() == orphans
    warning, *_ = json.loads((tmp_path / "proven/1/plan.json").read_text())["warnings"]
    assert "not tested; proven 0 days ago" in warning


def test_nothing_is_deleted_on_an_untested_kind_without_a_proof(tried, tmp_path: Path) -> None:
    """Doctor says how to prove it, and the proof says by whom and when."""
    config = tmp_path / "orphangc.yaml"
    config.write_text("storage_roots:\n- {root: 'tried://host/cp', state: 'tried://host/state'}\n")

    def kind() -> tuple[str, str]:
        found = run("doctor", "--config", config, "--output", "json").json
        (shown,) = ((e["health"], e["message"]) for e in found if e["check"] == "kind")
        return shown

    assert kind() == (
        "warning",
        (
            "deletion is not tested on this kind of storage; to prove it, run: orphangc doctor"
            " --prove tried://host/cp --state tried://host/state"
        ),
    )
    ran, found = prove("tried://host/cp", "--state", "tried://host/state")
    assert ran.code == 0, (ran.err, found)
    assert found["proof"][0] == "good"
    health, said = kind()
    assert health == "good"
    assert said.startswith("proven 0 days ago (")
    (name,) = (each for each in tried.store if "/proofs/" in each)
    proof = StorageProof.model_validate_json(tried.store[name].getvalue())
    for other in ({"tool_version": "0.0.1"}, {"client": "tried 1"}, {"storage": "tried://b/"}):
        changed = proof.model_copy(update=other).model_dump_json().encode()
        tried().pipe_file(name, changed)
        assert kind()[0] == "warning", other
    tried().pipe_file(name, b"{")
    assert kind()[0] == "warning"


def test_the_clock_of_an_untested_kind_is_seen_in_its_state_location_only(tried) -> None:
    """Elsewhere no new file may be written."""
    from flinkstate.places.locations import canonical  # noqa: PLC0415
    from orphangc.adapters.open import open_storage  # noqa: PLC0415 - after the kind is there

    storage = open_storage("tried://host/cp", state=canonical("tried://host/state"))
    assert isinstance(storage, FsspecStorage)
    assert storage.now().now is not None
    assert not any("probe" in each for each in tried.store)
    for state in (None, canonical("/tmp"), canonical("tried://other/state")):
        assert open_storage("tried://host/cp", state=state).now().now is None


@pytest.mark.parametrize(
    "arguments",
    [(), ("--config", "x", "--prove", "/x"), ("--config", "x", "--state", "/x"), ("--state", "/x")],
)
def test_doctor_checks_a_configuration_or_proves_a_storage(arguments) -> None:
    ran = run("doctor", *arguments)
    assert ran.code == 2
    assert "--prove" in ran.err
