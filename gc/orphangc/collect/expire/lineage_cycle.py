"""A cycle with the fate of every checkpoint in it; its verdicts on single files are not kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from orphangc.collect.cycle import Cycle, run_cycle
from orphangc.collect.expire.assemble_report import lineage_report
from orphangc.collect.observe.observation import Environment
from orphangc.collect.state.store import RootState
from orphangc.collect.world.recalling import Recalled
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.lineage.retention_policy import RetentionPolicy


class DiscardingSink:
    """Discards the verdicts of a cycle."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Discard rows."""

    def close(self) -> None:
        """Do nothing; no file is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageCycle:
    """A fresh cycle, and the fate of every checkpoint in it."""

    cycle: Cycle
    report: LineageReport


def lineage_cycle(
    environment: Environment, policy: RetentionPolicy | None, *, state: RootState, before: Recalled
) -> LineageCycle:
    """Return a fresh cycle of an opened storage root, with its lineages."""
    cycle = run_cycle(
        environment,
        tombstones=state.tombstones(),
        halted=state.halted(),
        open_sink=DiscardingSink,
        before=before,
    )
    report = lineage_report(cycle, policy, environment)
    return LineageCycle(cycle=with_warnings(cycle, policy_warnings(report)), report=report)


def with_warnings(cycle: Cycle, more: Iterable[str]) -> Cycle:
    """Return a cycle whose plan has more warnings."""
    plan = cycle.plan.model_copy(update={"warnings": (*cycle.plan.warnings, *more)})
    return replace(cycle, plan=plan)


def policy_warnings(report: LineageReport) -> Iterator[str]:
    """Yield a warning for each slip in a policy: a name of no lineage, or in use, a false edge."""
    yield from report.impossible
    for name in report.unknown_names:
        yield (
            f"the retention policy names {name}, which is no resource and no job id of any"
            " lineage: correct it, or remove it; until then its rules count for every lineage"
        )
    for name in report.names_in_use:
        yield (
            f"the retention policy declares {name} dead, and a job of that name is not over: remove"
            " the name, or all that this job leaves may go once it is over"
        )
