"""A small model of one RocksDB job and its collector: who needs which file, and who reads when.

One subtask whose uploads matter, and others that only delay completion. As in Flink 1.16-1.20:
files are registered when the subtask acknowledges; what is re-used comes from the last checkpoint
that the task *knows* to be complete, which may be subsumed by then; an entry lives until no
checkpoint at or above the oldest retained one used it. Each checkpoint also has a private file in
``shared/``, which no registry knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    IssuedCheckpoint,
    RegistryEntry,
    RegistrySnapshot,
    RetainedCheckpoint,
    oldest_retained,
)
from orphangc.core.model.bounds import Bound, BoundName, SafetyMargins, cutoff, job_bounds
from orphangc.core.model.types import Mode
from support.builders import T0

NO_MARGINS = SafetyMargins(
    grace_period=timedelta(0),
    quarantine_period=timedelta(0),
    checkpoint_id_margin=0,
    clock_skew=timedelta(0),
)
"""The order of reads alone must be safe: every margin is taken away."""


@dataclass
class Pending:
    """A checkpoint on its way."""

    fresh: dict[str, str]
    reused: dict[str, str]
    private: str
    is_uploaded: bool = False
    is_acknowledged: bool = False

    @property
    def files(self) -> dict[str, str]:
        """Return the file of each table."""
        return self.reused | self.fresh


@dataclass
class Flink:
    """A job: its tables, what the task knows, what the JobManager knows, and the storage."""

    random: Random
    concurrent: int
    retained_most: int
    tick: int = 0
    epoch: int = 1
    next_id: int = 1
    next_name: int = 1
    tables: list[str] = field(default_factory=lambda: ["table-0"])
    uploaded: dict[int, dict[str, str]] = field(default_factory=dict)
    base: int = 0
    notices: list[int] = field(default_factory=list)
    pending: dict[int, Pending] = field(default_factory=dict)
    late: list[tuple[int, Pending]] = field(default_factory=list)
    issued: dict[int, int] = field(default_factory=dict)
    registry: dict[str, tuple[int, int]] = field(default_factory=dict)
    retained: list[int] = field(default_factory=list)
    roots: dict[int, tuple[frozenset[str], int]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    created: dict[str, int] = field(default_factory=dict)

    def now(self) -> datetime:
        """Return the store's time, which is the JobManager's too."""
        return at(self.tick)

    def step(self) -> None:
        """Let one thing happen."""
        self.tick += 1
        events = [self.trigger] * 3 + [self.compact] + [self.notify] * 2
        events += [self.upload] * 3 + [self.acknowledge] * 3 + [self.complete] * 3
        self.random.choice(events)()
        if self.random.random() < 0.02:
            self.abort()
        if self.random.random() < 0.01:
            self.fail_over()

    def trigger(self) -> None:
        """Give out an id; the task takes its snapshot at once."""
        if len(self.pending) >= self.concurrent:
            return
        number, self.next_id = self.next_id, self.next_id + 1
        self.issued[number] = self.tick
        known = self.uploaded.get(self.base, {})
        reused = {table: known[table] for table in self.tables if table in known}
        fresh = {}
        for table in self.tables:
            if table not in known:
                fresh[table] = f"file-{self.next_name}"
                self.next_name += 1
        self.pending[number] = Pending(fresh, reused, f"private-{number}")
        self.uploaded[number] = reused | fresh

    def compact(self) -> None:
        """Let a table appear, or one disappear for ever."""
        if len(self.tables) > 1 and self.random.random() < 0.5:
            self.tables.pop(self.random.randrange(len(self.tables)))
        else:
            self.tables.append(f"table-{self.tick}")

    def upload(self) -> None:
        """Store what one checkpoint brings."""
        for number, one in self._some(lambda each: not each.is_uploaded):
            one.is_uploaded = True
            for file in (*one.fresh.values(), one.private):
                self.stored[file], self.created[file] = self.tick, number

    def acknowledge(self) -> None:
        """Register one checkpoint's files; a placeholder without an entry fails it."""
        if self.late and self.random.random() < 0.3:
            number, dead = self.late.pop()
            self._register(number, dead)
            return
        for number, one in self._some(lambda each: each.is_uploaded and not each.is_acknowledged):
            one.is_acknowledged = True
            if not self._register(number, one):
                del self.pending[number]

    def _register(self, number: int, one: Pending) -> bool:
        for file in one.fresh.values():
            self.registry.setdefault(file, (number, number))
        if any(file not in self.registry for file in one.reused.values()):
            return False
        for file in one.reused.values():
            made, used = self.registry[file]
            self.registry[file] = (made, max(used, number))
        return True

    def complete(self) -> None:
        """Write a root; subsume, drop what is not used any more, end older pending ones."""
        for number, one in self._some(lambda each: each.is_acknowledged):
            del self.pending[number]
            self.roots[number] = (frozenset({*one.files.values(), one.private}), self.tick)
            self.retained.append(number)
            for old in self.retained[: -self.retained_most]:
                del self.roots[old]
                self.stored.pop(f"private-{old}", None)
            self.retained = self.retained[-self.retained_most :]
            for file, (_, used) in list(self.registry.items()):
                if used < self.retained[0]:
                    del self.registry[file]
                    self.stored.pop(file, None)
            for older in [each for each in self.pending if each < number]:
                self._end(older)
            self.issued = {k: v for k, v in self.issued.items() if k > self.retained[0]}
            self.notices.append(number)

    def notify(self) -> None:
        """Let the task hear of a completed checkpoint, or never."""
        if self.notices:
            number = self.notices.pop(self.random.randrange(len(self.notices)))
            if number > self.base and number in self.uploaded and self.random.random() < 0.9:
                self.base = number

    def abort(self) -> None:
        """Let a pending checkpoint time out."""
        if self.pending:
            self._end(self.random.choice(sorted(self.pending)))

    def _end(self, number: int) -> None:
        one = self.pending.pop(number)
        if one.is_uploaded and not one.is_acknowledged:
            self.late.append((number, one))
        self.uploaded.pop(number, None)

    def fail_over(self) -> None:
        """Start again from the newest checkpoint; the registry is that of the retained ones."""
        if not self.retained:
            return
        self.epoch += 1
        self.pending, self.late, self.notices, self.issued = {}, [], [], {}
        self.registry = {}
        for number in self.retained:
            for file in self.roots[number][0] - {f"private-{number}"}:
                self.registry[file] = (self.created[file], number)
        self.base = self.retained[-1]
        known = self.uploaded[self.base]
        self.tables = sorted(known)
        self.uploaded = {self.base: known}

    def _some(self, wanted: Callable[[Pending], bool]) -> list[tuple[int, Pending]]:
        found = [(number, one) for number, one in self.pending.items() if wanted(one)]
        return [self.random.choice(found)] if found else []

    def snapshot(self) -> RegistrySnapshot:
        """Return what the exporter writes now."""
        return RegistrySnapshot(
            source=Mode.REGISTRY,
            flink_version="1.20.5",
            job_id="",
            jm_epoch=str(self.epoch),
            sequence=self.tick,
            nonce=None,
            taken_at=self.now(),
            checkpoint_dir="/",
            max_concurrent=self.concurrent,
            retained=tuple(
                RetainedCheckpoint(id=n, is_savepoint=False, path="") for n in self.retained
            ),
            issued=tuple(IssuedCheckpoint(id=n, at=at(t)) for n, t in self.issued.items()),
            restored=(),
            entries=tuple(
                RegistryEntry(file, EntryKind.FILE, 1, *ids) for file, ids in self.registry.items()
            ),
        )


