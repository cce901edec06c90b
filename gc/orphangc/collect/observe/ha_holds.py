"""HA metadata and resources that hold each job, and the places that Flink reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flinkstate.places.locations import Location, place_of
from orphangc.core.cluster.ha_facts import HaFacts, Hold
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.settings import StorageRootSettings


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
