"""Deleting by several processes: each share once, all of it told, one pace, one end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from orphangc.adapters.rows.temporary_rows import ArrowTemporarySpace
from orphangc.collect.delete import distributed
from orphangc.collect.delete.distributed import DistributedDeletion, PartitionDone, PartitionWork
from orphangc.collect.state.lock import Holder
from orphangc.collect.state.store import RootState
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import OrphanGcError, RefusedError, StorageUnreachableError
from orphangc.ports import DeletionStatus
from support.builders import BASE
from unit.collect.delete.deleting import STORED_AT, BadStorage, Looks, due_rows, good, keys_of
from unit.collect.state.places import SteppedFiles

HOLDER = Holder(token="t", host="h", pid=1, started="now")


@dataclass
class ThreadPool:
    """Shares carried out in threads.

    Attributes:
        times: How often each share is handed out, by number; once if it is not there.
        lost: Shares whose answer never comes.
        failure: What the scheduler itself ends with.

    """

    scratch: ArrowTemporarySpace
    slots: int = 3
    times: dict[int, int] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    failure: OrphanGcError | None = None

    def run_partitions(self, work: PartitionWork, piles) -> list[PartitionDone]:
        """See ``WorkerPool``."""
        jobs = [(n, p) for n, p in enumerate(piles) for _ in range(self.times.get(n, 1))]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda job: work(*job), jobs))
        if self.failure is not None:
            raise self.failure
        return [each for each in found if each is not None and each.number not in self.lost]


@dataclass
class Scene:
    """A deletion by a worker pool."""

    storage: BadStorage
    pool: ThreadPool
    rate: float = 1e9
    before: Callable[[int], None] = lambda _: None
    recorded: list[dict] = field(default_factory=list)
    named: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.state = RootState(SteppedFiles(), BASE)

    def delete(self, keys: list[str]) -> OrphanGcError | None:
        """Delete; return why it ended early."""
        work = PartitionWork(
            open_environment=lambda: SimpleNamespace(storage=self.storage),
            open_state=lambda: self.state,
            settings=StorageRootSettings(root="/root"),
            preconditions=(),
            lock=("folder", "name", HOLDER),
            run_id="run",
            at=STORED_AT,
            rate=self.rate / self.pool.slots,
            scratch=self.pool.scratch,
        )
        deletion = DistributedDeletion(
            pool=self.pool, work=work, storage=self.storage, state=self.state
        )
        parts = (keys[start : start + 130] for start in range(0, len(keys), 130))
        with pytest.MonkeyPatch.context() as patch:
            looks = Looks(self.state, named=self.named, before=self.before)
            patch.setattr(PartitionWork, "revalidation", lambda *_: looks)
            return deletion.delete(
                map(due_rows, parts),
                lambda rows: self.recorded.extend(rows.to_pylist()),
                total=len(keys),
            )

    @property
    def outcomes(self) -> dict[str, str]:
        """Return the outcome of each key; each was recorded once."""
        keys = [row["key"] for row in self.recorded]
        assert len(keys) == len(set(keys))
        return {row["key"]: row["outcome"] for row in self.recorded}


@pytest.fixture
def pool(tmp_path, monkeypatch) -> ThreadPool:
    """Threads that take each other for processes, and are asked often whether they stop."""
    monkeypatch.setattr(distributed, "_CHECK_SECONDS", 0.05)
    return ThreadPool(ArrowTemporarySpace(tmp_path))


def test_all_partitions_together_are_what_was_due(pool) -> None:
    """However the batches come, each object is in one partition, and is recorded once."""
    keys = keys_of(1000)
    scene = Scene(BadStorage.of(keys), pool)
    assert scene.delete(keys) is None
    assert scene.outcomes == dict.fromkeys(keys, "done")
    names = scene.state.journal_names("run")
    assert {name.split("-")[1] for name in names} == {"0000", "0001", "0002"}
    assert scene.state.files.names(f"{scene.state.folder}/shares") == []


def test_a_lost_partition_of_which_something_live_is_gone_halts_as_a_batch_does(
    pool, monkeypatch
) -> None:
    """R22: one rule, so that the condition is named here too: it says how to lift the halt."""
    monkeypatch.setattr(distributed, "_FINAL_CHECKS", 0)
    keys = keys_of(30)
    scene = Scene(BadStorage.of(keys), pool)
    pool.lost, pool.slots = frozenset({0}), 1

    def name(check: int) -> None:
        if check > 2:
            scene.named.add(keys[0])

    scene.before = name
    stopped_by = scene.delete(keys)
    assert isinstance(stopped_by, RefusedError)
    assert stopped_by.guard is Condition.HALTED
    assert keys[0] in (scene.state.halted() or "")


def test_nothing_due_deletes_nothing(pool) -> None:
    """A worker pool may take minutes to answer."""
    scene = Scene(BadStorage.of([]), pool)
    assert scene.delete([]) is None
    assert scene.recorded == []


def test_a_partition_that_is_handed_out_twice_is_carried_out_once(pool) -> None:
    """Schedulers run slow tasks a second time, and both would ask at the full rate."""
    keys = keys_of(300)
    pool.times = {0: 3, 1: 2}
    scene = Scene(BadStorage.of(keys), pool)
    assert scene.delete(keys) is None
    asked = [key for request in scene.storage.requests for key in request]
    assert sorted(asked) == keys
    assert scene.outcomes == dict.fromkeys(keys, "done")


def test_what_became_of_a_lost_partition_is_looked_up(pool) -> None:
    """Its process may have deleted all of it, or nothing: the storage knows."""
    keys = keys_of(300)
    pool.lost = frozenset({1})
    kept = set(keys[100:200:2])

    def behave(_, objects):
        return [
            DeletionStatus.FAILED if each.key in kept else DeletionStatus.DELETED
            for each in objects
        ]

    scene = Scene(BadStorage.of(keys, behave), pool)
    stopped_by = scene.delete(keys)
    assert isinstance(stopped_by, StorageUnreachableError)
    assert scene.outcomes == {key: "failed" if key in kept else "done" for key in keys}
    errors = {row["error"] for row in scene.recorded if row["key"] in kept}
    assert errors == {"the process that was to delete it was lost"}


def test_a_scheduler_that_fails_leaves_nothing_unrecorded(pool) -> None:
    """All the shares are lost then, though their processes may have done all of the work."""
    keys = keys_of(300)
    pool.failure = OrphanGcError("cannot finish on Spark: the cluster is gone")
    scene = Scene(BadStorage.of(keys), pool)
    assert isinstance(scene.delete(keys), OrphanGcError)
    assert scene.outcomes == dict.fromkeys(keys, "done")


def test_a_partition_whose_evidence_is_gone_ends_the_sweep(pool) -> None:
    """The others see it too, for each looks for itself."""
    keys = keys_of(300)

    def refuse(check: int) -> None:
        if check > 2:
            raise RefusedError("job was started again during the sweep; stopped")

    scene = Scene(BadStorage.of(keys), pool, before=refuse)
    assert isinstance(scene.delete(keys), RefusedError)
    assert set(scene.outcomes) == set(keys)
    assert set(scene.outcomes.values()) <= {"done", "planned"}
    assert "planned" in scene.outcomes.values()


def test_all_processes_together_keep_to_the_rate(pool) -> None:
    """The quota is the bucket's: each process gets an equal part of it."""
    keys = keys_of(900)
    scene = Scene(BadStorage.of(keys), pool, rate=600)
    start = time.monotonic()
    assert scene.delete(keys) is None
    assert time.monotonic() - start > 0.4  # what is sent first is not waited for
    assert set(scene.outcomes.values()) == {"done"}


def test_a_signal_lets_what_is_under_way_end(pool) -> None:
    """No process begins anything more, everything is recorded, and only then is it raised."""
    keys = keys_of(3000)
    sent = threading.Event()

    def interrupted(number, objects):
        if not sent.is_set():
            sent.set()
            os.kill(os.getpid(), signal.SIGTERM)
        return good(number, objects)

    def interrupt(*_: object) -> None:
        raise SystemExit(143)

    scene = Scene(BadStorage.of(keys, interrupted), pool, rate=300)  # ten seconds, undisturbed
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(SystemExit):
            scene.delete(keys)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert set(scene.outcomes) == set(keys)
    done = {key for key, outcome in scene.outcomes.items() if outcome == "done"}
    assert done == set(scene.storage.deleted)
    assert len(done) < len(keys)
