"""The judgement of ``doctor``: that of the next run, with its listing where that is short."""

from __future__ import annotations

from collections.abc import Sequence

from orphangc.app.commands.world.show import patient, unlisted_cycle_of
from orphangc.app.runner.make_plan import cycle_of
from orphangc.collect.expire.lineage_cycle import DiscardingSink
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.unlisted_cycle import ShortCycle
from orphangc.core.model.codes import SearchScope
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.known_states import KnownState
from orphangc.errors import RefusedError
from orphangc.ports import Storage

_SHORT = 20_000
"""Number of objects up to which the storage root is listed: twenty pages of S3."""


def judged_jobs(
    settings: StorageRootSettings,
    storage: Storage,
    shared: SharedCheckpoints,
    known: Sequence[KnownState],
) -> ShortCycle:
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
    return unlisted_cycle_of(settings, shared, known)


def _with_listing(
    settings: StorageRootSettings, shared: SharedCheckpoints, known: Sequence[KnownState]
) -> ShortCycle:
    cycle = cycle_of(
        patient(settings),
        DiscardingSink,
        lambda *_: None,
        known=known,
        shared=shared,
        is_remembered=False,
    )
    assert cycle.plan.world is not None  # noqa: S101 - a cycle always has one
    return ShortCycle(
        world=cycle.plan.world,
        jobs=cycle.jobs,
        judged=cycle.judged,
        resources=cycle.remembered.lineage.resources,
        is_listed=True,
    )
