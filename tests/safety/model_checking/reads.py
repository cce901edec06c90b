"""What a collector reads, each read in one instant; mirrors ``collect.observe.observation``."""

from collections.abc import Callable, Iterator
from itertools import chain, combinations

from safety.model_checking.conduct import Collector, Conduct, Steps, rested, with_collector
from safety.model_checking.flink import rest_of
from safety.model_checking.verdict import Snapshot
from safety.model_checking.world import (
    Place,
    Rest,
    Root,
    World,
    next_instant,
    told,
    told_instant,
    told_root,
)


def _now(world: World, index: int, conduct: Conduct) -> Steps:
    collector = world.collectors[index]._replace(now=told_instant(world))
    yield "begins", with_collector(world, index, collector)
    if world.faults < conduct.faults:
        for root in world.roots:
            if conduct.hides not in {None, root.place}:
                continue
            blind = collector._replace(blind=root.place)
            hidden = with_collector(world._replace(faults=world.faults + 1), index, blind)
            yield f"begins, and will not see {told_root(root.place)}", hidden


def asked(world: World, conduct: Conduct, *, is_new: bool) -> tuple[Rest | None, ...]:
    return tuple(
        None
        if number not in conduct.asked or not (job.is_running or job.latest >= 0)
        else (rest_of(job) if is_new or not conduct.is_cached else job.cached)
        for number, job in enumerate(world.jobs)
    )


def _rest(world: World, index: int, conduct: Conduct) -> Steps:
    before = asked(world, conduct, is_new=False)
    yield "asks REST", with_collector(world, index, world.collectors[index]._replace(before=before))


def _rest_again(world: World, index: int, conduct: Conduct) -> Steps:
    after = asked(world, conduct, is_new=conduct.waits)
    yield (
        "asks REST again",
        with_collector(world, index, world.collectors[index]._replace(after=after)),
    )


def _s0(world: World, index: int, _: Conduct) -> Steps:
    """Look at names: only the newest of each job counts, so one instant stands for a listing."""
    collector = world.collectors[index]
    newest: dict[int, Place] = {}
    for root in visible(world.roots, collector):
        newest[root.home] = max(newest.get(root.home, root.place), root.place)
    at_start = tuple(sorted(newest.values()))
    label = f"S0 shows {', '.join(map(told_root, at_start)) or 'nothing'}"
    yield label, with_collector(world, index, collector._replace(at_start=at_start))


def visible(roots: tuple[Root, ...], collector: Collector) -> tuple[Root, ...]:
    """Return the roots that do not hide from a collector."""
    return tuple(root for root in roots if root.place != collector.blind)


def _begin_roots(world: World, index: int, _: Conduct) -> Steps:
    roots = visible(world.roots, world.collectors[index])
    collector = world.collectors[index]._replace(always=roots, ever=roots)
    yield "begins to list roots", with_collector(world, index, collector)


def _end_roots(field: str, name: str) -> Callable[..., Steps]:
    def end(world: World, index: int, conduct: Conduct) -> Steps:
        collector = world.collectors[index]
        always = collector.always or ()
        ever = visible(collector.ever, collector)
        doubtful = [root for root in ever if root not in always] if conduct.is_weak else []
        if not conduct.is_weak:
            always = visible(world.roots, collector)
        for seen in _subsets(doubtful):
            roots = tuple(sorted((*always, *seen)))
            told_roots = ", ".join(told_root(root.place) for root in roots) or "nothing"
            after = collector._replace(always=None, ever=(), **{field: roots})
            yield f"{name} has shown {told_roots}", with_collector(world, index, after)

    return end


def _subsets(roots: list[Root]) -> Iterator[tuple[Root, ...]]:
    return chain.from_iterable(combinations(roots, size) for size in range(len(roots) + 1))


def _list(world: World, index: int, conduct: Conduct) -> Steps:
    listing = tuple(sorted(world.files))
    collector = world.collectors[index]._replace(listing=listing)
    yield "lists shared/", with_collector(world, index, _shrunk(collector, conduct))


def _shrunk(collector: Collector, conduct: Conduct) -> Collector:
    """Return the collector without listed files that something it has read names already.

    Those are kept, whatever else it will see; if no other is left, the run may as well end.
    """
    if not conduct.shrinks or not collector.listing:
        return collector
    named = {file for root in collector.first_roots for file in root.files}
    protecting = () if conduct.rules.has_ids_only else collector.first
    for each in chain(protecting, collector.second):
        named.update(() if each is None else each.entries)
    listing = tuple(each for each in collector.listing if each[0] not in named)
    return collector._replace(listing=listing) if listing else rested(collector, conduct)


def _export(world: World, number: int, conduct: Conduct) -> Snapshot | None:
    job = world.jobs[number]
    if number not in conduct.exporting or not job.is_running:
        return None
    return Snapshot(
        epoch=job.epoch,
        taken=next_instant(world) + world.ahead,
        heard=told_instant(world),
        retained=tuple((each.place[1], not each.is_claimed) for each in job.store),
        issued=tuple((flight.number, flight.issued) for flight in job.flights),
        entries=tuple(sorted({entry.file for entry in job.registry})),
    )


def _e1(world: World, index: int, conduct: Conduct) -> Steps:
    before = asked(world, conduct, is_new=True)
    collector = world.collectors[index]._replace(before=before)
    for label, first in _answers(world, conduct):
        yield f"reads E1{label}", with_collector(world, index, collector._replace(first=first))


def _e2(world: World, index: int, conduct: Conduct) -> Steps:
    collector = world.collectors[index]
    for label, second in _answers(world, conduct):
        after = _shrunk(collector._replace(second=second), conduct)
        yield f"reads E2{label}", with_collector(world, index, after)


def _answers(world: World, conduct: Conduct) -> Iterator[tuple[str, tuple[Snapshot | None, ...]]]:
    """Yield what the exporters may have written by now."""
    answers = tuple(_export(world, number, conduct) for number in range(len(world.jobs)))
    yield f" ({_told(answers)})", answers
    for number, each in enumerate(answers if conduct.loses_entries else ()):
        if each is not None and each.entries:
            part = each._replace(entries=each.entries[1:], is_whole=False)
            cut = (*answers[:number], part, *answers[number + 1 :])
            yield f" without its end ({_told(cut)})", cut


def _told(snapshots: tuple[Snapshot | None, ...]) -> str:
    return "; ".join(
        f"retained {[n for n, _ in s.retained]}, entries {', '.join(map(told, s.entries)) or '-'}"
        for s in snapshots
        if s is not None
    )


OPERATIONS: dict[str, Callable[[World, int, Conduct], Steps]] = {
    "now": _now,
    "rest": _rest,
    "e1": _e1,
    "s0": _s0,
    "s1(": _begin_roots,
    "s1)": _end_roots("first_roots", "S1"),
    "list": _list,
    "e2": _e2,
    "s2(": _begin_roots,
    "s2)": _end_roots("second_roots", "S2"),
    "rest+": _rest_again,
}
"""By the names that a program uses."""
