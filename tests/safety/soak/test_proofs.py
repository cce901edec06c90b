"""Those who prove that a soak lost nothing can tell when something is lost; no Flink needed."""

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from contracts.servers.stub import Answer, stub_server
from integration.harness.flinkbed.waiting import wait_until
from safety.soak import reference_tracker
from safety.soak.bucket import witness
from safety.soak.expected_state import Audit, expected
from safety.soak.places import Places
from safety.soak.reference_tracker import Verdict, judge, watch
from safety.soak.soak import is_flinks_own
from support.processes import finished

_TESTS = Path(__file__).parents[2]
_REMOVERS = {
    "unlink": "Path({path!r}).unlink()",
    "remove": "os.remove({path!r})",
    "of a folder": "os.unlink({name!r}, dir_fd=os.open({folder!r}, os.O_RDONLY))",
    "rename": "os.rename({path!r}, {path!r} + '.gone')",
    "replace": "os.replace({path!r}, {path!r} + '.gone')",
    "truncate": "os.truncate({path!r}, 0)",
    "tree": "shutil.rmtree({folder!r})",
}


class Scene:
    """A job's directory under a watcher, and collectors whose deeds are on record."""

    def __init__(self, work: Path) -> None:
        self.places = Places(work)
        self.job = self.places.base / "0123456789abcdef0123456789abcdef"
        (self.job / "shared").mkdir(parents=True)
        (work / "savepoints").mkdir()
        self._stop = threading.Event()
        trees = self.places.trees
        self._watcher = threading.Thread(target=watch, args=(trees, self.places.seen, self._stop))
        self._watcher.start()

    def seen(self) -> str:
        return self.places.seen.read_text() if self.places.seen.is_file() else ""

    def upload(self) -> Path:
        path = self.job / "shared" / str(uuid.uuid4())
        path.write_bytes(b"state")
        return path

    def complete(self, folder: Path, *files: Path) -> Path:
        """Write a checkpoint's metadata, and return it once it was seen."""
        folder.mkdir(parents=True, exist_ok=True)
        metadata = folder / "_metadata"
        written = folder / "_metadata.new"  # an empty one, seen for a moment, would go at once
        written.write_bytes(b"\x00".join(b"file:" + os.fsencode(path) for path in files))
        written.rename(metadata)
        there = f'"there", "{metadata}", {metadata.stat().st_mtime_ns}, {metadata.stat().st_size}'
        wait_until("a look", lambda: there in self.seen())
        return metadata

    def subsume(self, metadata: Path) -> None:
        metadata.unlink()
        gone = f'["gone", "{metadata}"'
        wait_until("a look", lambda: gone in self.seen())

    def collect(self, path: Path) -> None:
        """Remove a file as a collector under watch would, as far as records tell."""
        with self.places.removals.open("a") as lines:
            lines.write(f"{time.time_ns()}\t{path}\n")
        path.unlink()

    def verdict(self) -> Verdict:
        self._stop.set()
        self._watcher.join()
        return judge(self.places.seen, self.places.removals)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A storage root under watch."""
    return Scene(tmp_path)


def test_what_nothing_ever_named_may_go(scene: Scene) -> None:
    live, orphan = scene.upload(), scene.upload()
    scene.complete(scene.job / "chk-1", live)
    scene.collect(orphan)
    verdict = scene.verdict()
    assert (verdict.checkpoints, verdict.right) == (1, 1)
    assert (verdict.wrong, verdict.strange) == ({}, [])


@pytest.mark.parametrize("folder", ["ckpt/job/chk-1", "savepoints/s-1"])
@pytest.mark.parametrize("goes", [True, False])
def test_what_an_existing_checkpoint_names_may_not_go(
    scene: Scene, folder: str, *, goes: bool
) -> None:
    """That the checkpoint goes a moment later is no excuse."""
    live = scene.upload()
    metadata = scene.complete(scene.places.work / folder, live)
    scene.collect(live)
    if goes:
        scene.subsume(metadata)
    assert scene.verdict().wrong == {str(live): str(metadata)}


def test_a_checkpoint_that_goes_in_the_midst_of_a_look_counts_until_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, seen, stop = str(uuid.uuid4()), tmp_path / "seen", threading.Event()
    path = tmp_path / "_metadata"
    path.write_text(f"file:/{named}")
    removed_at: list[int] = []

    def metadata(_: Path) -> Iterator[tuple[str, int, int]]:
        if stop.is_set():
            removed_at.append(time.time_ns())
            return
        stop.set()
        yield str(path), 1, 1

    monkeypatch.setattr(reference_tracker, "metadata", metadata)
    watch([tmp_path], seen, stop)
    removals = tmp_path / "removals"
    removals.write_text(f"{removed_at[0]}\t/job/shared/{named}\n")
    assert judge(seen, removals).wrong == {f"/job/shared/{named}": str(path)}


def test_what_only_a_checkpoint_named_that_is_gone_may_go(scene: Scene) -> None:
    orphan = scene.upload()
    scene.subsume(scene.complete(scene.job / "chk-1", orphan))
    scene.collect(orphan)
    verdict = scene.verdict()
    assert (verdict.right, verdict.wrong) == (1, {})


def test_what_a_checkpoint_names_that_completes_later_may_not_go(scene: Scene) -> None:
    pending = scene.upload()
    scene.collect(pending)
    metadata = scene.complete(scene.job / "chk-2", pending)
    assert scene.verdict().wrong == {str(pending): str(metadata)}


def test_a_folder_that_is_written_anew_is_another_checkpoint(scene: Scene) -> None:
    """Ids start again when a job's counter is lost."""
    first, second = scene.upload(), scene.upload()
    metadata = scene.complete(scene.job / "chk-1", first)
    scene.collect(first)
    scene.subsume(metadata)
    scene.complete(scene.job / "chk-1", second)
    scene.collect(second)
    assert set(scene.verdict().wrong) == {str(first), str(second)}


