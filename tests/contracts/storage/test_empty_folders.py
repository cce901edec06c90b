"""Local folders that hold nothing: found inner ones first, and removed only while they do (R53)."""

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.open import open_storage
from orphangc.ports import DeletionStatus


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(canonical(str(tmp_path)))


def made(root: Path, *keys: str) -> None:
    for key in keys:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if "." in path.name else path.mkdir(exist_ok=True)


def anything(_: str) -> bool:
    return True


def test_only_a_storage_with_real_folders_has_empty_ones(storage) -> None:
    """Of an object store there is nothing to remove."""
    assert storage.has_folders
    bucket = open_storage("s3://bucket/cp")
    assert not bucket.has_folders
    assert bucket.empty_folders(["j/a"], anything) == []
    assert bucket.remove_empty("j/a").status is DeletionStatus.FAILED


def test_inner_ones_come_first_and_a_file_keeps_what_is_above_it(storage, tmp_path) -> None:
    """What is beside the file is found all the same, before and after it."""
    made(tmp_path, "j/a/b/c", "j/f/x.", "j/f/1", "j/f/9/8", "j/g", "other")
    assert sorted(storage.empty_folders(["j/a", "j/f", "j/g"], anything)) == sorted(
        ["j/a/b/c", "j/a/b", "j/a", "j/f/1", "j/f/9/8", "j/f/9", "j/g"]
    )
    assert storage.empty_folders(["j/a"], anything) == ["j/a/b/c", "j/a/b", "j/a"]


def test_what_may_not_go_is_not_looked_into_and_keeps_what_is_above_it(storage, tmp_path) -> None:
    """A folder that a person made keeps the one that it is in."""
    made(tmp_path, "j/a/mine", "j/a/b")
    assert storage.empty_folders(["j/a"], lambda key: not key.endswith("mine")) == ["j/a/b"]
    assert storage.empty_folders(["j/a"], lambda _: False) == []


def test_links_and_names_that_no_key_can_spell_are_no_empty_folders(storage, tmp_path) -> None:
    """A link to an empty folder is an entry like a file."""
    made(tmp_path, "j/a", "elsewhere", "j/b/c\\d")
    (tmp_path / "j" / "a" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "j" / os.fsdecode(b"k\xff")).mkdir()
    assert storage.empty_folders(["j"], anything) == []


def test_an_absent_folder_is_none(storage) -> None:
    """Flink removed it meanwhile."""
    assert storage.empty_folders(["j/a"], anything) == []
    assert storage.remove_empty("j/a").status is DeletionStatus.GONE


def test_only_what_holds_nothing_is_removed(storage, tmp_path) -> None:
    """Whatever came in since it was found."""
    made(tmp_path, "j/a", "j/b/file.", "j/c/inner", "j/d.")
    (tmp_path / "j" / "link").symlink_to(tmp_path / "j" / "a")
    statuses = [storage.remove_empty(f"j/{each}").status for each in ("link", "b", "c", "d.", "a")]
    assert statuses == [*[DeletionStatus.CHANGED] * 4, DeletionStatus.DELETED]
    assert sorted(each.name for each in (tmp_path / "j").iterdir()) == ["b", "c", "d.", "link"]


@pytest.mark.parametrize("key", ["", "..", "j/../k", "/j", "j//a"])
def test_what_is_no_key_removes_nothing(storage, tmp_path, key: str) -> None:
    made(tmp_path, "j/a", "k")
    assert storage.remove_empty(key).status is DeletionStatus.FAILED
    assert (tmp_path / "j" / "a").is_dir()
    assert (tmp_path / "k").is_dir()


def test_a_folder_behind_a_link_is_not_removed(storage, tmp_path) -> None:
    """Links are never followed."""
    made(tmp_path, "j/a", "k")
    (tmp_path / "j" / "link").symlink_to(tmp_path / "k")
    made(tmp_path, "k/empty")
    assert storage.remove_empty("j/link/empty").status is not DeletionStatus.DELETED
    assert (tmp_path / "k" / "empty").is_dir()


def test_a_writer_at_the_same_time_loses_no_file(storage, tmp_path) -> None:
    """As Flink writes: the folders above a file first, then the file, and once more if that fails.

    Source: Flink 1.15-2.3, ``LocalFileSystem.create``.
    """
    keys = [f"j/chk-{number}" for number in range(200)]

    def write() -> None:
        for key in keys:
            path = tmp_path / key / "file.state"
            while not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                os.sched_yield()
                with suppress(FileNotFoundError):
                    path.write_bytes(b"state")

    writer = Thread(target=write)
    writer.start()
    while writer.is_alive():
        for key in storage.empty_folders(keys, anything):
            storage.remove_empty(key)
    writer.join()
    assert all((tmp_path / key / "file.state").read_bytes() == b"state" for key in keys)
