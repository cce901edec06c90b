"""Job directories that each answer of a cluster, and each hold of HA metadata, concerns.

Many clusters may run one job id: application clusters with a fixed id, or copies of one deployment.
So an answer counts for a directory only if its checkpoints are there (issue 13, point 4).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flinkstate.places.locations import Alias, Location, places_of
from orphangc.core.cluster.ha_facts import FolderNamed, Hold
from orphangc.core.cluster.job_facts import ClusterFacts, JobFacts
from orphangc.core.cluster.place_options import CHECKPOINT_OPTIONS
from orphangc.core.model.types import JobId

Directories = Mapping[str, Sequence[Location]]
"""Job directories by job key, all of one job id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """Answers of one cluster about one job id."""

    uri: str
    job_id: JobId
    before: JobFacts | None
    after: JobFacts | None
    cluster_ids: frozenset[str] = frozenset()
    checkpoint_directories: frozenset[str] = frozenset()

    @property
    def facts(self) -> tuple[JobFacts, ...]:
        """Return both answers, if there are any."""
        return tuple(each for each in (self.before, self.after) if each is not None)

    @property
    def is_living(self) -> bool:
        """Return whether one of them shows that the job is not over."""
        return any(not facts.is_globally_terminal for facts in self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where an answer, or a hold, belongs.

    Attributes:
        keys: Keys of the jobs that it concerns; empty if an answer fits none, and all of the job id
            if nothing distinguishes those of a hold.
        is_proven: An answer reports checkpoints of its own there, or is configured to write there.
            One that was merely restored from there, or reports nothing, proves no end. Of a hold,
            whether something distinguished its jobs.
        is_elsewhere: Whether its checkpoints, or its configuration, fit no directory.
    """

    keys: frozenset[str] = frozenset()
    is_proven: bool = False
    is_elsewhere: bool = False


def job_answers(
    before: Iterable[ClusterFacts], after: Iterable[ClusterFacts]
) -> dict[JobId, list[JobAnswer]]:
    """Return the answers about each job id, one a cluster."""
    first = {each.uri: each for each in before}
    last = {each.uri: each for each in after}
    found: dict[JobId, list[JobAnswer]] = {}
    for uri in dict.fromkeys((*first, *last)):
        some = [each[uri] for each in (first, last) if uri in each]
        for job_id in dict.fromkeys(job_id for each in some for job_id in each.jobs):
            answer = JobAnswer(
                uri=uri,
                job_id=job_id,
                before=first[uri].jobs.get(job_id) if uri in first else None,
                after=last[uri].jobs.get(job_id) if uri in last else None,
                cluster_ids=frozenset().union(*(each.cluster_ids for each in some)),
                checkpoint_directories=frozenset().union(
                    *(each.checkpoint_directories for each in some)
                ),
            )
            found.setdefault(job_id, []).append(answer)
    return found


def home_of(answer: JobAnswer, directories: Directories, aliases: Sequence[Alias]) -> Home:
    """Return the directories that an answer concerns.

    First count the checkpoints that it reports as its own, then its configuration, which a job's
    code may override, then what it was restored from. An answer that reports none of them may
    speak of the only directory there is.
    """
    shown = (each for facts in answer.facts for each in facts.checkpoints if not each.is_savepoint)
    own = {*places_of((each.external_path for each in shown), aliases)}
    if places := own or configured_directories(answer, aliases):
        keys = _lying_in(places, directories)
        return Home(keys=keys, is_proven=bool(keys), is_elsewhere=not keys)
    restored = (facts.restored.external_path for facts in answer.facts if facts.restored)
    keys = _lying_in({*places_of(restored, aliases)}, directories)
    if keys or len(directories) != 1:
        return Home(keys=keys)
    return Home(keys=frozenset(directories))


def configured_directories(answer: JobAnswer, aliases: Sequence[Alias]) -> set[Location]:
    """Return the job directories that an answer's cluster is configured to write into.

    Source: Flink 1.13-2.3, ``AbstractFsCheckpointStorageAccess``: a folder of the job id below the
    configured one.
    """
    bases = places_of(answer.checkpoint_directories, aliases)
    return {base.child(answer.job_id) for base in bases}


def _lying_in(places: Collection[Location], directories: Directories) -> frozenset[str]:
    return frozenset(
        key
        for key, own in directories.items()
        if any(directory.contains(place) for directory in own for place in places)
    )


def holders_for(
    hold: Hold,
    answers: Iterable[tuple[JobAnswer, Home]],
    folders: Iterable[FolderNamed],
    *,
    directories: Directories,
    aliases: Sequence[Alias],
) -> Home:
    """Return the jobs that HA metadata, or a resource, concerns.

    By a cluster that keeps HA metadata under that name and whose answer is placed, or by the
    folder that the resource of that name gives to checkpoints. What nothing can place holds every
    directory of its job id.
    """
    homes = [home for answer, home in answers if hold.cluster in answer.cluster_ids]
    keys = frozenset().union(*(home.keys for home in homes if home.is_proven))
    folders = [e for e in folders if e.option in CHECKPOINT_OPTIONS and _is_of(e, hold)]
    paths = (f"{each.path.rstrip('/')}/{hold.job_id}" for each in folders)
    named = [*places_of(paths, aliases)]
    keys |= _lying_in(named, directories)
    if keys:
        return Home(keys=keys, is_proven=True)
    is_elsewhere = bool(named) or (bool(homes) and all(home.is_elsewhere for home in homes))
    return Home(keys=frozenset(directories), is_elsewhere=is_elsewhere)


def _is_of(folder: FolderNamed, hold: Hold) -> bool:
    """Return whether a resource's configuration is that of the cluster that holds a job."""
    if folder.by == hold.uri:
        return True
    namespace, _, rest = folder.by.partition("/")
    return bool(hold.cluster) and hold.cluster == f"{namespace}/{rest.rpartition('/')[2]}"
