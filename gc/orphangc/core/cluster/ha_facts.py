"""Holds of jobs that no cluster shows: HA metadata and operator resources.

A job without pods whose high-availability metadata is still there is suspended, not dead: it goes
on from exactly the checkpoints that its metadata names. Names and keys say all of it; no value is
ever decoded. ``core.cluster.kubernetes_json`` and ``core.cluster.zookeeper_paths`` read them
(decision 14).
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from orphangc.core.groups import sets_of
from orphangc.core.model.types import EvidenceSource, JobId

CHECKPOINT_NODE = re.compile(r"[0-9]{19}", re.ASCII)
"""A checkpoint id as HA stores spell it.

Source: Flink 1.14-2.3, ``KubernetesCheckpointStoreUtil``, ``ZooKeeperCheckpointStoreUtil``:
``%019d``.
"""


JOB = "job "
"""Beginning of the reason of a hold that the job's own state is, which is none of an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A fact that shows that a job is not over.

    Attributes:
        uri: The ConfigMap, znode or resource, for people and the plan.
        cluster: The Flink cluster whose HA metadata it is; "" for a resource of the operator.
        retained_ids: Ids of the checkpoints in its completed store, maybe with savepoints.
    """

    job_id: JobId
    source: EvidenceSource
    uri: str
    cluster: str = ""
    retained_ids: frozenset[int] = frozenset()
    states: tuple[str, ...] = ()

    @property
    def is_of_unfinished(self) -> bool:
        """Return whether a resource says that nothing stopped its job, which may have checkpoints
        in any place.
        """
        return any(each.startswith(JOB) for each in self.states)


@dataclass(frozen=True, slots=True, order=True)
class PlaceNamed:
    """A checkpoint or savepoint that some resource names; ``by`` is the resource."""

    path: str
    by: str


@dataclass(frozen=True, slots=True, order=True)
class FolderNamed:
    """A folder that a resource's configuration gives to checkpoints or savepoints."""

    path: str
    option: str
    by: str


@dataclass(frozen=True, slots=True, order=True)
class JobNamed:
    """A job of some resource.

    Attributes:
        identity: Its kind and uid, which no other resource ever has; "" if unknown.
        is_stateless: Whether it says that a new job of it takes over no state.
        is_id_chosen: Whether its configuration chooses the id, so that no operator made it.
        deployed_from: What a job was deployed from, as an operator from 1.10 says: a place of one
            that runs, "" where none says so, or the word for HA metadata.
    """

    job_id: JobId
    name: str
    identity: str = ""
    is_stateless: bool = False
    is_id_chosen: bool = False
    deployed_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HaFacts:
    """What one namespace, or one ZooKeeper, said in one observation.

    Attributes:
        things: Number of ConfigMaps and resources, or of Flink's znodes; 0 deserves a check.
    """

    uri: str
    holds: tuple[Hold, ...] = ()
    places: tuple[PlaceNamed, ...] = ()
    folders: tuple[FolderNamed, ...] = ()
    names: tuple[JobNamed, ...] = ()
    things: int = 0


def checkpoint_id_of(digits: str) -> int | None:
    """Return the checkpoint id that an HA store spells so, ``None`` if it spells none."""
    return int(digits) if CHECKPOINT_NODE.fullmatch(digits) else None


def holders_of(holds: Iterable[Hold]) -> frozenset[str]:
    """Return the Flink clusters that keep HA metadata of a job."""
    return frozenset(hold.cluster for hold in holds if hold.cluster)


def lacks_its_own(holds: Iterable[Hold], own_ids: Collection[int]) -> bool:
    """Return whether HA metadata of a job retains none of its own checkpoints that were read.

    Then it goes on from what it was given when it was submitted, which no name here shows.
    """
    own = [hold for hold in holds if hold.cluster]
    retained = sets_of((hold.cluster, each) for hold in own for each in hold.retained_ids)
    return any(retained.get(hold.cluster, set()).isdisjoint(own_ids) for hold in own)


def retained_throughout(before: Iterable[Hold], after: Iterable[Hold]) -> dict[int, str]:
    """Return the source of each checkpoint id that a cluster retained both before and after.

    An id that left a completed store never comes back to it, so it was there all the time, and
    so was its ``_metadata``: written before the entry, deleted after it.

    Source: Flink 1.15-2.3, ``DefaultCompletedCheckpointStore.tryRemoveCompletedCheckpoint``.
    """
    earlier = {(hold.cluster, each) for hold in before for each in hold.retained_ids}
    return {
        each: hold.uri
        for hold in after
        for each in sorted(hold.retained_ids)
        if (hold.cluster, each) in earlier
    }
