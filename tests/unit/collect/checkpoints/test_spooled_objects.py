"""A large object in a temporary file is one object, whatever happens while it is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from bench.checkpoints import new_uuid
from flinkstate import uuid_scan
from flinkstate.metadata import cursor
from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.collect.checkpoints import spooled_objects
from orphangc.collect.checkpoints.spooled_objects import contents_of, spooled
from orphangc.collect.observe import checkpoints
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.errors import StorageUnreachableError
from unit.collect.observe.test_shared_checkpoints import write


class Changing(LocalStorage):
    """Something happens to the object when its second part is read."""

    happening = staticmethod(lambda: None)

    def part(self, key, *, start: int, size: int) -> bytes | None:
        if start:
            self.happening()
        return super().part(key, start=start, size=size)


@pytest.fixture
def stored(tmp_path, monkeypatch) -> tuple[Changing, Path]:
    monkeypatch.setattr(spooled_objects, "_PART", 4)
    folder = tmp_path / "storage"
    folder.mkdir()
    (folder / "x").write_bytes(b"0123456789")
    return Changing(canonical(str(folder))), folder / "x"


def test_one_that_changes_while_it_is_read_is_not_absent(stored) -> None:
    """Half of one ``_metadata`` and half of another may be a whole third one."""
    storage, path = stored

    def replaced() -> None:
        path.with_name("y").write_bytes(b"abcdefghij")
        path.with_name("y").replace(path)

    def at_each(size: Iterator[int]) -> None:
        path.write_bytes(bytes(next(size)))

    for happening in (replaced, partial(at_each, count(7)), partial(at_each, count(30, -1))):
        path.write_bytes(b"0123456789")
        storage.happening = happening
        with pytest.raises(StorageUnreachableError, match="'x' changes while it is read"):
            spooled(storage, "x", max_bytes=99)
    for size, size_then in ((10, 11), (10, 6), (10, 0)):
        path.write_bytes(bytes(size))
        sizes = iter([size_then])
        storage.happening = lambda sizes=sizes: [path.write_bytes(bytes(each)) for each in sizes]
        assert bytes(spooled(storage, "x", max_bytes=99)) == bytes(size_then)
    path.write_bytes(b"0123456789")
    storage.happening = path.unlink
    assert spooled(storage, "x", max_bytes=99) is None
    path.write_bytes(b"0123456789")
    storage.happening = lambda: None
    assert bytes(spooled(storage, "x", max_bytes=99)) == b"0123456789"


@pytest.mark.parametrize("etag", ["e", "", None])
def test_what_no_etag_tells_apart_is_read_at_once(stored, monkeypatch, etag) -> None:
    """A large registry snapshot too: its parts may be of two objects of one size and second."""
    storage, _ = stored
    monkeypatch.setattr(spooled_objects, "LARGE", 9)
    (listed,) = storage.stat(["x"])
    parts: list[str] = []
    storage.happening = lambda: parts.append("x")
    data = contents_of(storage, "x", replace(listed, etag=etag), max_bytes=99)
    assert bytes(data) == b"0123456789"
    assert bool(parts) == bool(etag)


def test_what_finds_no_room_is_no_absent_one(stored, monkeypatch) -> None:
    """A checkpoint that cannot be kept is one that cannot be read."""

    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(StorageUnreachableError, match=r"cannot keep 'x' .*No space left"):
        spooled(stored[0], "x", max_bytes=99)


@pytest.mark.parametrize("window", [16, 2**20])
def test_a_large_checkpoint_says_what_a_small_one_says(tmp_path, monkeypatch, window) -> None:
    """Both oracles, the digest, and the name of a sink's state that two windows share."""
    names = [new_uuid() for _ in range(60)]
    write(tmp_path / "storage", *names, "pending-checkpoints", f"9_{names[0]}")
    storage = LocalStorage(canonical(str(tmp_path / "storage")))
    small = CheckpointReader().collect(storage)
    for module, name in ((checkpoints, "_WINDOW"), (cursor, "_HELD_BYTES"), (uuid_scan, "_WINDOW")):
        monkeypatch.setattr(module, name, window)
    for module in (checkpoints, spooled_objects):
        monkeypatch.setattr(module, "LARGE", 16)
    monkeypatch.setattr(storage, "read", None)
    (found,) = small.checkpoints
    assert found.has_write_ahead_sink
    assert CheckpointReader().collect(storage) == small
