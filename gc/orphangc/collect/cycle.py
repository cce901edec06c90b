"""One complete cycle: observe, mark, survey, judge, decide. It changes nothing anywhere."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from flinkstate.files.paths import overlap, spellings
from flinkstate.places.locations import Location
from orphangc.collect.decide.abandoned_savepoints import abandoned_savepoints
from orphangc.collect.decide.assemble_plan import missing_by_job, plan_of
from orphangc.collect.decide.decide_listing import DecidedListing, decide_listing
from orphangc.collect.decide.judged_cycle import JudgedCycle, judged_cycle, marked_cycle
from orphangc.collect.dependencies.checkpoint_holds import CheckpointHolds, PinnedPlaces
from orphangc.collect.dependencies.foreign_usage import ForeignUsages, foreign_usages_of
from orphangc.collect.dependencies.origins import OriginFacts, Origins
from orphangc.collect.mark.mark import Mark, MarkedCycle, pinned_places
from orphangc.collect.mark.missing import check_standing
from orphangc.collect.mark.pins import pinned_uuids
from orphangc.collect.mark.since_listing import listed_at
from orphangc.collect.mark.survey import Surveyed
from orphangc.collect.mark.survey_listing import ListingSurvey, survey_listing
from orphangc.collect.observe.observation import Environment, Observation, observe
from orphangc.collect.world.recalling import NOTHING_RECALLED, Recalled, with_expiries, with_memory
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.decision.evidence import CycleEvidence
from orphangc.core.decision.judge import Judgement, is_over
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.codes import Guard
from orphangc.errors import RefusedError
from orphangc.ports import VerdictSink


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What one cycle found, phase by phase; each phase knows those before it.

    Attributes:
        origin_facts: What the origins of its jobs are known by.
        plan: Unsigned: the verdict files are not in it yet.
        expiries: What expiries left in any place that was searched.
    """

    marked: MarkedCycle
    survey: ListingSurvey
    known: JudgedCycle
    decided: DecidedListing
    origin_facts: OriginFacts
    foreign_usages: ForeignUsages
    plan: Plan
    remembered: WorldMemory
    tombstones: Tombstones
    expiries: tuple[ExpiryMarker, ...] = ()

    @property
    def seen(self) -> Observation:
        """Return the facts that were gathered first."""
        return self.marked.seen

    @property
    def mark(self) -> Mark:
        """Return the live set, with the jobs and their checkpoints."""
        return self.marked.mark

    @property
    def evidence(self) -> CycleEvidence:
        """Return what concerns all jobs."""
        return self.known.evidence


def run_cycle(
    environment: Environment,
    *,
    tombstones: Tombstones,
    halted: str | None,
    open_sink: Callable[[], VerdictSink],
    before: Recalled = NOTHING_RECALLED,
) -> Cycle:
    """Return the outcome of one cycle; every object's verdict goes to a sink.

    Raises:
        StorageUnreachableError: The storage root could not be listed completely.
        RefusedError: No job directory is there: an empty listing proves no empty storage.
    """
    seen = observe(environment)
    pinned = pinned_uuids(environment, pinned_places(seen))
    marked = marked_cycle(seen, environment, pinned=pinned)
    survey = _survey(marked, environment, tombstones=tombstones)
    expiries = seen.expiries(environment)
    recalled = _recalled(before, seen, environment, expiries)
    known = judged_cycle(marked, environment, survey, halted=halted, before=recalled)
    savepoints = abandoned_savepoints(seen, marked.mark, surveyed=survey.surveyed, known=known)
    decided = decide_listing(
        environment, marked.mark, known, open_sink=open_sink, savepoints=savepoints
    )
    collected = (view.evidence for view in decided.views.values())
    missing = missing_by_job(collected, survey.missing, seen, environment.storage)
    origin_facts = _origin_facts(marked, known)
    usages = replace(
        _foreign_usages(marked, survey, known, missing, environment=environment),
        quarantines=_unread(expiries, seen),
        origins=Origins.of(origin_facts),
    )
    plan = plan_of(
        marked, survey, known, decided, missing=missing, usages=usages, environment=environment
    )
    return Cycle(
        marked=marked,
        survey=survey,
        known=known,
        decided=decided,
        origin_facts=origin_facts,
        foreign_usages=usages,
        plan=with_memory(plan, known.comparison, recalled.expected),
        remembered=_with_standing(known.comparison.memory, before, recalled),
        tombstones=tombstones,
        expiries=expiries,
    )


