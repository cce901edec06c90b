"""Live set and tombstones in the memory of an executor: once, and one slice at a time."""

from __future__ import annotations

import os
import tracemalloc
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from structlog.testing import capture_logs

from flinkstate.places.locations import canonical
from orphangc.adapters.spark import passes
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder, remove_left_behind
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import WholeMarking
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import TEMPORARY
from support.builders import a_tombstone
from support.tombstone_tables import each_of, laid_as

NAMES = 400_000


def a_marking(names: int) -> WholeMarking:
    """Return live files by the first of two oracles, one by the second, and a tombstone."""
    words = np.arange(2 * names, dtype=np.uint64) << np.uint64(32)
    parsed = UuidSet()
    parsed.extend(words[:names], words[names:])
    live = LiveSet(parsed, UuidSet([uuid.UUID(int=7).bytes]))
    return WholeMarking(live, laid_as([a_tombstone()]))


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
    assert each_of(found.tombstones) == each_of(marking.tombstones)
    assert peak < 1.5 * 16 * NAMES  # with an index into them
    assert all(each.flags.aligned for each in found.live.parsed.columns())


@dataclass
class Reading:
    """A work folder that shows what is held while it reads."""

    held: list[int] = field(default_factory=list)

    def read_packed(self, file: ExchangeFile) -> str:
        self.held.append(len(passes._marking_here))
        return file.name


def test_the_slice_before_is_gone_when_the_next_is_read(monkeypatch) -> None:
    """Two would take twice the memory that the operator allows."""
    monkeypatch.setattr(passes, "_marking_here", {})
    folder, files = Reading(), [ExchangeFile(name, "") for name in "ab"]
    assert [passes._marking_of(folder, files[at]) for at in (0, 0, 1, 0)] == ["a", "a", "b", "a"]
    assert folder.held == [0, 0, 0]


def a_run(work: Path, name: str, *, days_ago: float) -> Path:
    """Return the folder that a run left, or uses, below a work folder."""
    folder = work / name
    run = WorkFolder(canonical(str(folder)))
    run.write("listed", b"rows")
    run.report_done(uuid.uuid4().hex, 1, 7)
    (folder / "listed" / f"{TEMPORARY}{uuid.uuid4()}").write_bytes(b"killed while it wrote")
    for each in folder.rglob("*"):
        at = each.stat().st_mtime - days_ago * 86_400
        os.utime(each, (at, at))
    return folder


def test_what_a_driver_that_died_left_is_removed_by_a_later_run_and_named(tmp_path) -> None:
    """After a day without a change; what is not wholly ours, or may be in use, stays."""
    a, b, c, d = (f"orphangc-{uuid.uuid4().hex}" for _ in range(4))
    old = a_run(tmp_path, a, days_ago=1.01)
    verdicts = a_run(tmp_path, f"orphangc-verdicts-{uuid.uuid4().hex}", days_ago=30)
    kept = [a_run(tmp_path, b, days_ago=0.99), a_run(tmp_path, "orphangc-state", days_ago=30)]
    foreign = a_run(tmp_path, c, days_ago=30)
    (foreign / "listed" / "mine.txt").write_text("a person's")
    os.utime(foreign / "listed" / "mine.txt", (1e9, 1e9))
    mixed = a_run(tmp_path, d, days_ago=30)
    WorkFolder(canonical(str(mixed))).write("values", b"of a task that still runs")
    mine = WorkFolder(canonical(str(tmp_path / f"orphangc-{uuid.uuid4().hex}")))
    with capture_logs() as logs:
        remove_left_behind(mine)
    assert not old.exists()
    assert not verdicts.exists()
    for each in (*kept, foreign, mixed):
        assert len([path for path in each.rglob("*") if path.is_file()]) >= 2
    named = {(each["event"], each["folder"]) for each in logs}
    assert named == {("work_folder.removed", str(each)) for each in (old, verdicts)}


def test_leftovers_that_cannot_be_seen_stop_no_run(tmp_path) -> None:
    """They cost a few cents."""
    mine = WorkFolder(canonical(str(tmp_path / "work" / f"orphangc-{uuid.uuid4().hex}")))
    (tmp_path / "work").write_text("a file, where a folder is meant")
    remove_left_behind(mine)
