"""Answers of clusters and HA metadata about each job, by the directories that they concern."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flinkstate.places.locations import Location, place_of
from orphangc.collect.mark.job_directories import JobDirectories
from orphangc.collect.observe.observation import Observation
from orphangc.core.cluster.ha_facts import HaFacts, Hold
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.cluster.placement import Home, JobAnswer, holders_for, home_of, job_answers
from orphangc.core.decision.evidence import Checkpoint, JobReport
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId


@dataclass(slots=True)
class JobReports:
    """What is said of every job, by job key.

    Attributes:
        jobs: Reports of directories, and of clusters that write to other places.
        clusters: Clusters that run a job of the id after the checkpoints were read, by job id.
        holds: Holds of any job of the id, by job id.
        elsewhere: Keys of the jobs for which a hold may be of another job of the id.
    """

    jobs: dict[str, JobReport] = field(default_factory=dict)
    clusters: dict[str, frozenset[str]] = field(default_factory=dict)
    holds: dict[str, frozenset[str]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)

    def add(self, key: str, answer: JobAnswer) -> None:
        """Count an answer for a job."""
        report = self.jobs[key]
        before = () if answer.before is None else (answer.before,)
        after = () if answer.after is None else (answer.after,)
        self.jobs[key] = replace(
            report,
            before=(*report.before, *before),
            after=(*report.after, *after),
            clusters=(*report.clusters, *(answer.uri for _ in after)),
        )


def job_reports(observation: Observation, known: JobDirectories) -> JobReports:
    """Return what is said of each job that has a directory, is alive, or is held."""
    answers = job_answers(observation.before.clusters, observation.after.clusters)
    before, after = holds_by_job(observation.before.ha), holds_by_job(observation.after.ha)
    folders = {each for facts in observation.after.ha for each in facts.folders}
    is_ha_known = (
        bool(observation.before.ha and observation.after.ha)
        # a wrong namespace or path shows nothing at all, too
        and all(each.things for each in observation.answers.ha)
        and not observation.answers.errors
    )
    found = JobReports({key: JobReport(job_id=job_id) for key, job_id in known.job_ids.items()})
    ids = {job_id for job_id in known.job_ids.values() if job_id}
    for job_id in sorted({*ids, *answers, *before, *after}):
        holds = {hold.uri: hold for hold in (*before.get(job_id, ()), *after.get(job_id, ()))}
        mine = answers.get(JobId(job_id), [])
        found.clusters[job_id] = frozenset(
            each.uri for each in mine if each.after and not each.after.is_globally_terminal
        )
        found.holds[job_id] = frozenset(holds)
        directories = known.of_id(job_id)
        if not directories:
            _report_without_directory(found, job_id, mine, (before, after))
            continue
        placed = [(each, home_of(each, directories, observation.settings.aliases)) for each in mine]
        is_decided = (is_ha_known and not holds) or (bool(holds) and len(directories) == 1)
        _add_answers(found, known, placed, directories, is_decided=is_decided)
        matched = {
            uri: holders_for(
                hold, placed, folders, directories=directories, aliases=observation.settings.aliases
            )
            for uri, hold in holds.items()
        }
        _add_holds(found, directories, matched, (before.get(job_id, ()), after.get(job_id, ())))
    return found


def _report_without_directory(
    found: JobReports,
    job_id: str,
    answers: Sequence[JobAnswer],
    holds: tuple[Mapping[str, tuple[Hold, ...]], Mapping[str, tuple[Hold, ...]]],
) -> None:
    """Add a job without any observed fact, if a hold shows that it is not over."""
    before, after = holds[0].get(job_id, ()), holds[1].get(job_id, ())
    if not (before or after or any(each.is_living for each in answers)):
        return
    found.jobs[job_id] = JobReport(job_id=JobId(job_id), held_before=before, held_after=after)
    for each in answers:
        found.add(job_id, each)


def _add_answers(
    found: JobReports,
    known: JobDirectories,
    placed: Sequence[tuple[JobAnswer, Home]],
    directories: Mapping[str, Sequence[Location]],
    *,
    is_decided: bool,
) -> None:
    """Count each answer for the jobs that it concerns; an unplaced one protects what it names.

    What was merely restored, or reports nothing, shows a job alive, and never that it has ended,
    unless HA metadata decides that (``is_decided``) and no checkpoint contradicts it. Nor does an
    end where another cluster runs the id: its configuration is elsewhere, and its code may be here.
    """
    unplaced: list[str] = []
    proven: set[str] = set()
    for answer, home in placed:
        for key in home.keys:
            is_empty = key not in known.with_checkpoints
            if home.is_proven or answer.is_living or (is_decided and is_empty):
                found.add(key, answer)
                proven |= {key} if home.is_proven and answer.is_living else set()
        if not home.keys and answer.is_living:
            unplaced.append(answer.uri)
            apart = f"{answer.job_id}@{answer.uri}"
            found.jobs[apart] = JobReport(job_id=answer.job_id)
            found.add(apart, answer)
        elif not home.is_proven and answer.is_living and len(directories) > 1:
            unplaced.append(answer.uri)
    for key in directories:
        report = found.jobs[key]
        living = tuple(answer.uri for answer, _ in placed if answer.is_living)
        doubted = living if key in known.unclaimed else unplaced
        if key not in proven:
            doubt = tuple(uri for uri in doubted if uri not in report.clusters)
            found.jobs[key] = replace(report, unplaced=doubt)


def _add_holds(
    found: JobReports,
    directories: Mapping[str, Sequence[Location]],
    matched: Mapping[str, Home],
    holds: tuple[Iterable[Hold], Iterable[Hold]],
) -> None:
    before, after = (tuple(each) for each in holds)
    every = {hold.uri: hold for hold in (*before, *after)}
    loose = {
        every[uri].cluster
        for uri, each in matched.items()
        if not each.is_proven and not each.is_elsewhere and every[uri].cluster
    }
    certain = {
        key: {
            every[uri].cluster
            for uri, each in matched.items()
            if each.is_proven and key in each.keys
        }
        - {""}
        for key in directories
    }
    free = sum(not certain[key] for key in directories)
    for key in directories:
        is_tight = len(directories) == 1 or len(loose) > free
        found.jobs[key] = replace(
            found.jobs[key],
            held_before=tuple(hold for hold in before if key in matched[hold.uri].keys),
            held_after=tuple(hold for hold in after if key in matched[hold.uri].keys),
            holders=frozenset(certain[key] | (loose if is_tight else set())),
            proven_holders=frozenset(certain[key]),
        )
        if any(not matched[hold.uri].is_proven for hold in (*before, *after)):
            found.elsewhere.add(key)


def holds_by_job(asked: Iterable[HaFacts]) -> dict[str, tuple[Hold, ...]]:
    """Return the holds of each job; two paths of one ZooKeeper may show the same node."""
    found: dict[str, dict[str, Hold]] = {}
    for facts in asked:
        for hold in facts.holds:
            found.setdefault(hold.job_id, {})[hold.uri] = hold
    return {job_id: tuple(holds.values()) for job_id, holds in found.items()}


def reported_ids(
    facts: Iterable[JobFacts],
    settings: StorageRootSettings,
    by_folder: Mapping[Location, Checkpoint],
) -> frozenset[int]:
    """Return the ids that Flink reports for the job at places where a checkpoint of it was read."""
    reported = {(each.id, each.external_path) for one in facts for each in one.checkpoints}
    reported |= {(one.restored.id, one.restored.external_path) for one in facts if one.restored}
    return frozenset(
        checkpoint_id
        for checkpoint_id, path in reported
        if (place := place_of(path, settings.aliases)) in by_folder
        and place is not None
        and by_folder[place].checkpoint_id == checkpoint_id
    )
