"""What every machine is made of: a bucket, jobs, collectors, and what must hold after each step."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis.stateful import invariant

from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import LockHeldError, OrphanGcError
from safety.simulation.cloud import COLLECTED, Blob, Cloud
from safety.simulation.collecting import Collector, Saved, Site
from safety.simulation.faults import (
    Action,
    Fault,
    LossError,
    Process,
    ProcessDiedError,
    Script,
    Tally,
)
from safety.simulation.flinks import STEPS, Flinks, Job
from safety.simulation.liveness import check_liveness
from support.tombstone_tables import each_of

Steps = list[tuple[int, str]]
Happenings = list[tuple[int, Any]]
"""What happens at which call of a run: steps of jobs, a fault, a rival, or anything callable."""


class World:
    """Some jobs, one storage root, and collectors that are never alone."""

    tally = Tally()
    may_halt = False

    def __init__(self) -> None:
        super().__init__()
        self.runs = 0
        self.plans: list[Saved] = []
        self.written, self.laid = "", set[str]()
        self.flinks = Flinks(Cloud(timedelta(0)))
        self.torn: tuple[str, Blob] | None = None

    def set_up(self, slack: int, order: int = 1, **bucket: bool) -> None:
        """Set up a bucket.

        Args:
            slack: Seconds of the quarantine, and of how wrong store times may be; other margins
                are ten times it.
            order: The storage lists in order where it is 0.
            bucket: See ``Cloud``.

        """
        self.tally.done["examples"] += 1
        cloud = Cloud(timedelta(seconds=slack / 2), **bucket)
        cloud.put("other/README")
        cloud.put("savepoints/README")
        self.flinks = Flinks(cloud, ahead=timedelta(seconds=slack / 2))
        settings = StorageRootSettings(
            root="s3://b/ck",
            state="s3://state/x",
            extra_roots=("s3://b/other", "s3://b/savepoints"),
            empty_roots=("s3://b/other", "s3://b/savepoints"),
            grace_period=f"{10 * slack}s",
            quarantine_period=f"{slack}s",
            clock_skew=f"{slack}s",
            quiet_period=f"{10 * slack}s",
            allow_short_margins=True,
            checkpoint_id_margin=0,
            closed_world=True,
            max_delete_share=1,
            delete_rate=1_000_000,
        )
        self.site = Site(self.flinks, settings, is_ordered=not order)

    # --- jobs
    def _pass(self, seconds: float) -> None:
        self.flinks.cloud.passes(timedelta(seconds=seconds))

    def let_work(self, happened: Steps) -> None:
        """Let jobs go on."""
        for each in happened:
            self._step(*each)

    def _step(self, number: int, name: str) -> None:
        running = [job for job in self.flinks.jobs if job.is_running]
        self._pass(1)
        if running:
            self.flinks.cloud.remember()
            STEPS[name](running[number % len(running)])

    def _go_on(self, *named: Callable[[Job], None]) -> None:
        for step in named:
            for job in self.flinks.jobs:
                if job.is_running:
                    step(job)
                    self._pass(2)

    def declare_ended(self, job: Job) -> None:
        """Let the operator say that a job is over, which its cluster has forgotten by then."""
        job.status = "forgotten"
        over = (*self.site.settings.ended_job, job.id)
        self.site.settings = self.site.settings.model_copy(update={"ended_job": over})

    def keep_a_copy(self, which: int) -> None:
        """Let somebody copy a root's metadata, which names files by their whole paths."""
        torn = "" if self.torn is None else self.torn[0]
        roots = [root for root in self.flinks.existing() if root.key != torn]
        if roots:
            root = roots[which % len(roots)]
            copy = replace(root, folder=f"savepoints/copy-{len(self.flinks.roots)}")
            self.flinks.cloud.put(copy.key, self.flinks.cloud.blobs[root.key].data)
            self.flinks.roots[copy.folder] = copy

    def tear_or_mend(self, which: int) -> None:
        """Let a root be seen half written; or the one that is, whole again."""
        cloud, roots = self.flinks.cloud, self.flinks.existing()
        if self.torn is not None:
            key, whole = self.torn
            cloud.blobs |= {key: whole} if key in cloud.blobs else {}
            self.torn = None
        elif roots:
            key = roots[which % len(roots)].key
            self.torn = key, cloud.blobs[key]
            cloud.blobs[key] = replace(cloud.blobs[key], data=b"\x49\x60\x67\x2d", etag="torn")

    # --- collecting

    def make_plan(self, script: Happenings) -> None:
        self.tally.done["plans"] += 1
        saved = self.run_one(script, lambda collector: collector.plan())
        if saved is not None:
            self.plans = [*self.plans[-3:], saved]

    def sweep_plan(self, which: int, script: Happenings, *, is_deleting: bool = True) -> None:
        if not self.plans:
            return
        self.tally.done["sweeps"] += 1
        saved = self.plans[which % len(self.plans)]
        self.run_one(script, lambda collector: collector.sweep(saved, is_deleting=is_deleting))

    def collect(self, script: Happenings, after: Happenings) -> None:
        """Let jobs leak and time pass; then make a cycle, and carry it out at once."""
        self._go_on(Job.leak, Job.round, Job.round, Job.tidy)
        self._pass(20 * self.site.settings.clock_skew.total_seconds())
        self._go_on(Job.round)
        self.carry_out([*script, *after])

    def carry_out(self, script: Happenings) -> None:
        """Make a cycle, and carry its verdicts out under one lock."""
        self.tally.done["runs"] += 1
        self.run_one(script, lambda collector: collector.run())

    def run_one(self, script: Happenings, verb: Callable[[Collector], Any]) -> Any:
        """Return what one process returns, ``None`` if it failed as it may."""
        self.runs += 1
        process = Process(f"p{self.runs}", Script.of(), self.tally, lambda: self._pass(0.05))
        process.script = Script.of([(gap, self._action(what, process)) for gap, what in script])
        collector = Collector(self.site, process, self._on_delete)
        try:
            return verb(collector)
        except ProcessDiedError:
            self.site.dead.add(process.token)
            self.tally.done["crashes"] += 1
        except SystemExit:
            self.tally.done["signals"] += 1
        except LockHeldError:
            self.tally.done["lock held"] += 1
        except OrphanGcError:
            self.tally.done["refusals"] += 1
        finally:
            process.is_dead, self.last = True, process
            self.flinks.check()
        return None

    def _action(self, what: Any, process: Process) -> Action:
        if isinstance(what, Fault) or callable(what):
            return what
        if what == "a rival":
            return lambda: self._rival(process)
        return lambda: [self._step(*each) for each in what] and None

    def _rival(self, process: Process) -> None:
        """Let another collector, which takes this one for dead, plan and sweep meanwhile."""
        had_lock = self.site.holder() == process.token
        self.site.dead.add(process.token)
        saved = self.run_one([], lambda collector: collector.plan())
        if saved is not None:
            self.run_one([], lambda collector: collector.sweep(saved, is_deleting=True))
        if had_lock and self.site.holder() != process.token:
            process.lost_at = process.asked
            self.tally.done["take-overs"] += 1

    def _on_delete(self, key: str) -> None:
        """Make sure of everything that must hold when a key goes."""
        relative = key.partition("/")[2]
        if not COLLECTED.fullmatch(key):
            raise LossError(f"{key} is nothing to be collected")
        if not self.site.journal_names(relative):
            raise LossError(f"{key} goes, and no journal tells of it")
        if key in self.flinks.needed():
            raise LossError(f"{key} goes, and a checkpoint names it")
        self.tally.done["deletions"] += 1

    # --- what must hold

    @invariant()
    def nothing_live_is_gone(self) -> None:
        """Every file that a root names exists, but for what Flink itself deleted."""
        self.flinks.check()

    @invariant()
    def no_proof_has_failed(self) -> None:
        """Tombstones are of orphans; nobody found one that is referred to again."""
        if self.may_halt or not self.flinks.jobs:
            return
        process = Process("observer", Script.of(), Tally(), lambda: None)
        state = Collector(self.site, process, lambda _: None).root_state
        halted = state.halted()
        if halted is not None:
            raise LossError(halted)
        generations = [name for name in self.site.state if "/tombstones/" in name]
        if max(generations, default="") != self.written:
            self.written = max(generations)
            laid = {f"ck/{each.object.key}" for each in each_of(state.tombstones())}
            self.tally.done["tombstones"] += len(laid - self.laid)
            self.laid = laid
        wrong = {key for key in self.laid if not COLLECTED.fullmatch(key)}
        wrong |= self.laid & self.flinks.needed()
        if wrong:
            raise LossError(f"{min(wrong)} has a tombstone, and is no orphan")

    def teardown(self) -> None:
        """Without faults, a few good cycles delete every orphan that can be proven."""
        self.tally.done["checkpoints"] += self.flinks.completed
        if self.flinks.jobs and not self.may_halt:
            if self.torn is not None:
                self.tear_or_mend(0)
            check_liveness(self)

    def good_run(self, verb: Callable[[Collector], Any]) -> Any:
        process = Process(f"good{self.runs}", Script.of(), self.tally, lambda: self._pass(0.05))
        self.runs += 1
        collector = Collector(self.site, process, self._on_delete)
        return verb(collector)
