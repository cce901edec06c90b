"""Ways to let something happen in the middle of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.local_storage import LocalStorage
from orphangc.errors import StorageUnreachableError
from orphangc.runs.state import RootState


def during_the_listing(monkeypatch, action: Callable[[], Any]) -> None:
    """Let something happen after a listing has begun and before it is read."""
    listing = LocalStorage.objects

    def objects(self, prefix=""):
        action()
        yield from listing(self, prefix)

    monkeypatch.setattr(LocalStorage, "objects", objects)


def after_the_listing(monkeypatch, action: Callable[[], Any]) -> None:
    """Let something happen between the listing and the second look at the roots."""
    listing = LocalStorage.objects

    def objects(self, prefix=""):
        yield from listing(self, prefix)
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
