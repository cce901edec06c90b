"""What must still hold of a cycle while checkpoints expire by it (R18)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from flinkstate.files.paths import spellings
from flinkstate.places.locations import Location, canonical
from orphangc.collect.expire.lineage_cycle import LineageCycle
from orphangc.collect.observe.reported import Naming, namings
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.core.documents.lineage_report import LineageCheckpointPart
from orphangc.core.lineage.checkpoint_fates import KEPT_BY_POLICY
from orphangc.core.model.codes import Guard
from orphangc.core.model.types import JobState
from orphangc.errors import RefusedError


@dataclass(slots=True, kw_only=True)
class ExpiryEvidence:
    """The evidence of one cycle, checked before and after each batch."""

    revalidation: Revalidation
    found: LineageCycle
    _named: frozenset[Naming] = field(init=False)

    def __post_init__(self) -> None:
        """Take what was named in the cycle."""
        seen = self.found.cycle.seen
        self._named = namings(
            (*seen.before, *seen.after),
            seen.snapshots,
            self.revalidation.environment.settings,
            ha=seen.ha,
        )

    def check(self, part: Iterable[LineageCheckpointPart]) -> None:
        """Make sure that the evidence still holds, and that nothing names a checkpoint (R18).

        A cycle may be hours old: what stands for a checkpoint must be there still, and what
        continued its job must run.

        Raises:
            OrphanGcError: It does not, or something does.
        """
        self.check_evidence()
        self._check_relied_on()
        named = self.newly_named()
        for each in part:
            if each.uri in named:
                raise RefusedError(f"{each.uri} is in use by now; stopped, nothing more expires")

    def check_evidence(self) -> None:
        """Make sure that the evidence holds, and that no job hides what it is restored from.

        Raises:
            OrphanGcError: It does not, or one does.
        """
        self.revalidation.check()
        hidden = self.revalidation.hidden_origin()
        if hidden is not None:
            raise RefusedError(f"{hidden}; nothing expires, the next run goes on", guard=Guard.GATE)

    def _check_relied_on(self) -> None:
        """Make sure that every job that ran still runs, and that what was kept is still stored.

        Raises:
            RefusedError: One does not, or is not.
        """
        for job in self.found.cycle.jobs.values():
            if job.state is JobState.RUNNING and self.revalidation.has_ended(job.job_id):
                raise RefusedError(f"job {job.job_id} ended since the cycle; stopped")
        for each in self.found.report.checkpoints:
            is_relied_on = each.reason in KEPT_BY_POLICY and each.is_restorable
            if is_relied_on and not self.revalidation.is_stored(each.uri, each.sha256):
                raise RefusedError(f"{each.uri}, which was to stay, is gone; stopped")

    def newly_named(self) -> frozenset[str]:
        """Return the checkpoints that a job or a resource names that did not in the cycle.

        It may name them through other links than the settings.
        """
        new = {uri for _, uri in self.revalidation.namings() - self._named}
        names = frozenset[Location]().union(*(spellings(canonical(uri)) for uri in new))
        found = (each.uri for each in self.found.report.checkpoints) if new else ()
        return frozenset(uri for uri in found if not names.isdisjoint(spellings(canonical(uri))))
