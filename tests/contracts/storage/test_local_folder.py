"""What only a local folder has: links, odd names, permissions, folders that vanish."""

import os
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.places import facts, listed, rows
from orphangc.adapters.files.translate import BatchBuilder
from orphangc.errors import StorageUnreachableError
from orphangc.ports import DeletionStatus


@pytest.fixture
def outside(tmp_path) -> Path:
    """A folder beside the root, with something to lose."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "x").write_bytes(b"precious")
    return folder


def test_a_linked_folder_is_one_row_and_is_not_entered(local_place, outside):
    """A link is no way out of the root, and a loop of links has no end."""
    local_place.put("a/x")
    (local_place.folder / "a/out").symlink_to(outside)
    (local_place.folder / "a/loop").symlink_to(local_place.folder)
    storage = local_place.open()
    assert sorted(row["key"] for row in rows(storage)) == ["a/", "a/loop", "a/out", "a/x"]
    assert storage.folder("a").folders == ()


def test_what_is_no_regular_file_has_no_store_time(local_place, outside):
    """So it is too young for ever: a link, a dangling one, a pipe."""
    (local_place.folder / "link").symlink_to(outside / "x")
    (local_place.folder / "dangling").symlink_to("nowhere")
    os.mkfifo(local_place.folder / "pipe")
    storage = local_place.open()
    assert {row["key"]: row["modified_at"] for row in rows(storage)} == dict.fromkeys(
        ["link", "dangling", "pipe"]
    )
    assert [found.modified_at for found in storage.stat(["link", "pipe"])] == [None, None]


def test_a_link_is_never_deleted(local_place, outside):
    """Neither the link nor what it points to, even if the facts are made to fit."""
    local_place.put("file")
    (local_place.folder / "link").symlink_to(outside / "x")
    storage = local_place.open()
    (link,) = storage.stat(["link"])
    file = facts(storage, "file")
    for wanted in (link, replace(file, key="link"), replace(link, modified_at=file.modified_at)):
        assert storage.delete([wanted])[0].status is DeletionStatus.CHANGED
    assert (local_place.folder / "link").read_bytes() == b"precious"


def test_nothing_is_deleted_or_read_through_a_linked_folder(local_place, outside):
    """A folder that became a link after the listing leads to foreign files."""
    local_place.put("a/x", b"precious")
    storage = local_place.open()
    wanted = facts(storage, "a/x")
    local_place.remove("a/x")
    (local_place.folder / "a").rmdir()
    (local_place.folder / "a").symlink_to(outside)
    stamp = int(wanted.modified_at.timestamp() * 1e6) * 1000
    os.utime(outside / "x", ns=(stamp, stamp))
    (result,) = storage.delete([replace(wanted, etag=None)])
    assert (result.status, result.error) == (DeletionStatus.FAILED, "symbolic link")
    assert (outside / "x").exists()
    with pytest.raises(StorageUnreachableError, match="symbolic link"):
        storage.read("a/x", max_bytes=99)
    with pytest.raises(StorageUnreachableError, match="symbolic link"):
        storage.stat(["a/x"])
    with pytest.raises(StorageUnreachableError, match="symbolic link"):
        rows(storage, "a")


def test_a_link_that_is_not_read_says_what_to_do(local_place, outside):
    """Of a file: else the system speaks of too many levels of links."""
    (local_place.folder / "_metadata").symlink_to(outside / "x")
    with pytest.raises(StorageUnreachableError, match="name what it leads to: _metadata"):
        local_place.open().read("_metadata", max_bytes=99)


def test_the_root_itself_may_be_a_link(local_place, tmp_path):
    """The operator named it."""
    local_place.put("a/x")
    (tmp_path / "alias").symlink_to(local_place.folder)
    storage = local_place.open(str(tmp_path / "alias"))
    assert listed(storage) == ["a/x"]
    assert storage.delete([facts(storage, "a/x")])[0].status is DeletionStatus.DELETED


def test_another_folder_in_the_place_of_the_root_is_an_error(local_place):
    """An unmounted disk leaves an empty folder behind: that is no empty storage."""
    local_place.put("x")
    storage = local_place.open()
    local_place.folder.rename(local_place.folder.with_name("unmounted"))
    local_place.folder.mkdir()
    with pytest.raises(StorageUnreachableError, match="another folder"):
        rows(storage)
    with pytest.raises(StorageUnreachableError, match="another folder"):
        storage.stat(["x"])


def test_names_that_are_no_utf_8_are_shown_escaped_and_never_deleted(local_place, tmp_path):
    """They fit in a parquet file, and the escape leads to no file, not even one called so."""
    for name in (b"odd\xff", b"sub\xfe/x"):
        local_place.put(os.fsdecode(name))
    storage = local_place.open()
    batches = list(storage.objects())
    pq.write_table(pa.Table.from_batches(batches), tmp_path / "listing.parquet")
    found = listed(storage)
    assert found == ["odd\\xff", "sub\\xfe/x"]
    assert storage.folder().folders == ("sub\\xfe",)
    local_place.put(r"odd\xff")
    wanted = replace(facts(storage, "odd\\xff"))
    assert storage.delete([wanted])[0].status is DeletionStatus.FAILED
    assert len(local_place.keys()) == 3
    with pytest.raises(StorageUnreachableError, match="escaped"):
        storage.read("sub\\xfe/x", max_bytes=9)


@pytest.mark.parametrize("names", [(b"a\xff", rb"a\xff"), (b"\xfe\\xff", b"\\xfe\xff")])
@pytest.mark.parametrize("below", ["", "f/"])
def test_two_names_that_would_be_shown_as_one_are_an_error(local_place, names, below):
    """What is asked for by such a key is one of them, and the other would be overlooked."""
    for name in names:
        local_place.put(f"{below}{os.fsdecode(name)}/_metadata")
    storage = local_place.open()
    with pytest.raises(StorageUnreachableError, match="rename that one"):
        rows(storage)
    with pytest.raises(StorageUnreachableError, match="rename that one"):
        storage.folder(below[:-1])


class UnfoundEntry:
    """An entry of a folder that is listed, and cannot be found."""

    def __init__(self, entry: os.DirEntry, *, has_type: bool) -> None:
        self.name = entry.name
        self.is_dir, self.is_file = (
            each if has_type else lambda **_: False for each in (entry.is_dir, entry.is_file)
        )

    def stat(self, **_: object) -> None:
        raise FileNotFoundError(self.name)


@pytest.mark.parametrize("key", ["a/b?/_metadata", "a/b?_metadata"])
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("has_type", [True, False])
def test_what_is_listed_and_cannot_be_found_is_an_error(
    local_place, monkeypatch, key, *, is_there, has_type
):
    """A mount shows by another name what its character set lacks; what Flink deletes is gone.

    Without types, as a large folder of NFS is listed, no entry that cannot be found is a folder.
    """
    local_place.put(key)
    local_place.put("a/x")
    storage, name = local_place.open(), key.split("/")[1]
    scan = os.scandir

    def unless_it_is(call: Callable) -> Callable:
        def find(path, *args, **options):
            if path == name:
                raise FileNotFoundError(path)
            return call(path, *args, **options)

        return find

    @contextmanager
    def scandir(handle):
        with scan(handle) as entries:
            found = [
                UnfoundEntry(each, has_type=has_type) if each.name == name else each
                for each in entries
            ]
        if not is_there and any(each.name == name for each in found):
            path = local_place.folder / "a" / name
            path.unlink() if path.is_file() else shutil.rmtree(path)
        yield iter(found)

    for each in ("open", "stat"):
        monkeypatch.setattr(os, each, unless_it_is(getattr(os, each)))
    monkeypatch.setattr(os, "scandir", scandir)
    if is_there:
        with pytest.raises(StorageUnreachableError, match="is listed and cannot be found"):
            rows(storage)
        with pytest.raises(StorageUnreachableError, match="is listed and cannot be found"):
            storage.folder(f"a/{name}" if has_type and not name.endswith("_metadata") else "a")
    else:
        assert listed(storage) == ["a/x"]
        assert [each.key for each in storage.folder("a").objects] == ["a/x"]


def test_a_folder_that_may_not_be_read_is_an_error(local_place, monkeypatch):
    """What we may not see may hold a checkpoint; a superuser may see all, hence the injection."""
    local_place.put("a/secret/x")
    storage = local_place.open()
    real = os.open

    def refuse(path, *args, **options):
        if path == "secret":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorageUnreachableError, match="Permission denied"):
        rows(storage)


def test_a_folder_that_vanishes_during_the_walk_is_passed_over(local_place, monkeypatch):
    """Flink deletes chk-N during the listing; all other files are still listed."""
    local_place.put("chk-1/x")
    local_place.put("chk-2/x")
    monkeypatch.setattr(BatchBuilder, "ROWS", 1)
    listing = local_place.open().objects()
    seen = [row["key"] for row in next(listing).to_pylist()]
    other = "chk-1" if any(key.startswith("chk-2") for key in seen) else "chk-2"
    local_place.remove(f"{other}/x")
    (local_place.folder / other).rmdir()
    seen += [row["key"] for batch in listing for row in batch.to_pylist()]
    assert not any(key.startswith(other) for key in seen)


def test_a_root_that_is_a_file_is_an_error(local_place):
    """As is one that is absent."""
    local_place.put("x")
    with pytest.raises(StorageUnreachableError, match="not a folder"):
        local_place.open(f"{local_place.uri}/x")


def test_a_replaced_file_of_the_same_size_and_time_is_kept(local_place):
    """Their inodes differ."""
    local_place.put("x", b"one")
    storage = local_place.open()
    wanted = facts(storage, "x")
    stamp = (local_place.folder / "x").stat().st_mtime_ns
    local_place.put("y", b"two")
    (local_place.folder / "y").rename(local_place.folder / "x")
    os.utime(local_place.folder / "x", ns=(stamp, stamp))
    assert storage.delete([wanted])[0].status is DeletionStatus.CHANGED
    assert local_place.get("x") == b"two"


def test_batches_are_small_enough_to_stream(local_place, monkeypatch):
    """Memory does not grow with the folder."""
    monkeypatch.setattr(BatchBuilder, "ROWS", 10)
    local_place.put_all(f"{number:03}" for number in range(25))
    assert [batch.num_rows for batch in local_place.open().objects()] == [10, 10, 5]
