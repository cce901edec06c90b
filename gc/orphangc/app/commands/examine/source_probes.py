"""Single tries of what a configuration names: state location, cluster, source of HA metadata."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from flinkstate.text.shown_text import counted
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.flink.ha_metadata import KubernetesHa, ZooKeeperHa
from orphangc.app.commands.health import CheckStatus
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import REST_TIMEOUT, state_of
from orphangc.core.cluster.job_facts import eligibility_problem
from orphangc.core.model.flink_versions import is_tested_version
from orphangc.core.model.settings import StorageRootSettings
from orphangc.ports import HaMetadata


def probe_state(settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    """Try every operation on the state location, with a temporary name."""
    state = state_of(settings)
    name = f"{state.folder}/doctor-{uuid.uuid4().hex}"
    is_first = state.files.create(name, b"1")
    is_second = state.files.create(name, b"2")
    content = state.files.read(name)
    state.files.remove(name)
    if not is_first or is_second or content != b"1" or state.files.read(name) is not None:
        return CheckStatus.BAD, f"{state.files.location} cannot hold a lock"
    return CheckStatus.GOOD, f"{state.files.location} lists, reads, writes, creates and deletes"


def probe_cluster(url: str, accepted: Sequence[str]) -> tuple[CheckStatus, str]:
    """Ask a cluster for its version and its jobs.

    Raises:
        OrphanGcError: It gives no usable answer.
    """
    cluster = FlinkRest(url, timeout=REST_TIMEOUT, now=now).observe()
    version = cluster.flink_version
    if not is_tested_version(version) and version not in accepted:
        return CheckStatus.WARNING, f"Flink {version} is not in the tested list"
    alive = [job for job in cluster.jobs.values() if not job.is_globally_terminal]
    problems = (eligibility_problem(job) for job in alive)
    problem = next((each for each in problems if each is not None), None)
    if problem is not None:
        return CheckStatus.WARNING, problem
    return CheckStatus.GOOD, f"Flink {version}, {counted(len(alive), 'job')} alive"


def probe_namespace(namespace: str) -> tuple[CheckStatus, str]:
    """List the HA metadata in a Kubernetes namespace.

    Raises:
        OrphanGcError: It cannot be listed.
    """
    return _ha(KubernetesHa(namespace, timeout=REST_TIMEOUT))


def probe_zookeeper(address: str) -> tuple[CheckStatus, str]:
    """List the HA metadata in a ZooKeeper.

    Raises:
        OrphanGcError: It cannot be listed.
    """
    return _ha(ZooKeeperHa(address, timeout=REST_TIMEOUT))


def _ha(source: HaMetadata) -> tuple[CheckStatus, str]:
    facts = source.observe()
    jobs = {hold.job_id for hold in facts.holds}
    if not facts.things:
        return CheckStatus.WARNING, f"{facts.uri} shows nothing of Flink's: mistyped?"
    return CheckStatus.GOOD, (
        f"{counted(facts.things, 'thing')} listed: {counted(len(jobs), 'job')} not over,"
        f" {counted(len(facts.places), 'checkpoint or savepoint', 'checkpoints and savepoints')}"
        " named"
    )
