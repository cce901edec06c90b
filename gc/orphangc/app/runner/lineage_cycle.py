"""``lineage`` and ``expire``: a cycle whose verdicts on single files are not kept."""

from __future__ import annotations

import pyarrow as pa

from orphangc.app.console.progress import shown_progress
from orphangc.app.wiring.compose import opened, state_of
from orphangc.collect.cycle import run_cycle
from orphangc.collect.expire.reported_lineages import lineage_report
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.world.recalling import recalled
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import StorageRootSettings


class UnkeptVerdicts:
    """A sink of verdicts that keeps none."""

    def write(self, batch: pa.RecordBatch) -> None:
        """See ``VerdictSink``."""
        del batch

    def close(self) -> None:
        """See ``VerdictSink``."""


def lineages_now(settings: StorageRootSettings, policy: RetentionPolicy | None) -> LineageReport:
    """Return the lineages of a storage root as they are now; nothing is changed or remembered.

    Args:
        settings: Settings of the storage root.
        policy: Retention policy; ``None`` without one.

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.

    """
    state = state_of(settings)
    before = recalled(state)
    with (
        shown_progress() as progress,
        opened(settings, progress, memory=before.memory) as root,
    ):
        cycle = run_cycle(
            root.environment,
            settings,
            reader=CheckpointReader.of(settings),
            tombstones=state.tombstones(),
            halted=state.halted(),
            open_sink=UnkeptVerdicts,
            before=before,
        )
        return lineage_report(
            cycle, settings, policy, engine=root.environment.engine, progress=progress
        )
