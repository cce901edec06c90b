"""What every source of a discovery says now, each asked once: clusters after what names them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from orphangc.collect.state.discovery_memory import Memories
from orphangc.core.cluster.rest_json import JOBS_PATH
from orphangc.core.discovery.discovered_facts import (
    CLUSTER,
    ClusterFact,
    Discovery,
    JobFact,
    Origin,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.discovered_world import silent_sources
from orphangc.core.discovery.sources.cluster_services import configured_facts
from orphangc.core.discovery.sources.read_resources import (
    FileText,
    NamespaceDocuments,
    discovery_of,
    plain_workloads,
)
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.model.types import JobId

_AT_ONCE = 16
"""Number of clusters that are asked at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswer:
    """What a cluster answered: its configuration and its jobs, or why it shows no configuration."""

    options: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[JobId, str] = field(default_factory=dict)
    problem: str = ""


def shown_now(
    namespaces: Sequence[NamespaceDocuments],
    files: Iterable[FileText],
    by_hand: Sequence[str],
    ask: Callable[[str], ClusterAnswer],
    *,
    reading: Reading,
    memories: Memories,
    selection: str,
) -> Discovery:
    """Return what all sources show now, and which of them cannot be read.

    Args:
        selection: Label selector of namespaces, or a word for all of them; "" without one.
    """
    found = discovery_of(namespaces, files, reading)
    plain = [each for one in namespaces for each in plain_workloads(one, reading)]
    asked = (e.uri for one in found.resources for e in one.clusters if e.is_asked)
    possible = (address for each in plain for address in each.addresses)
    addresses = tuple(dict.fromkeys((*by_hand, *asked, *possible)))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = dict(zip(addresses, pool.map(ask, addresses), strict=True))
    named = {uri: each.origin for each in plain for uri in each.addresses}
    known = clusters_before(memories)
    named = {uri: e for uri, e in named.items() if uri in known or not answers[uri].problem}
    named |= {each: Origin(kind=CLUSTER, namespace="", name=each) for each in by_hand}
    silent = [(named[each], answers[each].problem) for each in by_hand]
    speaking = {each.namespace for each in namespaces if each.problems or each.has_resources}
    return Discovery(
        resources=(*found.resources, *_clusters(answers, named, reading)),
        unclear=(
            *found.unclear,
            *memories.problems,
            *(UnclearFact(why=problem, origin=each) for each, problem in silent if problem),
            *silent_sources(
                speaking | {each.origin.namespace for each in plain},
                [each.namespace for each in namespaces if not each.is_selected],
                selection,
                {each.origin.namespace for each in memories.before.resources} - {""},
            ),
        ),
        unnamed=tuple(
            each.origin for each in plain if not any(map(named.__contains__, each.addresses))
        ),
    )


def clusters_before(memories: Memories) -> frozenset[str]:
    """Return the addresses at which clusters answered earlier cycles."""
    before = (each.origin for each in memories.before.resources)
    return frozenset(each.name for each in before if each.kind == CLUSTER)


def _clusters(
    answers: Mapping[str, ClusterAnswer], named: Mapping[str, Origin], reading: Reading
) -> Iterator[ResourceFacts]:
    """Yield what each cluster says that answers; a new one is to be asked, one by hand always.

    So is one that answered once, while its workload is there: it may have another job now.
    """
    answering = [uri for uri, each in answers.items() if not each.problem]
    for uri in dict.fromkeys((*answering, *named)):
        origin, answer = Origin(kind=CLUSTER, namespace="", name=uri), answers[uri]
        where, jobs = origin.of(JOBS_PATH), answer.jobs.items()
        facts = (
            *configured_facts(answer.options, origin, reading),
            *(JobFact(job_id=job, state=state, origin=where) for job, state in jobs),
            *([ClusterFact(uri=uri, origin=named[uri])] if uri in named else ()),
        )
        yield gathered_facts(origin, facts)