def test_a_file_of_a_checkpoint_alone_may_go_only_while_none_names_it(scene: Scene) -> None:
    """A pending checkpoint names its own files when it completes."""
    own, dead = (scene.job / name / str(uuid.uuid4()) for name in ("chk-2", "chk-1"))
    for path in (own, dead):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"state")
        scene.collect(path)
    scene.complete(own.parent, own)
    assert (set(scene.verdict().wrong), scene.verdict().strange) == ({str(own)}, [])


def test_nothing_but_a_file_of_shared_or_of_one_checkpoint_may_go(scene: Scene) -> None:
    own = scene.job / "taskowned" / str(uuid.uuid4())
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_bytes(b"state")
    scene.collect(own)
    assert scene.verdict().strange == [str(own)]


@pytest.mark.parametrize(
    ("named", "removal", "is_wrong"),
    [
        ("s3://b/ckpt/J/shared/U", "s3://b/ckpt/J/shared/U", True),
        ("s3://b/ckpt/J/shared/U", "s3://b/ckpt/J/shared/V", False),
        ("s3://b/ckpt/J/shared/U", "s3://b/ckpt/J/shared/U?upload", True),
        ("s3://b/ckpt/J/shared/U", "s3://b/ckpt/J/shared/V?upload", False),
        ("s3://b/ckpt/J/shared/U", "s3://b/ckpt/J/chk-1/_metadata?upload", True),
        ("s3://b/ckpt/J/shared/U", "s3://b/ckpt/J/chk-2/_metadata?upload", False),
    ],
)
def test_objects_and_uploads_of_a_bucket_are_judged_as_files_are(
    tmp_path: Path, *, named: str, removal: str, is_wrong: bool
) -> None:
    """An upload whose file a checkpoint names had been completed."""
    one, other = str(uuid.uuid4()), str(uuid.uuid4())
    seen, removals = tmp_path / "seen", tmp_path / "removals"
    there = ["there", "s3://b/ckpt/J/chk-1/_metadata", 1, 1, [one]]
    gone = ["gone", *there[1:4], 0, 2 if "?" in removal else 9]
    seen.write_text(f"{json.dumps(there)}\n{json.dumps(gone)}\n")
    removals.write_text(f"5\t{removal.replace('U', one).replace('V', other)}\n")
    assert named.endswith("U")
    verdict = judge(seen, removals)
    assert bool(verdict.wrong) is is_wrong
    assert verdict.strange == []


