"""The state machine: Flink jobs go on, faults happen, collectors run, people do what they may."""

# ruff: noqa: FBT001 - Hypothesis names the arguments of rules
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from safety.simulation.faults import Fault
from safety.simulation.flinks import MODES, STEPS
from safety.simulation.world import Happenings, Steps, World

BASES = ("ck", "ck", "other")
SPELLED = ("s3://b/", "s3a://b/", "s3://moved/")
"""The last one is a bucket that was copied: nobody stated an alias."""

_PAUSES = (1, 60, 7_200, 172_800)
_MOST_JOBS = 4

jobs = st.integers(0, _MOST_JOBS - 1)
steps = st.lists(st.tuples(jobs, st.sampled_from(sorted(STEPS))), min_size=1, max_size=5)
happenings = st.one_of(steps, st.sampled_from(Fault), st.sampled_from(Fault), st.just("a rival"))
scripts = st.lists(st.tuples(st.integers(0, 40), happenings), max_size=5)
"""What happens at which call of a run: Flink goes on, a fault, or a whole run of a rival."""


class Machine(World, RuleBasedStateMachine):
    """Everything at once."""

    @initialize(
        slack=st.sampled_from([0, 0, 60]),
        is_versioned=st.booleans(),
        is_coarse=st.booleans(),
        order=st.integers(0, 3),
        number=st.integers(1, 2),
        is_exporting=st.booleans(),
        has_ha=st.booleans(),
    )
    def begin(
        self,
        *,
        slack: int,
        order: int,
        number: int,
        is_exporting: bool,
        has_ha: bool,
        **bucket: bool,
    ) -> None:
        self.set_up(slack, order, **bucket)
        self.site.is_exporting, self.site.has_ha = is_exporting, has_ha
        for _ in range(number):
            self.flinks.start("ck", "s3://b/", retained_most=2)
        self._pass(2)
        self._go_on(STEPS["round"])

    @rule(happened=steps)
    def work(self, happened: Steps) -> None:
        self.let_work(happened)

    @rule(
        which=st.integers(0, 9),
        mode=st.sampled_from(MODES),
        base=st.sampled_from(BASES),
        spelled=st.sampled_from(SPELLED),
        concurrent=st.sampled_from([1, 1, 1, 1, 2]),
        retained_most=st.integers(1, 3),
        has_ids=st.integers(0, 1),
    )
    def restore(self, which: int, mode: str, base: str, spelled: str, **facts: int) -> None:
        """Start a job from a checkpoint of another one; a claimed job must be over, and once."""
        roots = self.flinks.existing()
        if len(self.flinks.jobs) >= _MOST_JOBS or not roots:
            return
        root = roots[which % len(roots)]
        owner = self.flinks.owner(root)
        is_free = owner.status == "CANCELED" and not self.flinks.claimed(owner)
        if mode == "NO_CLAIM" or is_free:
            self.flinks.restore(root, mode, base, spelled, **facts)
            self.tally.done[mode] += 1

    @rule(which=st.integers(0, 9))
    def claim(self, which: int) -> None:
        """Cancel a job, and go on with its newest checkpoint in another one."""
        running = [job for job in self.flinks.jobs if job.is_running and job.retained]
        if len(self.flinks.jobs) >= _MOST_JOBS or not running:
            return
        owner = running[which % len(running)]
        owner.cancel()
        if not self.flinks.claimed(owner):
            base, spelled = BASES[which % 3], SPELLED[which % 2]
            self.flinks.restore(owner.retained[-1][0], "CLAIM", base, spelled, retained_most=1)
            self.tally.done["CLAIM"] += 1

    @rule(number=jobs, how=st.sampled_from(["suspend", "resume", "cancel", "declare"]))
    def end(self, number: int, how: str) -> None:
        """Let a job end, or stand still; the operator says what is over, and is right."""
        job = self.flinks.jobs[number % len(self.flinks.jobs)]
        self._pass(1)
        if how == "declare" and job.status == "CANCELED":
            self.declare_ended(job)
        elif how in {"suspend", "cancel"} and job.is_running:
            getattr(job, how)()
        elif how == "resume":
            job.resume()

    @rule(which=st.integers(0, 9))
    def copy(self, which: int) -> None:
        """Let somebody keep a copy of a root among the savepoints."""
        self.keep_a_copy(which)

    @rule(which=st.integers(0, 9))
    def tear(self, which: int) -> None:
        """Let a root be seen half written, or whole again (R6)."""
        self.tear_or_mend(which)

    @rule(seconds=st.sampled_from(_PAUSES))
    def wait(self, seconds: int) -> None:
        self._pass(seconds)

    @rule(script=scripts)
    def plan(self, script: Happenings) -> None:
        self.make_plan(script)

    @precondition(lambda self: self.plans)
    @rule(which=st.integers(0, 3), is_deleting=st.booleans(), script=scripts)
    def sweep(self, which: int, is_deleting: bool, script: Happenings) -> None:
        """Carry out a plan, maybe an old one, maybe once more."""
        self.sweep_plan(which, script, is_deleting=is_deleting)

    @rule(happened=steps, script=scripts, after=scripts)
    def cycle(self, happened: Steps, script: Happenings, after: Happenings) -> None:
        self.let_work(happened)
        self.collect(script, after)

    @rule(after=scripts)
    def two_cycles(self, after: Happenings) -> None:
        """Lay tombstones undisturbed, so that there is something to delete."""
        self.collect([], [])
        self.collect([], after)

    @precondition(lambda self: self.site.runs and self.flinks.cloud.is_versioned)
    @rule(which=st.integers(0, 9), script=scripts)
    def bring_back(self, which: int, script: Happenings) -> None:
        """Undelete what a run deleted."""
        rows = self.site.runs[which % len(self.site.runs)]
        back = self.run_one(script, lambda collector: collector.bring_back(rows))
        self.tally.done["brought back"] += back or 0
