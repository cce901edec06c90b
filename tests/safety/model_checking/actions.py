"""How a collector judges and acts; mirrors ``collect.sweep.sweep``, ``tombstoning``,
``revalidation`` and ``lock``.
"""

from collections.abc import Callable, Iterable

from orphangc.collect.revalidate.revalidation import _check_job
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.model.types import Action
from orphangc.errors import RefusedError
from safety.model_checking import reads
from safety.model_checking.conduct import Collector, Conduct, Steps, rested, with_collector
from safety.model_checking.reads import asked, visible
from safety.model_checking.verdict import JobSeen, Seen, job_id, real_facts, verdicts
from safety.model_checking.world import File, Place, Rest, World, told, told_instant
from support.builders import a_cluster, a_job
from support.oracle import Verdict


def seen_by(
    world: World, index: int, conduct: Conduct
) -> tuple[Seen, tuple[tuple[File, int], ...]]:
    """Return what one collector has seen, and the tombstones, with instants from 0."""
    collector = world.collectors[index]
    until = told_instant(world)
    laid = () if conduct.is_greedy else world.tombstones
    known = sorted({*collector.instants(), *(since for _, since in laid), until})
    ranks = known if world.clock >= 0 else range(len(known))
    to = dict(zip(known, ranks, strict=True)).__getitem__
    collector = collector.moved(to)
    protecting = collector.first_roots if conduct.protects_first else ()
    own = sorted({*protecting, *collector.second_roots})
    jobs = tuple(
        JobSeen(
            is_declared_ended=number in conduct.declared,
            before=collector.before[number] if collector.before else None,
            after=(collector.after or collector.before)[number] if collector.before else None,
            ids_at_start=_ids(collector.at_start, number),
            ids_before=_ids([root.place for root in collector.first_roots], number),
            ids_after=_ids([root.place for root in collector.second_roots], number),
            roots=tuple(root for root in own if root.home == number),
            first=collector.first[number] if collector.first else None,
            second=collector.second[number] if collector.second else None,
            is_exporting=number in conduct.exporting and job.is_running,
        )
        for number, job in enumerate(world.jobs)
    )
    seen = Seen(collector.now, to(until), jobs, collector.listing, world.teller)
    return seen, tuple((file, to(since)) for file, since in laid)


def _ids(places: Iterable[Place], number: int) -> tuple[int, ...]:
    return tuple(sorted(checkpoint for home, checkpoint in places if home == number))


def _judge(world: World, index: int, conduct: Conduct) -> Steps:
    """Ask the real rule; a greedy collector deletes at once what looks orphaned."""
    seen, tombstones = seen_by(world, index, conduct)
    judged = verdicts(seen, tombstones, conduct.rules)
    removing = {Action.DELETE, Action.TOMBSTONE}
    if not conduct.is_greedy and conduct.has_quarantine:
        removing = {Action.DELETE}
    due = tuple(f for f, verdict, is_free in judged if is_free and verdict.action in removing)
    if conduct.is_greedy:
        after = with_collector(world, index, rested(world.collectors[index], conduct))
        yield _told_due("deletes", due), _deleted(after, due)
    else:
        yield _mind(world, index, judged, due=due, conduct=conduct)


def _mind(
    world: World,
    index: int,
    judged: tuple[tuple[File, Verdict, bool], ...],
    *,
    due: tuple[File, ...],
    conduct: Conduct,
) -> tuple[str, World]:
    """Lay tombstones, forget those of what has gone, halt where one turns out wrong."""
    collector = world.collectors[index]
    since = told_instant(world)
    listed = {file for file, _ in collector.listing}
    kept = {file: laid for file, laid in world.tombstones if file in listed}
    revived = [file for file, verdict, _ in judged if verdict.action is Action.REVIVE]
    kept |= {file: since for file, verdict, _ in judged if verdict.action is Action.TOMBSTONE}
    after = Collector(
        phase=collector.phase,
        runs=collector.runs,
        after=collector.after or collector.before,
        due=() if world.is_halted or revived else due,
        stable=() if conduct.exporting else _stable(world, collector, conduct),
        blind=collector.blind if conduct.is_long else None,
    )
    laid = tuple(sorted((file, at) for file, at in kept.items() if file not in revived))
    world = world._replace(tombstones=laid, is_halted=world.is_halted or bool(revived))
    return f"judges; {_told_due('due:', after.due)}", with_collector(world, index, after)