def at(tick: int) -> datetime:
    """Return a tick as a time."""
    return T0 + timedelta(seconds=tick)


READS = ("oldest", "listing", "registry", "roots")
"""In R14's order: E1, the listing, E2, roots."""


@dataclass
class Collector:
    """Reads one thing after the other, and decides."""

    # file names carry the id that they were uploaded for, and that alone decides; otherwise the
    # time does (R16)
    has_ids: bool
    # no registry is read, and nobody asks how many checkpoints run at once
    is_derived: bool = False
    first: RegistrySnapshot | None = None
    second: RegistrySnapshot | None = None
    listing: dict[str, tuple[int, int]] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    root_times: list[datetime] = field(default_factory=list)

    def read(self, what: str, flink: Flink) -> None:
        """Read one thing as it is now."""
        if what == "oldest":
            self.first = flink.snapshot()
        elif what == "listing":
            self.listing = {file: (flink.created[file], t) for file, t in flink.stored.items()}
        elif what == "registry":
            self.second = flink.snapshot()
        for files, stored in flink.roots.values() if what == "roots" else ():
            self.named |= files
            self.root_times.append(at(stored))

    def candidates(self, flink: Flink) -> set[str]:
        """Return what looks orphaned; nothing where R15 voids the cycle."""
        first, second = self.first, self.second
        assert first is not None
        assert second is not None
        oldest = oldest_retained(first)
        if oldest is None or not self.root_times or first.jm_epoch != second.jm_epoch:
            return set()
        times = [Bound(BoundName.FIRST_SNAPSHOT, first.taken_at)]
        times += [
            Bound(BoundName.OLDEST_ISSUED, each.at)
            for snapshot in (first, second)
            for each in snapshot.issued
            if each.id > oldest
        ]
        limit = cutoff(
            job_bounds(
                flink.now(),
                NO_MARGINS,
                is_ended=False,
                own_root_times=self.root_times,
                registry_times=() if self.is_derived else times,
            )
        )
        registered = set() if self.is_derived else {entry.path for entry in second.entries}
        return {
            file
            for file, (made, stored) in self.listing.items()
            if file not in self.named
            and file not in registered
            and (made < oldest if self.has_ids else at(stored) < limit)
        }


def losses(seed: int, collector: Collector, order: Sequence[str], **job: int) -> set[str]:
    """Return the candidates of one cycle that a root names at the end of it, or ever after."""
    random = Random(seed)
    flink = Flink(random, **job)
    for _ in range(random.randrange(20, 60)):
        flink.step()
    collector = replace(collector, named=set(), root_times=[])
    for what in order:
        collector.read(what, flink)
        for _ in range(random.choice((0, 1, 4, 12, 40))):
            flink.step()
    gone = collector.candidates(flink)
    needed = {file for files, _ in flink.roots.values() for file in files}
    for _ in range(30 if gone else 0):
        flink.step()
        needed |= {file for files, _ in flink.roots.values() for file in files}
    return gone & needed
