"""Folders of savepoints that no process completes any more (R33).

A savepoint's folder belongs to no job directory, and any job of the world may be writing it. So its
files may go only while nothing at all stops any job: each one of the world is proven, the operator
states that these are all, and no JobManager counts a savepoint among its pending checkpoints.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from flinkstate.places.locations import canonical
from flinkstate.text.shown_text import some
from orphangc.collect.decide.judged_cycle import JudgedCycle
from orphangc.collect.mark.mark import Mark
from orphangc.collect.mark.survey import SavepointListed, Surveyed
from orphangc.collect.observe.observation import Observation
from orphangc.core.cluster.pending_savepoints import (
    longest_checkpoint_timeout,
    pending_savepoint_problem,
)
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence
from orphangc.core.model.bounds import Bound, BoundName, JobBounds
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import AreaName
from orphangc.core.times.instants import from_microseconds, shifted

SAVEPOINTS = "savepoint folders"
"""Stands for the owner of these folders; no job has such a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedSavepoints:
    """What is known of the folders of savepoints without a ``_metadata``; picklable.

    Attributes:
        folders: Keys of those whose files are judged, relative to the storage root.
    """

    listed: int
    folders: frozenset[str]
    bounds: JobBounds
    objection: str | None = None

    def warning(self, problem: str | None) -> str | None:
        """Return why such folders are kept, ``None`` if their files are judged.

        Args:
            problem: Reason for which too much would go (R20).
        """
        why = self.objection or problem
        if why is None:
            return None
        return f"{self.listed} folders of savepoints without _metadata are kept: {why}"


def abandoned_savepoints(
    seen: Observation, marked: Mark, *, surveyed: Surveyed, known: JudgedCycle
) -> AbandonedSavepoints | None:
    """Return what may go of savepoints' folders, ``None`` if there is no such folder."""
    whole_once = known.comparison.memory.savepoints
    found = {
        folder: listed
        for folder, listed in _without_metadata(seen.settings, marked, surveyed)
        if str(marked.owners.base.child(folder)) not in whole_once
    }
    if AreaName.SAVEPOINT not in seen.settings.scope or not found:
        return None
    clusters = seen.answers.clusters
    timeout = longest_checkpoint_timeout(clusters)
    bounds = _bounds(known.evidence, timeout)
    objection = (
        _stopped(known)
        or _hidden_writer(known.living_beside)
        or next(iter(seen.answers.errors.values()), None)
        or pending_savepoint_problem(clusters)
        or (None if timeout is not None else "a job does not show when its checkpoints time out")
    )
    old = frozenset(folder for folder, listed in found.items() if _is_old(listed, bounds))
    return AbandonedSavepoints(
        listed=len(found),
        folders=old if objection is None else frozenset(),
        bounds=bounds,
        objection=objection,
    )


def empty_savepoints_warning(surveyed: Surveyed) -> str | None:
    """Return which folders of savepoints stay although they hold no file, ``None`` if none do.

    Only the files of a folder show its age (R33, R53).
    """
    empty = sorted(surveyed.savepoint_folders - surveyed.savepoints.keys())
    if not empty:
        return None
    return (
        f"{len(empty)} folders of savepoints hold no file of their own ({some(empty)}):"
        " nothing shows how old they are, so they stay"
    )


def _without_metadata(
    settings: StorageRootSettings, marked: Mark, surveyed: Surveyed
) -> Iterator[tuple[str, SavepointListed]]:
    """Yield the folders of files of savepoints alone, below a configured place of savepoints.

    In any other place a folder of such a name may be something else's.
    """
    base = marked.owners.base
    places = [place for place in map(canonical, settings.extra_roots) if base.contains(place)]
    read = {checkpoint.folder for checkpoint in marked.checkpoints}
    for folder, listed in surveyed.savepoints.items():
        place = base.child(folder)
        is_configured = any(each.contains(place) for each in places)
        if is_configured and not listed.has_others and place not in read:
            yield folder, listed


def _stopped(known: JudgedCycle) -> str | None:
    if known.evidence.missed is not None:
        return f"a job that is lost may need them: {known.evidence.missed.message}"
    if not known.judged:
        return "no job is known, so nothing shows who writes savepoints"
    for key, judgement in known.judged.items():
        if judgement.refused is not None:
            return f"job {key}, which may be writing a savepoint, is refused"
        if judgement.blocked:
            return f"job {key}, which may be writing a savepoint, is blocked"
    return None


def _hidden_writer(beside: Sequence[JobEvidence]) -> str | None:
    return next(
        (
            f"job {each.key}, which may be writing a savepoint, is shown by no cluster: ask its"
            f" cluster with --flink-rest, or state with --ended-job {each.job_id} that it is over"
            for each in beside
        ),
        None,
    )


def _bounds(cycle: CycleEvidence, timeout: timedelta | None) -> JobBounds:
    """Return what a file is compared with: no id, no progress, only times."""
    margins = cycle.margins
    waited = None if timeout is None else shifted(cycle.now, -timeout - 2 * margins.clock_skew)
    bounds = [
        Bound(BoundName.GRACE_PERIOD, shifted(cycle.now, -margins.grace_period)),
        Bound(BoundName.CHECKPOINT_TIMEOUT, waited),
    ]
    if cycle.listed_at is not None:
        listed_at = shifted(cycle.listed_at, -margins.clock_skew)
        bounds.append(Bound(BoundName.INVENTORY, listed_at))
    return JobBounds(
        is_refused=False,
        is_ended=True,
        bounds=tuple(bounds),
        oldest_retained_checkpoint_id=None,
        checkpoint_id_margin=0,
        quarantine_start=shifted(cycle.now, -margins.quarantine_period),
        newest_completed_at=None,
    )


def _is_old(listed: SavepointListed, bounds: JobBounds) -> bool:
    newest = from_microseconds(listed.newest_us)
    return newest is not None and newest < bounds.cutoff