def _stable(world: World, collector: Collector, conduct: Conduct) -> tuple[Place, ...]:
    """Return the newest root of each living job; mirrors what ``Revalidation`` holds stable."""
    living = {n for n, job in enumerate(world.jobs) if job.is_running and n not in conduct.declared}
    newest = (
        max((root.place for root in collector.first_roots if root.home == n), default=None)
        for n in sorted(living)
    )
    return tuple(each for each in newest if each is not None)


def _told_due(verb: str, due: tuple[File, ...]) -> str:
    return f"{verb} {', '.join(map(told, due)) or 'nothing'}"


def _deleted(world: World, due: tuple[File, ...]) -> World:
    gone = {file for file, _ in world.files}.intersection(due)
    if not gone:
        return world
    files = tuple(each for each in world.files if each[0] not in gone)
    return world._replace(files=files, lost=world.lost | gone)


def _lock(world: World, index: int, _: Conduct) -> Steps:
    """Take the lock, over any other's: how long a lock lives is left open."""
    yield "takes the lock", world._replace(holder=index)


def _look(world: World, index: int, conduct: Conduct) -> Steps:
    """Look again at lock, halt, gate, the stable root and every root's names (R18)."""
    collector = world.collectors[index]
    if not collector.due:
        yield "has nothing to delete", world
        return
    why = _why_stopped(world, index, conduct) if conduct.looks_again else None
    if why is not None:
        yield f"stops: {why}", with_collector(world, index, rested(collector, conduct))
        return
    named: set[File] = set()
    if conduct.looks_again:
        roots = visible(world.roots, collector)
        named = {file for root in roots for file in root.files}
    due = tuple(file for file in collector.due if file not in named)
    yield "looks again", with_collector(world, index, collector._replace(due=due))


def _why_stopped(world: World, index: int, conduct: Conduct) -> str | None:
    collector = world.collectors[index]
    if world.holder != index:
        return "the lock was taken over"
    if world.is_halted:
        return "all collection is halted"
    seen = {root.place for root in visible(world.roots, collector)}
    if not seen.issuperset(collector.stable):
        return "the stable root is gone"
    now = asked(world, conduct, is_new=True)
    for number, (before, after) in enumerate(zip(collector.after, now, strict=True)):
        try:
            _check_job(
                _seen_before(number, before, conduct),
                _clusters(number, after, conduct),
                is_exported=number in conduct.exporting,
                has_any_layout=False,
            )
        except RefusedError as err:
            return str(err)
    return None


def _seen_before(number: int, before: Rest | None, conduct: Conduct) -> JobEvidence:
    facts = () if before is None else (real_facts(number, before, conduct.rules.concurrent),)
    clusters = ("http://flink:8081",) * len(facts)
    return a_job(job_id(number), after=facts, clusters=clusters)


def _clusters(number: int, rest: Rest | None, conduct: Conduct) -> list[ClusterFacts]:
    facts = () if rest is None else (real_facts(number, rest, conduct.rules.concurrent),)
    return [a_cluster(*facts, uri="http://flink:8081")]


def _delete(world: World, index: int, _: Conduct) -> Steps:
    due = world.collectors[index].due
    yield _told_due("deletes", due), _deleted(world, due)


def _end(world: World, index: int, conduct: Conduct) -> Steps:
    after = with_collector(world, index, rested(world.collectors[index], conduct))
    yield "ends", after._replace(holder=-1) if world.holder == index else after


OPERATIONS: dict[str, Callable[[World, int, Conduct], Steps]] = {
    **reads.OPERATIONS,
    "lock": _lock,
    "judge": _judge,
    "look": _look,
    "delete": _delete,
    "end": _end,
}
"""Reads and actions, by the names that a program uses."""
