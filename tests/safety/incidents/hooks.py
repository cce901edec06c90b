"""Ways to let something happen in the middle of a run."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.state.store import RootState
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import uuid_of
from orphangc.errors import StorageUnreachableError


def during_the_listing(monkeypatch, action: Callable[[], Any]) -> None:
    """Let something happen after a listing has begun and before it is read."""
    listing = LocalStorage.objects

    def objects(self, prefix=""):
        if not prefix:  # a search of the storage lists what is beside the storage root
            action()
        yield from listing(self, prefix)

    monkeypatch.setattr(LocalStorage, "objects", objects)


def after_the_listing(monkeypatch, action: Callable[[], Any]) -> None:
    """Let something happen between the listing and the second look at the roots."""
    listing = LocalStorage.objects

    def objects(self, prefix=""):
        yield from listing(self, prefix)
        if not prefix:
            action()

    monkeypatch.setattr(LocalStorage, "objects", objects)


def hidden_from_the_listing(monkeypatch, *names: str) -> None:
    """Let a listing miss files, as a truncated page does."""
    listing = LocalStorage.objects

    def objects(self, prefix=""):
        for batch in listing(self, prefix):
            keys = [key.rpartition("/")[2] for key in batch.column("key").to_pylist()]
            yield batch.filter(pc.invert(pc.is_in(pa.array(keys), pa.array(names))))

    monkeypatch.setattr(LocalStorage, "objects", objects)


def folder_hidden(monkeypatch, name: str) -> None:
    """Let no listing show a folder, as a storage does that tells of some things late."""
    folder, listing = LocalStorage.folder, LocalStorage.objects

    def shown(self, prefix=""):
        found = folder(self, prefix)
        return replace(found, folders=tuple(each for each in found.folders if each != name))

    def objects(self, prefix=""):
        for batch in listing(self, prefix):
            parts = [key.split("/") for key in batch.column("key").to_pylist()]
            yield batch.filter(pa.array([name not in each for each in parts], pa.bool_()))

    monkeypatch.setattr(LocalStorage, "folder", shown)
    monkeypatch.setattr(LocalStorage, "objects", objects)


def misreading(monkeypatch, *, parser: Iterable[Path], raw: Iterable[Path]) -> None:
    """Let the parser miss names of files, and the search of raw bytes some of them."""
    decode = CheckpointReader.decoded
    unparsed, unseen = ({path.name for path in paths} for paths in (parser, raw))

    def decoded(self, data, base, folder, listed):  # noqa: PLR0917 - as what it stands for
        root = decode(self, data, base, folder, listed)
        files = {
            place: FileNames(name for name in names if name not in unparsed)
            for place, names in root.files.items()
        }
        named = {uuid_of(name) for names in root.files.values() for name in names} - {None}
        hidden = {uuid_of(name) for name in unseen}
        return replace(root, files=files, raw=UuidSet({*root.raw, *named} - hidden))

    monkeypatch.setattr(CheckpointReader, "decoded", decoded)


def failing(monkeypatch, method: str, number: int) -> list[int]:
    """Let the n-th call of a storage's method fail; return the running count."""
    original = getattr(LocalStorage, method)
    count = [0]

    def call(self, *args, **kwargs):
        count[0] += 1
        if count[0] == number:
            raise StorageUnreachableError(f"cannot {method}: connection reset")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(LocalStorage, method, call)
    return count


def after_the_cycle(monkeypatch, action: Callable[[], Any]) -> None:
    """Let something happen when a sweep has decided, and not yet begun to act."""
    start_run = RootState.start_run

    def started(self, *args):
        action()
        return start_run(self, *args)

    monkeypatch.setattr(RootState, "start_run", started)
