"""Each guard is taken away once, and the machine notices: its silence elsewhere means something.

Each control has a small machine of its own, which looks where that guard is needed; with the guard
in place the same machine finds nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from flinkstate.places.locations import canonical
from orphangc.collect.decide import verdicts
from orphangc.collect.mark import mark
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.collect.revalidate import revalidation
from orphangc.collect.revalidate.revalidation import RegistryWatch
from orphangc.collect.runs.journal import Journal
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision import bounds_of_job
from safety.incidents.removals import remove
from safety.simulation.faults import Fault, LossError, Tally
from safety.simulation.flinks import Job, Root
from safety.simulation.world import World

pytestmark = pytest.mark.ci

_MOST = 200
"""Examples: each loss takes a dozen or so. Hypothesis tries numbers that it finds in what else is
imported, so how many it takes depends on what ran before."""


class Small(World, RuleBasedStateMachine):
    """A machine with few rules."""

    def settle(self) -> None:
        """Liveness is the large machine's to show."""

    teardown = settle


class Leaking(Small):
    tally = Tally()

    @initialize()
    def begin(self) -> None:
        self.set_up(0)
        self.flinks.start("ck", "s3://b/", retained_most=2)
        self._go_on(Job.round, Job.grow, Job.round)

    @rule()
    def leaks(self) -> None:
        """Lay tombstones, or delete."""
        self.collect([], [])

    @rule(gap=st.integers(0, 40))
    def uploads(self, gap: int) -> None:
        """Let a checkpoint be pending when a plan is made and swept."""
        self._go_on(Job.round, Job.grow, Job.trigger, Job.upload)
        self.make_plan([(gap, [(0, "upload")])])
        self.sweep_plan(-1, [(gap, [(0, "upload")])])
        self._go_on(*[Job.upload] * 4, Job.complete, Job.notify)


class Logging(Small):
    """A job with a changelog, three of whose checkpoints are pending at once (R31, R45)."""

    tally = Tally()

    @initialize()
    def begin(self) -> None:
        self.set_up(0)
        self.flinks.start("ck", "s3://b/", retained_most=2, concurrent=3, has_log=1)
        self._go_on(Job.round, Job.round, Job.tidy)

    @rule(gap=st.integers(0, 60), what=st.sampled_from([*Fault, "a rival"]))
    def holds_checkpoints(self, gap: int, what: Fault | str) -> None:
        """Append between triggers and completions; collect after each, one call of which fails."""
        self._go_on(Job.round, Job.tidy)
        for _ in range(3):
            self._go_on(Job.trigger, *[Job.upload] * 8)
        self._go_on(Job.append)
        for _ in range(2):
            self._go_on(Job.complete, Job.notify, Job.tidy)
            self._pass(5)
            self.carry_out([(gap, what)])
        self._go_on(Job.materialize, Job.complete, Job.notify, Job.round, Job.tidy)


class Moved(Leaking):
    """A job whose metadata spells a bucket that nobody stated an alias for."""

    tally = Tally()

    @rule()
    def moves(self) -> None:
        """Go on with the job in another one, which writes the old name of the bucket."""
        owner = self.flinks.jobs[-1]
        if len(self.flinks.jobs) < 3:
            owner.cancel()
            self.flinks.restore(owner.retained[-1][0], "CLAIM", "ck", "s3://moved/")
            self._go_on(Job.round)
            self.declare_ended(owner)


class Racing(Leaking):
    """A rival takes the lock over in the middle of a sweep."""

    tally = Tally()

    @rule(gap=st.integers(40, 140))
    def races(self, gap: int) -> None:
        """Sweep a plan that has several batches, and be taken for dead."""
        self._go_on(*[Job.leak] * 4, Job.round, Job.round, Job.tidy)
        self.make_plan([])
        self.sweep_plan(-1, [])
        self._go_on(Job.round)
        self.make_plan([])
        self.sweep_plan(-1, [(gap, "a rival")])