def test_what_is_no_file_of_flinks_is_strange_in_a_bucket_too(tmp_path: Path) -> None:
    """Also what was written over, and the ``_metadata`` itself."""
    (seen := tmp_path / "seen").touch()
    name = uuid.uuid4()
    paths = [f"s3://b/J/shared/{name}?written", f"s3://b/J/taskowned/{name}", "s3://b/J/_metadata"]
    (removals := tmp_path / "removals").write_text("".join(f"5\t{each}\n" for each in paths))
    assert judge(seen, removals).strange == paths


_BOTH = b"<Delete><Object><Key>a</Key></Object><Object><Key>b &amp; c</Key></Object></Delete>"
_ONE_STAYS = b"<DeleteResult xmlns='x'><Error><Key>a</Key></Error></DeleteResult>"


@pytest.mark.parametrize(
    ("request_line", "body", "status", "answer", "noted"),
    [
        ("DELETE /b/a%20b", b"", 204, b"", ["s3://b/a b"]),
        ("DELETE /b/a", b"", 403, b"", []),
        ("DELETE /b/a?uploadId=7", b"", 204, b"", ["s3://b/a?upload"]),
        ("POST /b?delete", _BOTH, 200, b"", ["s3://b/a", "s3://b/b & c"]),
        ("POST /b/?delete=", _BOTH, 200, _ONE_STAYS, ["s3://b/b & c"]),
        ("PUT /b/a", b"x", 200, b"", ["s3://b/a?written"]),
        ("GET /b/a", b"", 200, b"x", []),
    ],
)
def test_the_witness_before_a_bucket_sees_every_way_of_removing_an_object(  # noqa: PLR0917
    tmp_path: Path, request_line: str, body: bytes, status: int, answer: bytes, noted: list[str]
) -> None:
    """But for what the server does not grant."""
    (out := tmp_path / "removals").touch()
    verb, target = request_line.split(" ")
    with stub_server() as stub, witness(stub.url, out) as url:
        stub.answer = lambda _: Answer(answer, status)
        asked = Request(url + target, data=body or None, method=verb)
        with suppress(HTTPError), urlopen(asked) as given:
            assert given.read() == answer
    assert [line.partition("\t")[2] for line in out.read_text().splitlines()] == noted


def _witnessed(tmp_path: Path, remover: str, folder: Path) -> list[str]:
    path = folder / "a file"
    path.write_bytes(b"")
    said = remover.format(path=str(path), name=path.name, folder=str(folder))
    (tmp_path / "program.py").write_text(f"import os, shutil\nfrom pathlib import Path\n{said}\n")
    out = tmp_path / "removals.tsv"
    finished(
        [sys.executable, "-m", "safety.soak.deletion_tracer", out, tmp_path / "root", "program"],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), str(tmp_path)])},
    )
    assert not path.exists() or not path.stat().st_size
    return [line.partition("\t")[2] for line in out.read_text().splitlines()]


@pytest.mark.parametrize("remover", _REMOVERS.values(), ids=_REMOVERS)
def test_the_witness_sees_every_way_of_removing_a_file(tmp_path: Path, remover: str) -> None:
    folder = tmp_path / "root" / "shared"
    folder.mkdir(parents=True)
    assert str(folder / "a file") in _witnessed(tmp_path, remover, folder)


