"""What a cluster's REST API says of its own configuration, where no resource stands for it."""

from __future__ import annotations

from collections.abc import Iterator

from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DirectoryUse,
    Fact,
    Origin,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.flink_options import Reading, directory_fact

_OPTION = "execution.checkpointing.dir"


def cluster_resource(uri: str, shown: ClusterFacts | str, reading: Reading) -> ResourceFacts:
    """Return the facts of a cluster.

    Args:
        uri: Its address.
        shown: Its answer, or the reason why there is none.
        reading: How its paths are read.

    """
    origin = Origin(kind="Cluster", namespace="", name=uri)
    return gathered_facts(origin, _facts(uri, shown, origin, reading))


def _facts(uri: str, shown: ClusterFacts | str, origin: Origin, reading: Reading) -> Iterator[Fact]:
    yield ClusterFact(uri=uri, origin=origin)
    if isinstance(shown, str):
        yield UnclearFact(why=shown, is_everywhere=True, is_until_read=True, origin=origin)
        return
    where = origin.of(_OPTION)
    for path in sorted(shown.checkpoint_directories):
        yield directory_fact(path, DirectoryUse.CHECKPOINTS, where, reading)
