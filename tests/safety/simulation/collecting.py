"""A collector over ports in memory: the real runs, the real local engine, one thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

import pyarrow as pa
import pytest

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.rows.earlier_storage import planned_storage
from orphangc.app.runner.lineages import remembered
from orphangc.app.wiring.compose import CycleStart
from orphangc.collect.cycle import Cycle, run_cycle
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.observation import Environment
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.state.lock import Holder, Lock, acquire
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.plan_intersection import check_plan
from orphangc.collect.sweep.restore_deleted import undelete
from orphangc.collect.sweep.sweep import Sweep
from orphangc.collect.world.recalling import NOTHING_RECALLED, recalled, recalled_for
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.documents.plan import Plan
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId
from orphangc.errors import RegistryUnavailableError
from safety.simulation.cloud import Storage
from safety.simulation.faults import Fault, Process
from safety.simulation.flinks import Flinks
from safety.simulation.simulated_exporters import Exports, Metadata, Written
from support.builders import T0
from unit.collect.listing.ordered_storage import MemorySpool

_CACHE_SECONDS = 3.0


class OneThread:
    """An executor that does everything at once: which call is the n-th must not be chance."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    def submit(self, work: Any, *args: object) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args))
        except BaseException as err:  # noqa: BLE001 - raised where it is asked for
            done.set_exception(err)
        return done

    def map(self, work: Any, *items: Sequence[Any]) -> Iterator[Any]:
        done = [self.submit(work, *each) for each in zip(*items, strict=False)]
        return (each.result() for each in done)


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Let the runs use one thread, and never pause."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("observe.checkpoints", "revalidate.revalidation", "runs.journal"):
            patch.setattr(f"orphangc.collect.{module}.ThreadPoolExecutor", OneThread)
        for name in ("_FIRST_PAUSE", "_LONGEST_PAUSE"):
            patch.setattr(f"orphangc.core.model.rate.{name}", 0.0)
        yield


@dataclass
class Files:
    """A state location: what one process asks of the files that all share."""

    process: Process  # whose port it is
    site: Site  # holds the files
    location: Location = field(default_factory=lambda: Location("s3", "state", "/"))

    @property
    def found(self) -> dict[str, tuple[bytes, datetime]]:
        return self.site.state

    def names(self, folder: str) -> list[str]:
        def told() -> list[str]:
            parts = (name.rpartition("/") for name in self.found)
            return sorted(name for above, _, name in parts if above == folder)

        return self.process.call("state.names", told)

    def read(self, name: str) -> bytes | None:
        return self.process.call("state.read", lambda: self.found.get(name, (None,))[0])

    def write(self, name: str, data: bytes) -> None:
        def written() -> None:
            self.found[name] = (data, self.site.flinks.cloud.now)
            if "/open/" in name and self.site.when_opened is not None:
                self.site.when_opened()
                self.site.when_opened = None

        self.process.call("state.write", written)

    def create(self, name: str, data: bytes) -> bool:
        def created() -> bool:
            return self.found.setdefault(name, (data, self.site.flinks.cloud.now))[0] is data

        return self.process.call("state.create", created)

    def remove(self, name: str) -> None:
        self.process.call("state.remove", lambda: self.found.pop(name, None) and None)

    def modified_at(self, name: str) -> datetime | None:
        return self.process.call("state.time", lambda: self.found.get(name, (b"", None))[1])


@dataclass
class Cluster:
    """Flink's REST API, with its cache."""

    process: Process
    flinks: Flinks
    cached: dict[str, tuple[datetime, ClusterFacts]]
    uri: str = "http://flink"

    def observe(self) -> ClusterFacts:
        def told() -> ClusterFacts:
            facts = ClusterFacts(
                uri=self.uri,
                flink_version="1.20.5",
                jobs={job.id: job.facts() for job in self.flinks.jobs if job.is_listed},
                cache_seconds=_CACHE_SECONDS,
            )
            self.cached["now"] = self.flinks.cloud.now, facts
            return facts

        def old() -> ClusterFacts:
            at, known = self.cached.get("now", (None, None))
            if known is None or (self.flinks.cloud.now - at).total_seconds() >= _CACHE_SECONDS:
                return told()
            return known

        error = RegistryUnavailableError
        return self.process.call("rest", told, {Fault.STALE: old}, error=error)


@dataclass
class Rows:
    """Verdicts, outcomes, or rows put aside: all in memory."""

    kept: list[pa.RecordBatch] = field(default_factory=list)

    def write(self, batch: pa.RecordBatch) -> None:
        self.kept.append(batch)

    append = write

    def close(self) -> None:
        pass

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.kept


class Memory:
    """Room in memory."""

    def rows(self, schema: pa.Schema) -> Rows:
        del schema
        return Rows()


@dataclass(frozen=True)
class Saved:
    plan: Plan
    rows: list[pa.RecordBatch]


