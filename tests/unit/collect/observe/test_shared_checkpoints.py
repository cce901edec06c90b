"""Checkpoints that the storage roots of one pass read for each other."""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bench.checkpoints import metadata, new_uuid
from flinkstate.places.locations import Alias, canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.unlisted_cycle import UnlistedEngine
from orphangc.core.columns.file_names import FileNames
from support.builders import JOB, T0


class Counted(LocalStorage):
    """A folder that counts the ``_metadata`` that are read in it."""

    reads = 0

    def read(self, key, *, max_bytes: int) -> bytes | None:
        self.reads += 1
        return super().read(key, max_bytes=max_bytes)


class OfOneEtag(Counted):
    """A storage whose objects all have the same ETag."""

    etag: str | None = "e1"

    def folder(self, prefix: str = ""):
        found = super().folder(prefix)
        objects = tuple(replace(each, etag=self.etag) for each in found.objects)
        return replace(found, objects=objects)


class WithoutEtags(OfOneEtag):
    """A file system such as HDFS, which knows times but no ETags."""

    etag = None


def write(root: Path, *names: str, number: int = 3, age: timedelta = timedelta(hours=1)) -> Path:
    file = root / JOB / f"chk-{number}" / "_metadata"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(metadata(f"file:{root / JOB}", number, names))
    written = (T0 - age).timestamp()
    os.utime(file, (written, written))
    return file


@pytest.fixture
def shared() -> SharedCheckpoints:
    """Nothing is shared so far; it is always T0."""
    return SharedCheckpoints(lambda: T0)


def collected(storage: LocalStorage, shared: SharedCheckpoints | None, *aliases: Alias):
    """Return what the cycle of one more storage root reads."""
    return CheckpointReader(aliases, shared=shared).collect(storage)


def opened(root: Path, kind: type[Counted] = Counted) -> Counted:
    return kind(canonical(str(root)))


def test_a_checkpoint_is_read_once_in_a_pass(tmp_path, shared) -> None:
    """And every storage root gets the same."""
    write(tmp_path, new_uuid())
    storage = opened(tmp_path)
    first, second, third = (collected(storage, shared) for _ in range(3))
    assert first == second == third
    assert len(first.checkpoints) == 1
    assert storage.reads == 1


def test_without_sharing_each_reads_for_itself(tmp_path) -> None:
    """As the plan and the sweep of one storage root do."""
    write(tmp_path, new_uuid())
    storage = opened(tmp_path)
    for _ in range(3):
        collected(storage, None)
    assert storage.reads == 3


@pytest.mark.parametrize("age", [timedelta(hours=1), timedelta(hours=2)])
def test_a_replaced_checkpoint_is_read_again(tmp_path, shared, age) -> None:
    """It names other files, whatever its size, and even if it has the time of the old one."""
    old, new = new_uuid(), new_uuid()
    file = write(tmp_path, old)
    storage = opened(tmp_path)
    collected(storage, shared)
    file.rename(tmp_path / "kept")
    size = write(tmp_path, new, age=age).stat().st_size
    assert size == (tmp_path / "kept").stat().st_size
    (root,) = collected(storage, shared).checkpoints
    assert root.files[canonical(f"{tmp_path / JOB}/shared")] == FileNames([new])
    assert storage.reads == 2


def test_what_has_no_etag_is_read_again(tmp_path, shared) -> None:
    """Size and a coarse time do not prove that the bytes are the same."""
    write(tmp_path, new_uuid())
    storage = opened(tmp_path, WithoutEtags)
    for _ in range(3):
        collected(storage, shared)
    assert storage.reads == 3


@pytest.mark.parametrize(("age", "reads"), [(0, 3), (59, 3), (61, 1), (-60, 3)])
def test_a_file_that_was_just_written_is_read_again(tmp_path, shared, age, reads) -> None:
    """Written again within one step of the file system's clock, it would look the same."""
    write(tmp_path, new_uuid(), age=timedelta(seconds=age))
    storage = opened(tmp_path)
    for _ in range(3):
        collected(storage, shared)
    assert storage.reads == reads


def test_a_checkpoint_that_cannot_be_read_is_read_again(tmp_path, shared) -> None:
    """A refusal rests on a reading of its own."""
    file = write(tmp_path)
    before = file.stat()
    file.write_bytes(b"broken")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    storage = opened(tmp_path)
    for _ in range(3):
        assert len(collected(storage, shared).unreadable) == 1
    assert storage.reads == 3


def test_each_storage_root_applies_its_own_aliases(tmp_path, shared) -> None:
    """One root's statement says nothing about the paths that another one reads."""
    name = new_uuid()
    write(tmp_path, name)
    alias = Alias(canonical(str(tmp_path)), canonical("s3://bucket/checkpoints"))
    storage = opened(tmp_path)
    folders = {f"{tmp_path / JOB}/shared": (), f"s3://bucket/checkpoints/{JOB}/shared": (alias,)}
    for _ in range(2):
        for folder, aliases in folders.items():
            (root,) = collected(storage, shared, *aliases).checkpoints
            assert root.files[canonical(folder)] == FileNames([name])
    assert storage.reads == 2


def test_what_is_gone_is_forgotten(tmp_path, shared) -> None:
    """A pass over dozens of storage roots sees many checkpoints come and go."""
    first, second = (write(tmp_path, new_uuid(), number=number) for number in (3, 4))
    storage = opened(tmp_path)
    collected(storage, shared)
    held = shared.held_bytes
    first.unlink()
    collected(storage, shared)
    assert 0 < shared.held_bytes < held
    second.unlink()
    collected(storage, shared)
    assert shared.held_bytes == 0


def test_memory_is_bounded(tmp_path) -> None:
    """What finds no room is read by each storage root for itself."""
    for number in range(4):
        write(tmp_path, *(new_uuid() for _ in range(500)), number=number)
    storage = opened(tmp_path)
    whole = SharedCheckpoints(lambda: T0)
    collected(storage, whole)
    assert whole.held_bytes > 4 * 500 * 16
    half = SharedCheckpoints(lambda: T0, most_bytes=whole.held_bytes // 2)
    storage.reads = 0
    results = [collected(storage, half) for _ in range(2)]
    assert results[0].checkpoints == results[1].checkpoints
    assert storage.reads == 4 + 2
    assert half.held_bytes <= half.most_bytes


def test_two_places_are_never_taken_for_one(tmp_path, shared) -> None:
    """Even where key, size, time and ETag agree."""
    for name in ("one", "two"):
        write(tmp_path / name, new_uuid())
        storage = opened(tmp_path / name, OfOneEtag)
        (root,) = collected(storage, shared).checkpoints
        assert root.folder == canonical(str(tmp_path / name / JOB / "chk-3"))
        assert storage.reads == 1


def test_what_executors_read_elsewhere_is_not_what_was_listed(tmp_path) -> None:
    """With other settings they reach a storage of the same name: its checkpoints name other files.

    A job with a fixed id writes the same keys there, and these are not the files that it needs.
    """
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for root in (here, elsewhere):
        write(root, root.name)

    class Executors(UnlistedEngine):
        def read_apart(self, read, base, objects):
            del base
            storage = LocalStorage(canonical(str(elsewhere)))
            return {each: read(storage, each) for each in objects}

    storage = LocalStorage(canonical(str(here)))
    assert CheckpointReader().collect(storage, Executors()) == CheckpointReader().collect(storage)
