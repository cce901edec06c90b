"""What a collector does, one read or deletion at a time, with Flink going on in between.

Mirrors ``collect.observe.observation.observe`` (the order of reads), ``collect.sweep.sweep`` with
``collect.sweep.tombstoning`` (the tombstones), ``collect.revalidate.revalidation`` (the look before
a batch) and ``collect.state.lock``. The verdicts are the real ones
(``safety.model_checking.verdict``). A saved plan is left out: it is one more permission that a
deletion needs, so without it more is deleted.
"""

from orphangc.core.model.codes import Guard
from safety.model_checking.actions import OPERATIONS
from safety.model_checking.conduct import OVER, Collector, Conduct, Steps, rested, with_collector
from safety.model_checking.world import World


def steps(world: World, conduct: Conduct) -> Steps:
    for index, collector in enumerate(world.collectors):
        if collector.phase == OVER:
            continue
        name = f"{'GH'[index]}:"
        phase = max(collector.phase, 0)
        for label, after in _all(world, index, conduct.whole[phase], conduct):
            following = after.collectors[index]
            goes_on = following.runs == collector.runs
            moved_on = following._replace(phase=phase + 1) if goes_on else following
            yield f"{name} {label}", with_collector(after, index, moved_on)
        if conduct.may_crash and collector.phase >= 0:
            yield f"{name} crashes", with_collector(world, index, rested(collector, conduct))


def _all(world: World, index: int, ops: tuple[str, ...], conduct: Conduct) -> Steps:
    """Yield every outcome of operations that happen at once."""
    if not ops:
        yield "", world
        return
    runs = world.collectors[index].runs
    for label, after in OPERATIONS[ops[0]](world, index, conduct):
        if after.collectors[index].runs != runs:
            yield label, after
            continue
        for rest, last in _all(after, index, ops[1:], conduct):
            yield "; ".join(each for each in (label, rest) if each), last


def watching(world: World) -> World:
    """Let listings that are under way take note of what comes and goes."""
    if all(each.always is None for each in world.collectors):
        return world
    return world._replace(
        collectors=tuple(
            each
            if each.always is None
            else each._replace(
                always=tuple(root for root in each.always if root in world.roots),
                ever=tuple(sorted({*each.ever, *world.roots})),
            )
            for each in world.collectors
        )
    )


def hopeless(world: World, conduct: Conduct) -> World:
    """Return the world with those collectors stopped that will find nothing to delete.

    The guards that will void their cycle are sure to: the JobManager they began with is gone, or
    the root that had to stand has not.
    """
    if not conduct.stops_early or len(world.jobs) > 1:
        return world
    for index, each in enumerate(world.collectors):
        if each.phase >= 0 and not each.due and _is_hopeless(world, each, conduct):
            world = with_collector(world, index, rested(each, conduct))
    return world


def _is_hopeless(world: World, each: Collector, conduct: Conduct) -> bool:
    without = conduct.rules.without
    epoch = world.jobs[0].epoch
    if conduct.exporting:
        first = each.first[0] if each.first else None
        return Guard.REGISTRY not in without and first is not None and first.epoch != epoch
    rest = each.before[0] if each.before else None
    if Guard.GATE not in without and rest is not None and rest.epoch != epoch:
        return True
    if Guard.UNSTABLE_ROOT in without or each.phase <= conduct.whole.index(("s0",)):
        return False
    stable = max(each.at_start, default=None)
    there = {root.place for root in (*world.roots, *each.ever, *each.second_roots)}
    first_shown = {root.place for root in each.first_roots}
    return stable not in there or bool(first_shown and stable not in first_shown)
