"""The report of one cycle's lineages: fates by policy, bytes by lineage, and what nothing needs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle, run_cycle
from orphangc.collect.expire.held_bytes import HeldBytes, HeldBytesPass, NamedFiles, incomplete
from orphangc.collect.expire.lineage_facts import CycleLineages, cycle_lineages
from orphangc.collect.expire.savepoint_folders import (
    NO_SAVEPOINTS,
    SavepointFolders,
    savepoint_folders,
)
from orphangc.collect.observe.observation import Environment
from orphangc.collect.state.store import RootState
from orphangc.collect.world.recalling import Recalled
from orphangc.core.documents.lineage_report import (
    ContinuationPart,
    LineageCheckpointPart,
    LineageJobPart,
    LineagePart,
    LineageReport,
    UnneededPart,
)
from orphangc.core.lineage.checkpoint_fates import CheckpointFate, RetentionAction
from orphangc.core.lineage.lineage_graph import Lineage
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.tallies import Amount
from orphangc.core.model.types import Reason
from orphangc.ports import Progress
from orphangc.ports.engine import Engine

_NO_GROUP, _ALL = -1, ""


class _Weighed(NamedTuple):
    """What each lineage, job and checkpoint holds, and all that nothing needs or that expires."""

    lineages: Mapping[object, Amount]
    jobs: Mapping[object, Amount]
    unneeded_of: Mapping[object, Amount]
    unneeded: Mapping[object, Amount]
    expiring: Mapping[object, Amount]
    checkpoints: Mapping[object, Amount]


def lineage_report(
    cycle: Cycle, policy: RetentionPolicy | None, environment: Environment
) -> LineageReport:
    """Return the lineages of a cycle, with the fate of each checkpoint and the bytes it holds."""
    settings = environment.settings
    savepoints = _savepoints(cycle, policy, environment)
    known = cycle_lineages(cycle, policy=policy, savepoints=savepoints)
    fates = known.fates()
    is_now = cycle.evidence.listed_at is None
    known = known.without(
        incomplete(fates, known.by_folder, environment, settings.aliases, is_listed_now=is_now)
    )
    fates = known.fates()
    weighed = _weighed(known, fates, environment.engine, environment.progress)
    base = cycle.mark.owners.base
    beside = {each.checkpoint.uri: _beside(each, base, savepoints) for each in fates}
    expiring = [each for each in fates if each.action is RetentionAction.EXPIRE]
    unneeded = [each for each in fates if not each.is_needed]
    by_uri = {each.checkpoint.uri: each for each in fates}
    return LineageReport(
        root=cycle.plan.root,
        created_at=cycle.evidence.now,
        policy=policy,
        lineages=tuple(_part(each, weighed, by_uri, beside) for each in known.lineages),
        unneeded_bytes=weighed.unneeded[_ALL].bytes
        + sum(beside[each.checkpoint.uri] for each in unneeded),
        unneeded_objects=weighed.unneeded[_ALL].objects,
        expiring_bytes=weighed.expiring[_ALL].bytes
        + sum(beside[each.checkpoint.uri] for each in expiring),
        expiring_objects=weighed.expiring[_ALL].objects,
        impossible=known.impossible,
    )


def _savepoints(
    cycle: Cycle, policy: RetentionPolicy | None, environment: Environment
) -> SavepointFolders:
    """Return what is known of the folders of savepoints; without a policy none of them ends."""
    if policy is None:
        return NO_SAVEPOINTS
    searched = [each.location for each in (environment.storage, *environment.extra)]
    others = [each.location for each in environment.siblings]
    return savepoint_folders(
        cycle,
        policy,
        environment.open_storage,
        searched,
        of_others=[each for each in others if not each.contains(searched[0])],
    )


def _beside(fate: CheckpointFate, base: Location, savepoints: SavepointFolders) -> int:
    """Return the bytes of a savepoint that no listing of the storage root shows.

    Of one that shares files with other checkpoints it is not known which of them need those.
    """
    folder = canonical(fate.checkpoint.uri)
    is_counted = not base.contains(folder) and folder in savepoints.collectable
    return savepoints.sizes[folder] if is_counted else 0


def _weighed(
    known: CycleLineages, fates: Sequence[CheckpointFate], engine: Engine, progress: Progress
) -> _Weighed:
    jobs = [each.lineage.job_at(each.checkpoint.place) for each in fates]
    divisions: tuple[Sequence[object], ...] = (
        [id(each.lineage) for each in fates],
        [None if job is None else job.key for job in jobs],
        [None if each.is_needed else id(each.lineage) for each in fates],
        [None if each.is_needed else _ALL for each in fates],
        [_ALL if each.action is RetentionAction.EXPIRE else None for each in fates],
        [each.checkpoint.uri for each in fates],  # one that is stored again is there twice
    )
    numbers = [{group: at for at, group in enumerate({*groups} - {None})} for groups in divisions]
    files = NamedFiles.divided(
        [known.by_folder[each.checkpoint.uri] for each in fates],
        [
            [number.get(group, _NO_GROUP) for group in groups]
            for number, groups in zip(numbers, divisions, strict=True)
        ],
    )
    work = HeldBytesPass(divisions=(*zip(files, map(len, numbers), strict=True),))
    found = engine.run(work, progress)
    return _Weighed(*map(_amounts, numbers, found))


def _amounts(numbers: Mapping[object, int], held: HeldBytes) -> Mapping[object, Amount]:
    sums = {each: Amount(int(held.objects[at]), int(held.size[at])) for each, at in numbers.items()}
    return defaultdict(Amount, sums)


def _part(
    lineage: Lineage,
    weighed: _Weighed,
    fates: Mapping[str, CheckpointFate],
    beside: Mapping[str, int],
) -> LineagePart:
    lives = [job.last_life_at for job in lineage.jobs if job.last_life_at is not None]
    return LineagePart(
        name=lineage.name,
        is_over=lineage.is_over,
        last_life_at=max(lives, default=None),
        bytes_only=weighed.lineages[id(lineage)].bytes,
        unneeded_bytes=weighed.unneeded_of[id(lineage)].bytes,
        unneeded_objects=weighed.unneeded_of[id(lineage)].objects,
        jobs=tuple(
            LineageJobPart.like(job, directories=job.places, bytes_only=weighed.jobs[job.key].bytes)
            for job in lineage.jobs
        ),
        checkpoints=tuple(
            _checkpoint_part(fates[e.uri], weighed.checkpoints[e.uri].bytes + beside.get(e.uri, 0))
            for e in lineage.checkpoints
        ),
        continuations=tuple(map(ContinuationPart.like, lineage.continuations)),
    )


def _checkpoint_part(fate: CheckpointFate, size: int) -> LineageCheckpointPart:
    checkpoint, lineage = fate.checkpoint, fate.lineage
    maker = lineage.job_at(checkpoint.place)
    restored = {
        job.job_id
        for edge in lineage.restored_by(checkpoint.uri)
        if (job := lineage.job_of_place.get(edge.newer)) is not None
    }
    return LineageCheckpointPart.like(
        checkpoint,
        job_id="" if maker is None else maker.job_id,
        action=fate.action,
        reason=fate.reason,
        why=fate.why,
        restored_by=tuple(sorted(restored)),
        bytes_only=size,
    )


def unneeded_part(cycle: Cycle, engine: Engine, progress: Progress) -> UnneededPart:
    """Return what nothing living needs; only a part of all takes a pass over the listing."""
    known = cycle_lineages(cycle, asks_usage=False)
    fates = known.fates()
    part = counted_unneeded(fates)
    if not part.checkpoints:
        return part
    if part.checkpoints == len(cycle.mark.checkpoints) and _names_alone(cycle):
        own = [each for each in cycle.plan.tallies if each.reason is Reason.REFERENCED]
        objects, size = sum(each.objects for each in own), sum(each.bytes for each in own)
        return part.model_copy(update={"objects": objects, "bytes": size})
    folders = {each.checkpoint.uri for each in fates if not each.is_needed}
    unneeded = [known.by_folder[uri] for uri in sorted(folders)]
    needed = (each for uri, each in known.by_folder.items() if uri not in folders)
    files = NamedFiles.of((each, 0) for each in unneeded).without(needed)
    work = HeldBytesPass(divisions=((files, 1),))
    (found,) = engine.run(work, progress)
    return part.model_copy(update={"objects": int(found.objects[0]), "bytes": int(found.size[0])})


def _names_alone(cycle: Cycle) -> bool:
    """Return whether checkpoints alone make files live, and every job was judged.

    Then, if nothing needs any of them, the verdicts say what they hold.
    """
    is_refused = any(each.refused is not None for each in cycle.known.judged.values())
    return not (is_refused or cycle.seen.answers.snapshots or cycle.plan.settings.pin)


def counted_unneeded(fates: Sequence[CheckpointFate]) -> UnneededPart:
    """Return how many checkpoints nothing living needs; their files are not weighed."""
    unneeded = [each for each in fates if not each.is_needed]
    makers = (each.lineage.job_at(each.checkpoint.place) for each in unneeded)
    lives = [job.last_life_at for job in makers if job is not None]
    return UnneededPart(
        checkpoints=len(unneeded),
        lineages=len({id(each.lineage) for each in unneeded}),
        last_life_at=min((life for life in lives if life is not None), default=None),
    )


# --- a cycle with the fate of every checkpoint in it; its verdicts on single files are not kept


class DiscardingSink:
    """Discards the verdicts of a cycle."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Discard rows."""

    def close(self) -> None:
        """Do nothing; no file is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageCycle:
    """A fresh cycle, and the fate of every checkpoint in it."""

    cycle: Cycle
    report: LineageReport


def lineage_cycle(
    environment: Environment, policy: RetentionPolicy | None, *, state: RootState, before: Recalled
) -> LineageCycle:
    """Return a fresh cycle of an opened storage root, with its lineages."""
    cycle = run_cycle(
        environment,
        tombstones=state.tombstones(),
        halted=state.halted(),
        open_sink=DiscardingSink,
        before=before,
    )
    report = lineage_report(cycle, policy, environment)
    return LineageCycle(cycle=with_warnings(cycle, policy_warnings(report)), report=report)


def with_warnings(cycle: Cycle, more: Iterable[str]) -> Cycle:
    """Return a cycle whose plan has more warnings."""
    plan = cycle.plan.model_copy(update={"warnings": (*cycle.plan.warnings, *more)})
    return replace(cycle, plan=plan)


def policy_warnings(report: LineageReport) -> Iterator[str]:
    """Yield a warning for each slip in a policy: a name of no lineage, or in use, a false edge."""
    yield from report.impossible
    for name in report.unknown_names:
        yield (
            f"the retention policy names {name}, which is no resource and no job id of any"
            " lineage: correct it, or remove it; until then its rules count for every lineage"
        )
    for name in report.names_in_use:
        yield (
            f"the retention policy declares {name} dead, and a job of that name is not over: remove"
            " the name, or all that this job leaves may go once it is over"
        )