@dataclass
class Site:
    """What all collectors of one storage root share."""

    flinks: Flinks  # who writes there
    settings: StorageRootSettings  # what the operator says
    is_ordered: bool = True  # how the storage lists
    # files of the state location
    state: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)  # tokens of processes that are known to be no more
    cached: dict[str, tuple[datetime, ClusterFacts]] = field(default_factory=dict)  # REST's last
    runs: list[list[pa.RecordBatch]] = field(default_factory=list)  # what became of what, by run
    is_cut: bool = False  # only the first page of a folder ever comes
    is_exporting: bool = False  # every JobManager exports its registry
    has_ha: bool = False  # HA metadata is asked for
    exported: dict[JobId, Written] = field(default_factory=dict)  # what exporters wrote
    # called once when a sweep has decided, and not yet begun to act
    when_opened: Callable[[], None] | None = None

    def journal_names(self, key: str) -> bool:
        told = f'"key": {json.dumps(key)}'.encode()
        return any(
            told in data
            for name, (data, _) in self.state.items()
            if "/batch-" in name and not name.endswith("-done.jsonl")
        )

    def holder(self) -> str:
        locks = sorted(name for name in self.state if "/lock/" in name and name.endswith(".json"))
        return str(json.loads(self.state[locks[-1]][0]).get("token", "")) if locks else ""


class Collector:
    """One process of a collector."""

    def __init__(self, site: Site, process: Process, on_delete: Any) -> None:
        self.site, self.process = site, process
        self.files = Files(process, site)
        self._on_delete = on_delete

    def _storage(self, place: Location) -> Storage:
        return Storage(
            place,
            self.site.flinks.cloud,
            self.process,
            self._on_delete,
            is_ordered=self.site.is_ordered,
            is_cut=self.site.is_cut,
        )

    @property
    def root_state(self) -> RootState:
        return RootState(self.files, canonical(self.site.settings.root))

    def _environment(self) -> Environment:
        settings = self.site.settings
        root = canonical(settings.root)

        def wait(seconds: float) -> None:
            def waited() -> None:
                for _ in range(int(seconds)):
                    self.process.passes()

            self.process.call("wait", waited)

        return Environment(
            settings=settings,
            reader=CheckpointReader.of(settings),
            storage=self._storage(root),
            extra=[self._storage(canonical(uri)) for uri in settings.extra_roots],
            clusters=[Cluster(self.process, self.site.flinks, self.site.cached)],
            snapshots=tuple,
            open_storage=self._storage,
            engine=LocalEngine(MemorySpool(), root.name, streams=1),
            wait=wait,
            progress=lambda *_: None,
            exporters=self._exports,
            ha=[Metadata(self.process, self.site.flinks)] if self.site.has_ha else (),
        )

    def _exports(self) -> list[Exports]:
        if not self.site.is_exporting:
            return []
        return [Exports(self.process, self.site.flinks, self.site.exported)]

    def plan(self) -> Saved:
        with in_one_thread():
            return self._cycle()[0]

    def _cycle(self, start: CycleStart | None = None) -> tuple[Saved, Cycle]:
        state, rows = self.root_state, Rows()
        cycle = run_cycle(
            self._environment(),
            tombstones=state.tombstones(),
            halted=state.halted(),
            open_sink=lambda: rows,
            before=NOTHING_RECALLED if start is None else start.before,
        )
        if start is not None:
            cycle = remembered(cycle, start)
        return Saved(cycle.plan.signed(), rows.kept), cycle

    def sweep(self, saved: Saved, *, is_deleting: bool) -> Mapping[str, str]:
        """Carry a plan out, as ``sweep`` does; return why each job was refused."""
        now = self.site.flinks.cloud.now - self.process.skew
        check_plan(saved.plan, self.site.settings, now)
        with in_one_thread(), self._lock() as lock:
            return self._carried_out(saved, lock, is_deleting=is_deleting)

    def run(self) -> Mapping[str, str]:
        """Make a cycle and carry it out, as ``run`` does; return why each job was refused."""
        with in_one_thread(), self._lock() as lock:
            state = self.root_state
            saved, cycle = self._cycle(CycleStart(self.site.settings, state, recalled(state)))
            return self._carried_out(saved, lock, is_deleting=True, made=cycle)

    @contextmanager
    def _lock(self) -> Iterator[Lock]:
        holder = Holder(token=self.process.token, host="here", pid=1, started=str(T0))
        lock = acquire(
            self.files,
            f"{self.root_state.folder}/lock",
            holder,
            is_dead=lambda other: other.token in self.site.dead,
        )
        try:
            yield lock
        finally:
            lock.release()

    def _carried_out(
        self, saved: Saved, lock: Lock, *, is_deleting: bool, made: Cycle | None = None
    ) -> Mapping[str, str]:
        state, outcomes = self.root_state, Rows()
        environment = self._environment()
        if made is None:
            planned = planned_storage(environment.storage, saved.plan, lambda: saved.rows)
            environment = replace(environment, storage=planned)
        sweep = Sweep(
            environment=environment,
            run=HeldRun(
                settings=self.site.settings,
                state=state,
                lock=lock,
                run_id=f"run-{self.process.token}",
            ),
            plan=saved.plan,
            rows=saved.rows,
            made=made,
            is_deleting=is_deleting,
            before=recalled_for(saved.plan, state),
            scratch=Memory(),
            outcomes=outcomes,
        )
        try:
            return sweep.carry_out().refused
        finally:
            self.site.runs.append(outcomes.kept)
            sweep.run.close()

    def bring_back(self, rows: Sequence[pa.RecordBatch]) -> int:
        storage = self._storage(canonical(self.site.settings.root))
        return len(list(undelete(storage, lambda: rows)))
