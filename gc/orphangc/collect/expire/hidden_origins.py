"""Jobs that may be started again from a checkpoint that no cycle saw (R43)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from flinkstate.places.locations import Location, place_of
from orphangc.collect.cycle import Cycle
from orphangc.collect.expire.held_checkpoints import recovers_from_its_own
from orphangc.core.cluster.ha_facts import lacks_its_own
from orphangc.core.cluster.job_facts import restarting_problem
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.exporter.registry_snapshot import resolve
from orphangc.core.lineage.checkpoint_fates import HiddenOrigin
from orphangc.core.memory.job_lives import placed
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.times.instants import shifted


def hidden_origins(
    jobs: Iterable[JobEvidence],
    cycle: Cycle,
    settings: StorageRootSettings,
    *,
    over: Collection[str],
    stated: Collection[str],
) -> tuple[HiddenOrigin, ...]:
    """Return the jobs that may live and whose origin is not known, the youngest one first.

    Args:
        over: Keys of the jobs that are over.
        stated: Keys of those whose origin their owner states: which run of an id that comes back
            that is of, nothing says.
    """
    found = [
        _hidden(job, cycle, settings)
        for job in jobs
        if job.key not in over
        and (job.key not in stated or _comes_back(job, cycle))
        and not recovers_from_its_own(job)
        and not _is_known(job, cycle, settings)
    ]
    return tuple(sorted(found, key=lambda each: (each.until, each.job_id), reverse=True))


def _hidden(job: JobEvidence, cycle: Cycle, settings: StorageRootSettings) -> HiddenOrigin:
    """Return a job with the latest time at which what it began with was stored.

    That is before its run began, by the cluster that shows it and by the oldest that it has, or
    before the newest that it has: what is older an earlier run of its id may have written. Where
    its files were not listed, or its HA metadata has none of its checkpoints, it may begin now:
    they may be of long ago.
    """
    times = (job.survey.oldest_modified_at, *(each.modified_at for each in job.own_checkpoints))
    oldest = min((at for at in times if at is not None), default=cycle.evidence.now)
    began = [facts.started_at for facts in job.facts]
    own = {each.checkpoint_id for each in job.own_checkpoints}
    is_known = job.is_change_known and not lacks_its_own(job.holds, own)
    newest = job.changed_at if is_known else None
    latest = max(oldest, *began) if began else newest
    until = cycle.evidence.now
    if latest is not None and not _comes_back(job, cycle):
        until = min(until, shifted(latest, settings.margins.clock_skew))
    return HiddenOrigin(key=job.key, job_id=job.job_id or job.key, until=until)


def _is_known(job: JobEvidence, cycle: Cycle, settings: StorageRootSettings) -> bool:
    """Return whether some cycle saw a job begin from nothing, or from one checkpoint that is here.

    After a failover Flink shows a checkpoint of the job's own. Of an id that comes back only the
    present says anything of the present run.
    """
    is_new = any(e.restored is None and restarting_problem(e) is None for e in job.facts)
    shown = [facts.restored.external_path for facts in job.facts if facts.restored is not None]
    for snapshot in job.snapshots:
        shown += [resolve(each.path, snapshot.checkpoint_dir) for each in snapshot.restored]
    for record in () if _comes_back(job, cycle) else placed(cycle.remembered.jobs, job.directories):
        if record.job_id == job.job_id:
            is_new = is_new or record.began_anew
            shown += record.restored
    places = {place_of(path, settings.aliases) for path in shown}
    origins = {each for each in places if not _is_in(each, job.directories)}
    if not origins:
        return is_new
    return len(origins) == 1 and all(_is_here(each, cycle) for each in origins)


def _comes_back(job: JobEvidence, cycle: Cycle) -> bool:
    return job.is_id_fixed or job.job_id in cycle.remembered.lineage.fixed_ids


def _is_here(place: Location | None, cycle: Cycle) -> bool:
    """Return whether a place is searched, or was read."""
    if place is None:
        return False
    is_read = any(each.folder == place for each in cycle.mark.checkpoints)
    return is_read or any(each.contains(place) for each in cycle.searched)


def _is_in(place: Location | None, directories: Sequence[Location]) -> bool:
    return place is not None and any(each.contains(place) for each in directories)
