"""``sweep``: carries out a saved plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from orphangc.adapters.outcome_files import OutcomeFiles
from orphangc.adapters.plan_files import PlanDirectory
from orphangc.adapters.scratch import scratch
from orphangc.adapters.spark.engine import SparkEngine
from orphangc.core.plan import Plan
from orphangc.core.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.runs.far import Elsewhere
from orphangc.runs.lock import acquire
from orphangc.runs.permission import check_plan
from orphangc.runs.state import RootState
from orphangc.runs.sweep import Sweep
from orphangc.runs.sweep_result import SweepResult, code_of
from orphangc.shell.clock import is_dead, now, this_process
from orphangc.shell.compose import Root, opened, outside_elsewhere, state_of
from orphangc.shell.engines import LOCAL, EngineChoice
from orphangc.shell.options import settings_from
from orphangc.shell.progress import shown_progress

__all__ = ["sweep_plan"]


def sweep_plan(
    path: Path,
    *,
    is_deleting: bool,
    flink_rest: Sequence[str] = (),
    delete_rate: int | None = None,
    clears_halt: bool = False,
    engine: EngineChoice = LOCAL,
) -> tuple[Plan, SweepResult]:
    """Return a saved plan and what became of it.

    Args:
        path: The plan's folder.
        is_deleting: Delete what is due.
        flink_rest: Endpoints with credentials, which a plan does not hold; replaces the plan's.
        delete_rate: Keys a second at most, where the plan's setting is not meant.
        clears_halt: A person has looked at why collection was halted.
        engine: Who lists, decides and deletes.

    Raises:
        OrphanGcError: Nothing was swept.

    """
    directory = PlanDirectory(path)
    plan = directory.read()
    settings = _settings_now(plan.settings, flink_rest, delete_rate)
    check_plan(plan, settings, now())
    state = state_of(settings)
    holder = this_process()
    lock = acquire(state.files, f"{state.folder}/lock", holder, is_dead=is_dead)
    try:
        if clears_halt:
            state.clear_halt()
        with (
            shown_progress() as progress,
            opened(settings, progress, engine=engine) as root,
            scratch() as room,
        ):
            elsewhere = _elsewhere(root, state) if engine.is_spark else None
            outcomes = OutcomeFiles(path)
            sweep = Sweep(
                outside=root.outside,
                settings=settings,
                state=state,
                lock=lock,
                run_id=_run_id(now(), holder.token),
                is_deleting=is_deleting,
                scratch=room if elsewhere is None else elsewhere.crew.scratch,
                outcomes=outcomes,
                elsewhere=elsewhere,
            )
            try:
                sweep.carry_out(plan, directory.rows(plan))
            except BaseException as err:
                sweep.result.stopped_by = sweep.result.stopped_by or err
                sweep.result.exit_code = code_of(err)
                if outcomes.rows:
                    outcomes.publish(_outcome(plan, sweep))
                outcomes.discard()
                raise
            outcomes.publish(_outcome(plan, sweep))
    finally:
        lock.release()
    return plan, sweep.result


def _elsewhere(root: Root, state: RootState) -> Elsewhere:
    """Return Spark's executors as those who delete.

    Raises:
        SettingsError: They would need credentials, which Spark is never given.

    """
    engine = root.outside.engine
    assert isinstance(engine, SparkEngine)  # noqa: S101 - chosen by the caller
    bare = settings_from(root.settings.model_dump(mode="json"))
    if bare.flink_rest != root.settings.flink_rest:
        raise SettingsError("--flink-rest with credentials cannot be used on Spark's executors")
    settings = bare.model_copy(update={"state": str(state.files.location)})
    return Elsewhere(
        crew=engine,
        open_outside=partial(outside_elsewhere, settings),
        open_state=partial(state_of, settings),
    )


def _settings_now(
    settings: StorageRootSettings, flink_rest: Sequence[str], delete_rate: int | None
) -> StorageRootSettings:
    """Return a plan's settings with what may be said anew: endpoints, the pace.

    Endpoints only get the credentials that a plan does not hold; fewer would be less evidence.

    Raises:
        SettingsError: They are not the endpoints of the plan, or the rate is none.

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
        "plan_id": plan.plan_id,
        "root": plan.root,
        "counts": result.counts(),
        "refused": result.refused,
        "stopped": result.stopped,
        "exit_code": int(result.exit_code),
    }