class Torn(Leaking):
    """A root is seen half written for a while."""

    tally = Tally()

    @rule(which=st.integers(0, 3))
    def tears(self, which: int) -> None:
        """Tear one, or mend it; and collect meanwhile."""
        self.tear_or_mend(which)
        self.make_plan([])
        self.sweep_plan(-1, [])


class Elsewhere(Leaking):
    """A claimed checkpoint's heir writes into another base, and ends."""

    tally = Tally()

    @rule()
    def inherits(self) -> None:
        """Leave the claimed files to a root that only the other base shows."""
        owner = self.flinks.jobs[-1]
        if len(self.flinks.jobs) == 1:
            owner.cancel()
            heir = self.flinks.restore(owner.retained[-1][0], "CLAIM", "other", "s3://b/")
            self._go_on(Job.round, Job.round)
            heir.tidy()
            heir.cancel()
            self._pass(2)
            self.declare_ended(owner)
            self.declare_ended(heir)


class Truncated(Small):
    """A listing of folders that ends too early, time and again, on its first page."""

    tally = Tally()

    @initialize()
    def begin(self) -> None:
        """Let a job retain four checkpoints, the oldest of which sorts last."""
        self.set_up(0)
        self.flinks.start("ck", "s3://b/", retained_most=4)
        for _ in range(12):
            self._go_on(Job.compact, Job.round)
            self.flinks.jobs[0].tidy()
        self.flinks.jobs[0].kill_jobmanager()

    @rule()
    def truncated(self) -> None:
        """Plan and sweep, and see only the beginning of each folder."""
        self.site.is_cut = True
        self.make_plan([])
        self.sweep_plan(-1, [])


class PutBack(Small):
    """The operator puts a checkpoint back that he had saved, in the middle of a sweep."""

    tally = Tally()
    may_halt = True

    @initialize()
    def begin(self) -> None:
        """Let a JobManager forget a checkpoint, and the operator save its metadata."""
        self.set_up(0)
        job = self.flinks.start("ck", "s3://b/")
        self._go_on(Job.round, Job.compact, Job.round, Job.kill_jobmanager, Job.round)
        self.saved: Root = next(iter(self.flinks.roots.values()))
        self.data = self.flinks.cloud.blobs[self.saved.key]
        self.flinks.cloud.drop(self.saved.key)
        assert job.retained[0][0] is not self.saved
        self.make_plan([])
        self.sweep_plan(-1, [])
        self._go_on(Job.round)

    @rule()
    def puts_back(self) -> None:
        """Put it into the other base when the cycle is over and nothing is deleted yet."""
        if self.saved.files <= self.flinks.cloud.blobs.keys():
            self.make_plan([])
            self.site.when_opened = self._put
            self.sweep_plan(-1, [])

    def _put(self) -> None:
        copy = replace(self.saved, folder="other/copy")
        self.flinks.roots[copy.folder] = copy
        self.flinks.cloud.put(copy.key, self.data.data)


class FourAtOnce(Small):
    """Section 2.4, with as many checkpoints at once as it takes to outlive two cycles.

    The fourth one uses files of the first again, which no root names by the time that it is
    acknowledged; its own were uploaded before the roots that stand when it completes.
    """

    tally = Tally()
    is_exporting = False

    @initialize()
    def begin(self) -> None:
        """Start a job; whatever else runs nearby has ended."""
        self.set_up(0)
        self.site.is_exporting = self.is_exporting
        self.flinks.start("ck", "s3://b/", concurrent=4)

    @rule(gap=st.integers(0, 40))
    def goes_on(self, gap: int) -> None:
        """Collect between completions; a step of the job falls into a run somewhere."""
        job = self.flinks.jobs[0]
        if job.next_id > 1:
            return
        self._go_on(*[Job.trigger] * 2, *[Job.upload] * 6, Job.complete, Job.trigger, Job.notify)
        self._go_on(Job.trigger, Job.upload, Job.acknowledge, Job.complete, Job.tidy)
        for _ in range(2):
            self.make_plan([(gap, [(0, "notify")])])
            self.sweep_plan(-1, [])
            self._go_on(*[Job.upload] * 3, Job.complete, Job.tidy)


