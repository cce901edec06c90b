"""From answers to one world: what every source said, each asked once, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from flinkstate.places.locations import Alias, Location
from orphangc.core.cluster.rest_json import JOBS_PATH
from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    Discovery,
    JobFact,
    Origin,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.discovery.discovered_world import (
    DiscoveredWorld,
    silent_sources,
    world_of_discovery,
)
from orphangc.core.discovery.one_spelling import spelled_once, spellings
from orphangc.core.discovery.remembered_facts import DiscoveryMemory, united
from orphangc.core.discovery.sources.cluster_services import cluster_resource
from orphangc.core.discovery.sources.read_resources import (
    FileText,
    NamespaceDocuments,
    discovery_of,
    plain_workloads,
)
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.model.types import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswer:
    """What a cluster answered: its configuration and its jobs, or why it shows no configuration."""

    options: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[JobId, str] = field(default_factory=dict)
    problem: str = ""


class Sources:
    """What namespaces and files say, and the clusters that are to be asked then."""

    def __init__(
        self,
        namespaces: Sequence[NamespaceDocuments],
        files: Iterable[FileText],
        by_hand: Iterable[str],
        reading: Reading,
    ) -> None:
        """Read what namespaces and files say.

        Args:
            by_hand: Addresses of clusters that a person named, without credentials.
        """
        self.namespaces, self.by_hand, self._reading = namespaces, tuple(by_hand), reading
        self._found = discovery_of(namespaces, files, reading)
        self._plain = [each for one in namespaces for each in plain_workloads(one, reading)]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the address of every cluster that may answer, each once."""
        asked = (e.uri for one in self._found.resources for e in one.clusters if e.is_asked)
        possible = (address for each in self._plain for address in each.addresses)
        return tuple(dict.fromkeys((*self.by_hand, *asked, *possible)))

    def answered(
        self,
        answers: Mapping[str, ClusterAnswer],
        before: DiscoveryMemory,
        *,
        problems: Iterable[UnclearFact] = (),
        selection: str = "",
    ) -> Discovery:
        """Return what all of them show now, and which of them cannot be read.

        Args:
            problems: Why memories cannot be read.
            selection: Label selector of namespaces, or a word for all of them; "" without one.
        """
        silent = (
            UnclearFact(why=why, origin=_cluster(each))
            for each in self.by_hand
            if (why := answers[each].problem)
        )
        seen = {each.origin.namespace for each in before.resources} - {""}
        named = [each.namespace for each in self.namespaces if not each.is_selected]
        speaking = {e.namespace for e in self.namespaces if e.problems or e.has_resources}
        speaking |= {each.origin.namespace for each in self._plain}
        nothing = silent_sources(speaking, named, selection, seen)
        return Discovery(
            resources=(*self._found.resources, *self._clusters(answers)),
            unclear=(*self._found.unclear, *problems, *silent, *nothing),
            unnamed=tuple(
                each.origin
                for each in self._plain
                if all(answers[address].problem for address in each.addresses)
            ),
        )

    def _clusters(self, answers: Mapping[str, ClusterAnswer]) -> Iterator[ResourceFacts]:
        """Yield what each cluster says that answers; a new one is asked, one by hand always."""
        answering = [uri for uri, each in answers.items() if not each.problem]
        named = {u: each.origin for each in self._plain for u in each.addresses if u in answering}
        named |= {each: _cluster(each) for each in self.by_hand}
        for uri in dict.fromkeys((*answering, *named)):
            found = cluster_resource(uri, answers[uri].options, self._reading)
            new = (ClusterFact(uri=uri, origin=named[uri]),) if uri in named else ()
            yield found.model_copy(update={"clusters": new})


class Found(NamedTuple):
    """Facts of this cycle and earlier ones, their world, and what other spellings mean."""

    discovery: Discovery
    world: DiscoveredWorld
    aliases: tuple[Alias, ...]


def discover(
    shown: Discovery,
    before: DiscoveryMemory,
    *,
    configured: Sequence[str],
    namespaces: Iterable[str],
    real: Callable[[Location], Location],
) -> Found:
    """Return the world of what is shown now and of what earlier cycles discovered.

    Args:
        configured: Storage roots that are configured by hand.
        real: Returns a place without links.
    """
    aliases = spellings((*shown.resources, *before.resources), configured, real=real)
    known = united(_spelled_once(shown, aliases), _spelled_once(before, aliases))
    world = world_of_discovery(
        known,
        configured=configured,
        acknowledged={each.what for each in before.acknowledged},
        namespaces=namespaces,
    )
    return Found(known, world, aliases)


_Facts = TypeVar("_Facts", Discovery, DiscoveryMemory)


def _spelled_once(found: _Facts, aliases: Sequence[Alias]) -> _Facts:
    resources = tuple(spelled_once(each, aliases) for each in found.resources)
    return found.model_copy(update={"resources": resources})


def with_jobs(found: Discovery, answers: Mapping[str, ClusterAnswer]) -> Discovery:
    """Return a discovery with the jobs that clusters list now; no memory keeps them."""
    return found.model_copy(
        update={
            "resources": tuple(
                each.model_copy(update={"jobs": _jobs(each.origin, answers)})
                if each.is_present and each.origin.kind == "Cluster"
                else each
                for each in found.resources
            )
        }
    )


def _jobs(cluster: Origin, answers: Mapping[str, ClusterAnswer]) -> tuple[JobFact, ...]:
    origin, listed = cluster.of(JOBS_PATH), answers[cluster.name].jobs
    return tuple(JobFact(job_id=each, state=word, origin=origin) for each, word in listed.items())


def _cluster(address: str) -> Origin:
    return Origin(kind="Cluster", namespace="", name=address)
