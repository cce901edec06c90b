"""What a cluster's REST API says of its configuration, and of where its jobs keep checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orphangc.core.cluster.job_facts import NOT_ADDRESSABLE, CheckpointFacts, ClusterFacts, JobFacts
from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DirectoryFact,
    DirectoryUse,
    Fact,
    Origin,
    PinFact,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.cluster_services import ha_facts
from orphangc.core.discovery.sources.operator_resources import with_missing_directory
from orphangc.core.discovery.texts.flink_options import (
    FoundOptions,
    Reading,
    pinned,
    text_options,
)
from orphangc.core.discovery.texts.job_arguments import configuration_facts
from orphangc.core.discovery.texts.unread_options import without_sources
from orphangc.core.model.locations import canonical
from orphangc.core.model.owners import job_directory_of

_MEMORY = frozenset({"JobManagerCheckpointStorage", "MemoryStateBackend"})
"""Storages of checkpoints in the JobManager's memory.

Source: Flink 1.14-2.3, ``JobManagerCheckpointStorage``, ``MemoryStateBackend``.
"""


def cluster_resource(uri: str, shown: ClusterFacts | str, reading: Reading) -> ResourceFacts:
    """Return the facts of a cluster.

    Args:
        uri: Its address.
        shown: Its answer, or the reason why there is none.
        reading: How its paths are read.

    """
    origin = Origin(kind="Cluster", namespace="", name=uri)
    found = gathered_facts(origin, _facts(uri, shown, origin, reading))
    if isinstance(shown, str):
        return found
    return with_missing_directory(found, text_options(shown.options))


def confirmed_in_memory(shown: ClusterFacts) -> bool:
    """Return whether every job of a cluster keeps its checkpoints in the JobManager's memory.

    A job that cannot checkpoint keeps none. Without a job nothing is known.
    """
    return bool(shown.jobs) and all(map(_is_in_memory, shown.jobs.values()))


def _is_in_memory(job: JobFacts) -> bool:
    return job.max_concurrent is None or job.checkpoint_storage in _MEMORY


def _facts(uri: str, shown: ClusterFacts | str, origin: Origin, reading: Reading) -> Iterator[Fact]:
    yield ClusterFact(uri=uri, origin=origin)
    if isinstance(shown, str):
        yield UnclearFact(why=shown, is_everywhere=True, is_until_read=True, origin=origin)
        return
    content = without_sources(shown.options)
    reading = replace(reading, options=text_options(content))
    yield from configuration_facts(FoundOptions(content, origin), reading)
    yield from ha_facts(reading.options, origin, "default")
    for job_id, job in shown.jobs.items():
        where = origin.of(f"jobs.{job_id}")
        for each in job.checkpoints:
            yield from _of_checkpoint(each, where, reading)
        if job.restored is not None:
            yield from _of_path(job.restored.external_path, where, reading)


def _of_checkpoint(shown: CheckpointFacts, where: Origin, reading: Reading) -> Iterator[Fact]:
    if not shown.discarded:
        for fact in _of_path(shown.external_path, where, reading):
            yield fact if shown.is_savepoint else _around(fact)


def _of_path(path: str | None, where: Origin, reading: Reading) -> Iterator[PinFact | UnclearFact]:
    if path and path != NOT_ADDRESSABLE:
        yield from pinned(path, where, reading)


def _around(fact: PinFact | UnclearFact) -> Fact:
    """Return the directory of checkpoints around one of them, if its path shows it."""
    if isinstance(fact, UnclearFact):
        return fact.model_copy(
            update={"use": DirectoryUse.CHECKPOINTS, "reach": (), "is_everywhere": True}
        )
    directory = job_directory_of(canonical(fact.uri))
    if directory is None:
        return fact
    return DirectoryFact(
        uri=str(directory.parent), use=DirectoryUse.CHECKPOINTS, origin=fact.origin
    )