def _recalled(
    before: Recalled, seen: Observation, environment: Environment, expiries: Iterable[ExpiryMarker]
) -> Recalled:
    """Return what earlier cycles saw, and what the markers of expiries show of it to be lost.

    A checkpoint names files only of the storage root whose expiry let it go; so that of any one
    that overlaps with this one may need files here, wherever it is.
    """
    root, now = environment.storage.location, seen.time.now or seen.time.local
    near = [
        each for each in expiries if each.state and (each.root is None or overlap(each.root, root))
    ]
    return with_expiries(before, root, near, now)


def _unread(expiries: Iterable[ExpiryMarker], seen: Observation) -> tuple[ExpiryMarker, ...]:
    """Return the markers of quarantines of which the state location does not have the copies."""
    known = frozenset().union(*map(spellings, seen.quarantined))
    return tuple(e for e in expiries if e.state and known.isdisjoint(spellings(e.folder)))


def _survey(
    marked: MarkedCycle, environment: Environment, *, tombstones: Tombstones
) -> ListingSurvey:
    seen, storage = marked.seen, environment.storage
    is_listed_now = listed_at(seen, storage) is None
    if is_listed_now:
        before, after = (part[0].scan for part in (seen.first, seen.second))
        check_standing(before, after, environment.engine.metadata_objects())
    survey = survey_listing(environment, marked, tombstones)
    shown = survey.surveyed if is_listed_now else Surveyed()
    _check_is_storage_root(storage.location, marked.mark, shown, seen)
    return survey


def _foreign_usages(
    marked: MarkedCycle,
    survey: ListingSurvey,
    known: JudgedCycle,
    missing: Mapping[str, Sequence[str]],
    *,
    environment: Environment,
) -> ForeignUsages:
    usages = foreign_usages_of(
        environment,
        marked.mark,
        jobs=known.jobs,
        judged=known.judged,
        missing=missing,
        held=survey.surveyed.held,
        cycle=known.evidence,
    )
    answers = marked.seen.answers
    named = (
        *((place, ("resource", by)) for place, by in answers.named_by_resources()),
        *((place, ("named_by", by)) for place, by in answers.named_by_configurations()),
    )
    pinned = PinnedPlaces(tuple(dict.fromkeys(environment.settings.pins)))
    return replace(usages, holds=CheckpointHolds(named, pinned), beside=known.living_beside)


def _origin_facts(marked: MarkedCycle, known: JudgedCycle) -> OriginFacts:
    found = {**known.beside, **known.jobs}
    return OriginFacts(
        marked=marked,
        jobs=known.jobs,
        beside=known.beside,
        memory=known.comparison.memory,
        over={
            key
            for key, job in found.items()
            if is_over(job, known.judged.get(key, Judgement()), known.evidence)
        },
        now=known.evidence.now,
    )


def _with_standing(memory: WorldMemory, before: Recalled, recalled: Recalled) -> WorldMemory:
    """Return a memory that also holds what the markers of expiries showed to be lost."""
    new = [each for each in recalled.standing if each not in before.standing]
    return memory.model_copy(update={"standing": (*memory.standing, *new)})


def _check_is_storage_root(
    base: Location, marked: Mark, surveyed: Surveyed, seen: Observation
) -> None:
    folders = (each.folder for each in marked.checkpoints if each.folder != base)
    is_anything_below = any(map(base.contains, (*marked.owners.keys, *folders)))
    if not (surveyed.jobs or seen.unreadable or is_anything_below):
        raise RefusedError(
            f"no job directory below {base} ({surveyed.objects} objects listed);"
            " is this the storage root? Nothing was planned",
            guard=Guard.NO_ROOTS,
        )
    broken = [each for each in seen.unreadable if not each.is_acknowledged]
    if broken and not marked.jobs:
        raise RefusedError(f"{broken[0].problem}; nothing was planned", guard=Guard.UNREADABLE_ROOT)