class Exporting(FourAtOnce):
    """The same, and its JobManager exports its registry."""

    tally = Tally()
    is_exporting = True


class Suspended(FourAtOnce):
    """The operator takes for dead what HA metadata shows to be alive: no cluster shows it."""

    tally = Tally()
    may_halt = True

    @initialize()
    def begin(self) -> None:
        """Start a job that no REST API shows, and say that it is over."""
        super().begin()
        self.site.has_ha = True
        job = self.flinks.jobs[0]
        self.declare_ended(job)
        job.status, job.is_hidden = "RUNNING", True


class Unlisted(Small):
    """The heir of a claimed checkpoint writes where nobody looks, and only HA metadata shows it."""

    tally = Tally()

    @initialize()
    def begin(self) -> None:
        """Let a job be claimed, and its last root be subsumed by the heir."""
        self.set_up(0)
        self.site.has_ha = True
        owner = self.flinks.start("ck", "s3://b/")
        self._go_on(Job.round, Job.grow, Job.round)
        owner.tidy()
        owner.cancel()
        self.heir = self.flinks.restore(
            owner.retained[-1][0], "CLAIM", "unlisted", "s3://b/", is_hidden=True
        )
        self._go_on(Job.round, Job.tidy)
        self.declare_ended(owner)

    @rule()
    def goes_on(self) -> None:
        """Collect what looks like a dead job's directory."""
        self.flinks.start("ck", "s3://b/")
        self._go_on(Job.leak, Job.round, Job.round)
        self.collect([], [])
        self.collect([], [])


class Kept(Small):
    """Somebody keeps a copy of a checkpoint among the savepoints, and cancels; others go on."""

    tally = Tally()

    @initialize()
    def begin(self) -> None:
        self.set_up(0)
        self.flinks.start("ck", "s3://b/")
        self._go_on(Job.round, Job.savepoint, Job.round)

    @rule(which=st.integers(0, 3))
    def keeps(self, which: int) -> None:
        """Copy a root; then its job subsumes it, and compacts what it named away."""
        self.keep_a_copy(which)
        self._go_on(*[Job.compact] * 4, Job.round, Job.savepoint, Job.round)
        for job in self.flinks.jobs:  # its deletions of files fail
            job.chores = [key for key in job.chores if key.endswith("/_metadata")]
            job.tidy()
        self.collect([], [])
        self.collect([], [])


def nothing_is_live(patch: pytest.MonkeyPatch) -> None:
    """R5, R7: the rule asks nobody who names an object."""
    original = verdicts.kernel

    def asking_nobody(columns, *, is_live, **facts):
        return original(columns, is_live=np.zeros_like(is_live), **facts)

    patch.setattr(verdicts, "kernel", asking_nobody)


def only_paths_count(patch: pytest.MonkeyPatch) -> None:
    """R5: base names elsewhere protect nothing."""
    original = mark._live_set
    base = canonical("s3://b/ck")

    def without_others(observation: Observation, named: object, pinned: UuidSet) -> LiveSet:
        seen = replace(
            observation,
            first=tuple(map(without, observation.first)),
            second=tuple(map(without, observation.second)),
            elsewhere=(),
        )
        return original(seen, named, pinned)

    def without(read):
        roots = [
            replace(r, raw=UuidSet(), files={f: n for f, n in r.files.items() if base.contains(f)})
            for r in read.checkpoints
        ]
        return replace(read, checkpoints=tuple(roots))

    patch.setattr(mark, "_live_set", without_others)
    patch.setattr(revalidation, "_uuids", lambda _: iter(()))


def unreadable_is_empty(patch: pytest.MonkeyPatch) -> None:
    """R6: what cannot be read refers to nothing."""
    patch.setattr(Observation, "unreadable", property(lambda _: ()))
    patch.setattr(revalidation, "_acknowledged", lambda _: ())


