"""What must not expire whatever a policy says: pins, retained checkpoints, origins (R43)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from flinkstate.files.paths import meet, spellings
from flinkstate.places.locations import Location, places_of
from orphangc.collect.cycle import Cycle
from orphangc.collect.observe.reported import named_by_configurations, named_by_resources
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.groups import grouped

_Hold = tuple[str, str]
"""Kind of a hold, and what holds, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointHolds:
    """Places that something names, whatever links and mounts it spells them by.

    Attributes:
        exact: Holds of one checkpoint, by each name of its folder.
        around: Every name of each pinned place, with everything below it.
    """

    exact: dict[Location, set[_Hold]]
    around: dict[Location, frozenset[Location]]

    def of(self, folder: Location) -> Iterator[_Hold]:
        """Yield what holds the checkpoint in a folder."""
        names = spellings(folder)
        yield from sorted({hold for name in names for hold in self.exact.get(name, ())})
        for pin, around in self.around.items():
            if meet(around, names):
                yield "pin", str(pin)


def holds_of(
    cycle: Cycle, over: Collection[str], *, self_sustained: Collection[str]
) -> CheckpointHolds:
    """Return everything that holds a checkpoint.

    Args:
        over: Keys of the jobs that are proven to be over.
        self_sustained: Keys of the jobs that need no file that is not their own.
    """
    settings = cycle.seen.settings
    free = {
        key
        for key, job in cycle.known.jobs.items()
        if key in over or (key in self_sustained and recovers_from_its_own(job))
    }
    seen = cycle.seen
    configured = named_by_configurations((*seen.before, *seen.after), settings)
    exact: dict[Location, set[_Hold]] = {}
    for place, kind, by in (
        *((place, "resource", by) for place, by in named_by_resources(seen.ha, settings)),
        *((place, "named_by", by) for place, by in configured),
        *_registered(cycle),
        *_shown_by_flink(cycle, over, free),
        *_remembered(cycle, free),
    ):
        for name in spellings(place):
            exact.setdefault(name, set()).add((kind, by))
    return CheckpointHolds(exact=exact, around={each: spellings(each) for each in settings.pins})


_Held = tuple[Location, str, str]


def _registered(cycle: Cycle) -> Iterator[_Held]:
    for snapshot in cycle.seen.snapshots:
        for place in places_of(snapshot.checkpoint_paths, cycle.seen.settings.aliases):
            yield place, "registry", snapshot.job_id


def _shown_by_flink(cycle: Cycle, over: Collection[str], free: Collection[str]) -> Iterator[_Held]:
    """Yield what clusters show of jobs that are not over: their checkpoints, and their origins."""
    for key, job in cycle.known.jobs.items():
        if key in over:
            continue
        paths = [each.external_path for facts in job.facts for each in facts.checkpoints]
        for place in places_of(paths, cycle.seen.settings.aliases):
            yield place, "job", job.job_id
        if key not in free:
            restored = [each.restored.external_path for each in job.facts if each.restored]
            for place in places_of(restored, cycle.seen.settings.aliases):
                yield place, "restored_by", job.job_id


def recovers_from_its_own(job: JobEvidence) -> bool:
    """Return whether a lost JobManager goes on from a checkpoint of the job's own.

    HA metadata names it. Without any, a JobManager starts again from its first origin.
    """
    held = {number for hold in job.held_after for number in hold.retained_ids}
    origins = [each.restored.id for each in job.facts if each.restored]
    return bool(job.facts) and any(
        number in job.ids_after and number not in origins for number in held
    )


def _remembered(cycle: Cycle, free: Collection[str]) -> Iterator[_Held]:
    """Yield the origins that earlier cycles saw of jobs that may live.

    A job that is over does not recover. After a failover Flink shows the checkpoint that the job
    went on from, and no longer the one that it was first started from; without HA metadata a lost
    JobManager starts from that one again.
    """
    known = grouped(cycle.known.jobs.values(), lambda job: str(job.job_id))
    for record in cycle.remembered.jobs:
        own = known.get(record.job_id, [])
        uris = () if own and all(job.key in free for job in own) else record.restored
        for place in places_of(uris, cycle.seen.settings.aliases):
            yield place, "restored_by", record.job_id
