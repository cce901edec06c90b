"""Facts about jobs from the paths of ZooKeeper's nodes.

Source: Flink 1.14-2.3 ``ZooKeeperUtils``, ``ZooKeeperLeaderElectionHaServices``
(``<cluster>/jobs/<job id>/checkpoints/<id>``); up to 1.13 ``HighAvailabilityOptions``
(``<cluster>/checkpoints/<job id>/<id>``, ``<cluster>/checkpoint-counter/<job id>``).
"""

import re
from collections.abc import Iterable

from orphangc.core.cluster.ha_facts import HaFacts, Hold, checkpoint_id_of
from orphangc.core.model.types import EvidenceSource, JobId

_JOB = r"(?P<job>[0-9a-f]{32})"
_OF_NO_JOB = "(?:leader|leaderlatch|running_job_registry|applications)/"
"""Nodes that outlive jobs, and the id of an application is none of a job."""
_PLACES = (
    re.compile(rf"(?P<cluster>.*)/jobs/{_JOB}(?:/(?P<rest>.*))?", re.ASCII | re.DOTALL),
    re.compile(
        rf"(?P<cluster>.*)/(?!{_OF_NO_JOB})(?P<kind>[^/]+)/{_JOB}(?:/(?P<rest>.*))?",
        re.ASCII | re.DOTALL,
    ),
)
"""Options name the nodes of the second form: ``high-availability.zookeeper.path.checkpoints``."""
_LEADERS = re.compile(
    r".*/leader(?:latch)?/(?:dispatcher|resource_manager|rest_server)(?:_lock)?(?:/.*)?", re.DOTALL
)
"""Nodes that any Flink has, whether it runs jobs or not; other programs have leaders, too."""
_OF_FLINK = {
    *("jobs", "checkpoints", "checkpoint-counter", "jobgraphs", "executionplans"),
    "execution-plans",
}
_PORT = 2181


def zookeeper_address(quorum: str, *below: str) -> str:
    """Return the servers of a quorum, each with its port, and the path of some parts below it.

    Source: Flink 1.11-2.3, ``ZooKeeperUtils``: ZooKeeper's client takes the quorum as it is, and
    that may end in a path itself; slashes around a part mean nothing.
    """
    servers, _, above = quorum.partition("/")
    hosts = (each.strip() for each in servers.split(","))
    spelled = ",".join(each if ":" in each else f"{each}:{_PORT}" for each in hosts)
    return "/".join((spelled, *filter(None, (each.strip("/ ") for each in (above, *below)))))


def zookeeper_facts(uri: str, ensemble: str, paths: Iterable[str]) -> HaFacts:
    """Return the facts of the nodes; leaders' nodes prove no job, they outlive their jobs.

    Only nodes of Flink's are counted: a path without any is another program's, or a mistyped one.

    Args:
        ensemble: Name of the ZooKeeper, whatever path below it was requested.
    """
    jobs: dict[tuple[str, str], set[int]] = {}
    count = 0
    for path in paths:
        match = next((m for each in _PLACES if (m := each.fullmatch(path)) is not None), None)
        kind = "" if match is None else match.groupdict().get("kind", "jobs")
        count += kind in _OF_FLINK or _LEADERS.fullmatch(path) is not None
        if match is not None:
            cluster = f"zookeeper://{ensemble}{match['cluster']}"
            ids = jobs.setdefault((cluster, match["job"]), set())
            folder, _, name = (match["rest"] or "").rpartition("/")
            is_one = folder == ("checkpoints" if kind == "jobs" else "")
            if is_one and (found := checkpoint_id_of(name)) is not None:
                ids.add(found)
    return HaFacts(
        uri=uri,
        holds=tuple(
            Hold(
                job_id=JobId(job_id),
                source=EvidenceSource.ZOOKEEPER,
                uri=f"{cluster}#{job_id}",  # the same whichever of its nodes there are
                cluster=cluster,
                retained_ids=frozenset(ids),
            )
            for (cluster, job_id), ids in sorted(jobs.items())
        ),
        things=count,
    )
