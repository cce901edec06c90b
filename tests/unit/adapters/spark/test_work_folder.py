"""Live set and tombstones in the memory of an executor: once, and one slice at a time."""

from __future__ import annotations

import tracemalloc
import uuid
from dataclasses import dataclass, field

import numpy as np

from flinkstate.places.locations import canonical
from orphangc.adapters.spark import passes
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import WholeMarking
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from support.builders import a_tombstone

NAMES = 400_000


def a_marking(names: int) -> WholeMarking:
    """Return live files by the first of two oracles, one by the second, and a tombstone."""
    words = np.arange(2 * names, dtype=np.uint64) << np.uint64(32)
    parsed = UuidSet()
    parsed.extend(words[:names], words[names:])
    live = LiveSet(parsed, UuidSet([uuid.UUID(int=7).bytes]))
    return WholeMarking(live, Tombstones.of([a_tombstone()]))


def test_a_live_set_is_read_without_a_copy(tmp_path) -> None:
    """Its arrays are parts of the bytes that were read, where no look-up has to copy them."""
    folder = WorkFolder(canonical(str(tmp_path / "work")))
    marking = a_marking(NAMES)
    file = folder.write_packed(marking)
    folder.read_packed(file)  # loads modules
    tracemalloc.start()
    found = folder.read_packed(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.live.parsed, found.live.raw) == (marking.live.parsed, marking.live.raw)
    assert list(found.tombstones) == list(marking.tombstones)
    assert peak < 1.5 * 16 * NAMES  # with an index into them
    assert all(each.flags.aligned for each in found.live.parsed.columns())


@dataclass
class Reading:
    """A work folder that shows what is held while it reads."""

    held: list[int] = field(default_factory=list)

    def read_packed(self, file: ExchangeFile) -> str:
        """Return a value."""
        self.held.append(len(passes._slice_here))
        return file.name


def test_the_slice_before_is_gone_when_the_next_is_read(monkeypatch) -> None:
    """Two would take twice the memory that the operator allows."""
    monkeypatch.setattr(passes, "_slice_here", {})
    folder, files = Reading(), [ExchangeFile(name, "") for name in "ab"]
    assert [passes._slice(folder, files[at]) for at in (0, 0, 1, 0)] == ["a", "a", "b", "a"]
    assert folder.held == [0, 0, 0]
