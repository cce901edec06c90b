"""The judgement of ``doctor``: that of the next run, with its listing where that is short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orphangc.app.commands.world.show import patient, unlisted_cycle_of
from orphangc.app.runner.make_plan import DiscardingSink, cycle_of
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.model.codes import SearchScope
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world import World
from orphangc.core.world.known_states import KnownState
from orphangc.errors import RefusedError
from orphangc.ports import Storage

_SHORT = 20_000
"""Number of objects up to which the storage root is listed: twenty pages of S3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedJobs:
    """What the next run would find, before any object is decided on.

    Attributes:
        resources: Kubernetes resources that run each job, or ran it, by job id.
    """

    world: World
    jobs: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]
    resources: Mapping[str, tuple[str, ...]]
    is_listed: bool


def judged_jobs(
    settings: StorageRootSettings,
    storage: Storage,
    shared: SharedCheckpoints,
    known: Sequence[KnownState],
) -> JudgedJobs:
    """Return what a run would find in the named places now; change and remember nothing.

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.
    """
    settings = settings.model_copy(update={"search": SearchScope.PLACES})
    if estimated_objects(storage, _SHORT).objects < _SHORT:
        try:
            return _with_listing(settings, shared, known)
        except RefusedError:
            pass  # there is no job directory yet, which a run refuses
    found = unlisted_cycle_of(settings, shared, known)
    return JudgedJobs(
        world=found.world,
        jobs=found.jobs,
        judged=found.judged,
        resources=found.resources,
        is_listed=False,
    )


def _with_listing(
    settings: StorageRootSettings, shared: SharedCheckpoints, known: Sequence[KnownState]
) -> JudgedJobs:
    cycle = cycle_of(
        patient(settings),
        DiscardingSink,
        lambda *_: None,
        known=known,
        shared=shared,
        is_remembered=False,
    )
    assert cycle.plan.world is not None  # noqa: S101 - a cycle always has one
    return JudgedJobs(
        world=cycle.plan.world,
        jobs=cycle.jobs,
        judged=cycle.judged,
        resources=cycle.remembered.lineage.resources,
        is_listed=True,
    )