def test_the_witness_tells_only_of_its_folder(tmp_path: Path) -> None:
    (folder := tmp_path / "state").mkdir()
    assert _witnessed(tmp_path, _REMOVERS["unlink"], folder) == []


def _forgets_a_number(audit: Audit) -> None:
    audit.lanes[0] += 1


def _counts_one_twice(audit: Audit) -> None:
    audit.lanes[2] -= 1


def _swaps_two(audit: Audit) -> None:
    audit.accounts[0], audit.accounts[1] = audit.accounts[1], audit.accounts[0]


def _loses_a_key(audit: Audit) -> None:
    del audit.accounts[3]


def _mixes_up_digests(audit: Audit) -> None:
    count, total, digest = audit.accounts[4]
    audit.accounts[4] = count, total, digest ^ 1


def _fresh_audit() -> Audit:
    lanes = {0: 100, 2: 41}
    return Audit(lanes, expected(lanes, 7))


def test_accounts_are_those_of_arithmetic_on_whole_numbers() -> None:
    lanes = {0: 100, 2: 41}
    sums = {key: [0, 0, 0] for key in range(7)}
    for lane, given in lanes.items():
        for number in range(lane << 40, (lane << 40) + given):
            mixed = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
            for place, value in enumerate((1, number, mixed ^ mixed >> 29)):
                sums[number % 7][place] += value
    signed = {
        key: tuple((value + 2**63) % 2**64 - 2**63 for value in row) for key, row in sums.items()
    }
    assert expected(lanes, 7) == signed
    _fresh_audit().check(7)


@pytest.mark.parametrize(
    "spoil", [_forgets_a_number, _counts_one_twice, _swaps_two, _loses_a_key, _mixes_up_digests]
)
def test_any_number_lost_doubled_or_misplaced_is_seen(spoil: Callable[[Audit], None]) -> None:
    audit = _fresh_audit()
    spoil(audit)
    with pytest.raises(AssertionError, match="keys are wrong"):
        audit.check(7)


def test_a_checkpoint_of_nothing_is_no_proof() -> None:
    with pytest.raises(AssertionError, match="of nothing"):
        Audit({}, expected({}, 7)).check(7)


def test_flink_is_to_blame_only_for_a_file_that_nobody_removed(tmp_path: Path) -> None:
    gone, there = tmp_path / "gone", tmp_path / "there"
    there.touch()
    why = f"Caused by: java.io.FileNotFoundException: {gone} (No such file or directory)"
    assert is_flinks_own(why, [str(tmp_path / "other")])
    assert not is_flinks_own(why, [str(tmp_path / "shared" / "gone")])
    assert not is_flinks_own(why.replace("gone", "there"), [])
    missed = "Caused by: java.io.FileNotFoundException: "
    assert is_flinks_own(f"{missed}s3://b/ckpt/gone", [], lambda path: path != "/b/ckpt/gone")
    assert is_flinks_own(f"{missed}/b/ckpt/gone", [], lambda path: path != "/b/ckpt/gone")
    assert not is_flinks_own(f"{missed}s3://b/ckpt/gone", ["s3://b/x/gone"], lambda _: False)
    assert not is_flinks_own("Caused by: java.lang.IllegalStateException: wrong", [])


def test_an_operator_knows_that_flink_deletes_the_checkpoints_of_a_job_that_finished(
    tmp_path: Path,
) -> None:
    """A stop with a savepoint finishes a job; a cancellation does not."""
    places, (stopped, cancelled) = Places(tmp_path), ("a" * 32, "b" * 32)
    places.finish(stopped)
    places.end(cancelled)
    assert places.ended == [stopped, cancelled]
    assert places.is_given_up(f"s3://b/ckpt/{stopped}")
    assert places.is_given_up(f"s3://b/ckpt/{stopped}/chk-7")
    assert not places.is_given_up(f"s3://b/ckpt/{cancelled}")
    assert not places.is_given_up(f"s3://b/ckpt/{cancelled}/chk-7")