def truncation_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """A listing is whole, or an error, and so is one that lacks a checkpoint that stood."""
    patch.setattr("safety.simulation.cloud.Storage.notices_truncation", False)
    patch.setattr("orphangc.collect.cycle.check_standing", lambda *_: None)


def other_bases_unseen(patch: pytest.MonkeyPatch) -> None:
    """R4."""
    patch.setattr(Environment, "bases", property(lambda environment: (environment.storage,)))


def nothing_written_down(patch: pytest.MonkeyPatch) -> None:
    """R23."""
    patch.setattr(Journal, "write_batch", lambda *_: None)


def no_gate(patch: pytest.MonkeyPatch) -> None:
    """R13: roots alone prove liveness, however many checkpoints are pending."""
    remove("guard:gate", patch)
    patch.setattr(revalidation, "_check_job", lambda *_, **__: None)


def entries_protect_nothing(patch: pytest.MonkeyPatch) -> None:
    """R14: what a registry snapshot names is no root."""
    live_set = mark._live_set

    def without_entries(seen: Observation, *_: object) -> LiveSet:
        return live_set(replace(seen, answers=replace(seen.answers, snapshots=())), (), UuidSet())

    patch.setattr(mark, "_live_set", without_entries)
    patch.setattr(RegistryWatch, "new_names", lambda _: [])


def registry_times_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """R16: metadata times are enough."""
    patch.setattr(bounds_of_job, "_registry_times", lambda _: [])


def ha_is_not_asked(patch: pytest.MonkeyPatch) -> None:
    """R4, R13: HA metadata tells of jobs that nothing else shows."""
    patch.setattr(
        "safety.simulation.collecting.Site.has_ha", property(lambda _: False, lambda *_: None)
    )


@dataclass(frozen=True)
class Control:
    """A guard that is taken away, by a function or by its name there, and who notices."""

    what: str | Callable[[pytest.MonkeyPatch], None]
    machine: type[RuleBasedStateMachine]

    @property
    def name(self) -> str:
        return self.what if isinstance(self.what, str) else self.what.__name__

    def remove(self, patch: pytest.MonkeyPatch) -> None:
        remove(self.what, patch) if isinstance(self.what, str) else self.what(patch)


CONTROLS = [
    Control("trigger_bounds_the_log", Logging),
    Control("rule_of_chk_n", Logging),
    Control(nothing_is_live, Leaking),
    Control(only_paths_count, Moved),
    Control("cutoff", Leaking),
    Control("looking_again", PutBack),
    Control("lock_check", Racing),
    Control(unreadable_is_empty, Torn),
    Control(truncation_unnoticed, Truncated),
    Control(other_bases_unseen, Elsewhere),
    Control(other_bases_unseen, Kept),
    Control(no_gate, FourAtOnce),
    Control(entries_protect_nothing, Exporting),
    Control(registry_times_do_not_count, Exporting),
    Control("condition:held_by_ha", Suspended),
    Control(ha_is_not_asked, Unlisted),
    Control(nothing_written_down, Leaking),
]


def searched(machine: type[RuleBasedStateMachine], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=4,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize(
    "control", CONTROLS, ids=lambda each: f"{each.name}-{each.machine.__name__}"
)
def test_the_machine_notices_that_a_guard_is_gone(control, monkeypatch, record_property) -> None:
    """Each of the losses that the guards are there for."""
    control.remove(monkeypatch)
    before = control.machine.tally.done["examples"]
    with pytest.raises(LossError):
        searched(control.machine, _MOST)
    found = control.machine.tally.done["examples"] - before
    record_property("told", f"{control.name} noticed in example {found}")


@pytest.mark.parametrize(
    "machine", dict.fromkeys(each.machine for each in CONTROLS), ids=lambda each: each.__name__
)
def test_the_same_machine_finds_nothing_while_all_guards_are_there(machine) -> None:
    """And it is no idle machine: it plans, and sweeps unless it is refused for a reason."""
    searched(machine, 5)
    assert any(machine.tally.done[each] for each in ("sweeps", "runs", "refusals"))
