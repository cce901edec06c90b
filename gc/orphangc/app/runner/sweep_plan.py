"""``sweep``: carries out a saved plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from orphangc.adapters.rows.outcome_files import OutcomeFiles
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.planned_listing import planned_storage
from orphangc.adapters.rows.temporary_rows import temporary_space
from orphangc.app.config.validate import settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.shown_names import JobNames
from orphangc.app.runner.expiry_runs import HeldExpiry
from orphangc.app.runner.locking import Holding, held_lock
from orphangc.app.telemetry.audit_log import Audited, log_unmet
from orphangc.app.telemetry.logs import audit_log, run_named
from orphangc.app.wiring.auto_engine import settled
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import opened, state_of
from orphangc.app.wiring.engine_choice import LOCAL, EngineChoice, KnownSize
from orphangc.collect.cycle import Cycle
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.sweep.plan_intersection import check_plan
from orphangc.collect.sweep.result import SweepResult, code_of
from orphangc.collect.sweep.sweep import Sweep, recalled_for
from orphangc.core.documents.plan import Plan
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.ports import LISTING_SCHEMA, Storage


def sweep_plan(
    path: Path,
    *,
    is_deleting: bool,
    flink_rest: Sequence[str] = (),
    delete_rate: int | None = None,
    clears_halt: bool = False,
    engine: EngineChoice = LOCAL,
    relists: bool = False,
) -> tuple[Plan, SweepResult]:
    """Carry out a saved plan; return it with the result.

    Args:
        flink_rest: Endpoints with credentials, which a plan does not hold; replaces the plan's.
        delete_rate: Maximum number of keys deleted per second, in place of the plan's.
        clears_halt: Whether a person has resolved the cause of a halt.
        relists: Whether the storage root is listed again; the plan's own listing serves otherwise.

    Raises:
        OrphanGcError: The plan was not swept.
    """
    plan = PlanDirectory(path).read()
    settings = _settings_now(plan.settings, flink_rest, delete_rate)
    engine = settled(engine, settings, KnownSize(plan.objects_listed, "the plan"))
    check_plan(plan, settings, now())
    state = state_of(settings)
    with held_lock(state) as lock:
        if clears_halt:
            state.clear_halt()
        run_id = _run_id(now(), lock.holder.token)
        with run_named(run_id=run_id, root=plan.root):
            holding = Holding(settings=settings, state=state, lock=lock, run_id=run_id)
            if plan.expiry is not None:
                return plan, HeldExpiry(holding, path, plan, is_deleting=is_deleting).carry_out()
            sweeping = HeldSweep(
                holding, path, plan, is_deleting=is_deleting, engine=engine, relists=relists
            )
            return plan, sweeping.carry_out()


@dataclass(slots=True)
class HeldSweep:
    """Sweep of a plan by a run that holds the lock.

    Attributes:
        made: Cycle that made the plan under the same lock; ``None`` for a saved plan.
        relists: Whether the storage root is listed again for a saved plan.
        result: Result so far, also after an error or a signal.
    """

    holding: Holding
    path: Path
    plan: Plan
    _: KW_ONLY
    is_deleting: bool
    engine: EngineChoice = LOCAL
    shared: SharedCheckpoints | None = None
    made: Cycle | None = None
    relists: bool = False
    result: SweepResult = field(default_factory=SweepResult)

    def carry_out(self) -> SweepResult:
        """Sweep the plan, write the outcome beside it, and return the result.

        Raises:
            OrphanGcError: The sweep ended early; it left an outcome if it had begun.
        """
        settings, state = self.holding.settings, self.holding.state
        before = recalled_for(self.plan, state)
        with (
            shown_progress() as progress,
            opened(
                settings,
                progress,
                engine=self.engine,
                memory=before.memory,
                earlier=None if self._lists else self._planned,
            ) as root,
            temporary_space() as room,
            audit_log() as audit,
        ):
            outcomes = OutcomeFiles(self.path)
            sweep = Sweep(
                environment=root.environment,
                settings=settings,
                state=state,
                lock=self.holding.lock,
                run_id=self.holding.run_id,
                is_deleting=self.is_deleting,
                before=before,
                scratch=room,
                outcomes=Audited(outcomes, audit),
                shared=self.shared,
                result=self.result,
            )
            outcomes.open()
            try:
                rows = PlanDirectory(self.path).rows(self.plan)
                sweep.carry_out(self.plan, rows, made=self.made)
            except BaseException as err:
                sweep.result.stopped_by = sweep.result.stopped_by or err
                sweep.result.exit_code = code_of(err)
                if outcomes.rows:
                    outcomes.publish(_outcome(self.plan, sweep))
                outcomes.discard()
                raise
            finally:
                log_unmet(sweep.result.unmet, JobNames.of(self.plan.jobs))
            outcomes.publish(_outcome(self.plan, sweep))
        return sweep.result

    @property
    def _lists(self) -> bool:
        """Return whether the sweep, or the cycle that it carries out, lists the storage root."""
        return self.relists or (self.made is not None and self.made.evidence.listed_at is None)

    def _planned(self, storage: Storage) -> Storage:
        """Return the storage root, listed by the plan."""
        directory = PlanDirectory(self.path)
        return planned_storage(
            storage, self.plan, lambda: directory.rows(self.plan, LISTING_SCHEMA.names)
        )


def _settings_now(
    settings: StorageRootSettings, flink_rest: Sequence[str], delete_rate: int | None
) -> StorageRootSettings:
    """Return a plan's settings with those that may be replaced: endpoints, the deletion rate.

    Endpoints may only gain credentials, which a plan does not hold; fewer endpoints would be less
    evidence.

    Raises:
        SettingsError: The endpoints are not those of the plan, or the rate is invalid.
    """
    anew: dict[str, Any] = {"flink_rest": tuple(flink_rest)} if flink_rest else {}
    if delete_rate is not None:
        anew["delete_rate"] = delete_rate
    if not anew:
        return settings
    given = settings_from({**settings.model_dump(), **anew})
    if set(given.model_dump(mode="json")["flink_rest"]) != set(settings.flink_rest):
        raise SettingsError("--flink-rest must name exactly the endpoints of the plan")
    return given


def _run_id(at: datetime, token: str) -> str:
    return f"{at:%Y%m%dT%H%M%SZ}-{token[:8]}"


def _outcome(plan: Plan, sweep: Sweep) -> dict[str, Any]:
    result = sweep.result
    return {
        "schema_version": 1,
        "run_id": sweep.run_id,
        "deleting": sweep.is_deleting,
        "plan_id": plan.plan_id,
        "root": plan.root,
        "counts": result.counts(),
        "uploads": result.upload_counts(),
        "folders": result.folder_counts(),
        "refused": result.refused,
        "stopped": result.stopped,
        "exit_code": int(result.exit_code),
    }
