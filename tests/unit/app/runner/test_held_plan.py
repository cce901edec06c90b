"""What a run did is written beside its plan, however the run ends."""

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest

from orphangc.app.runner.sweep_plan import HeldPlan
from orphangc.collect.runs.held_run import HeldRun
from orphangc.errors import ExitCode, RefusedError
from orphangc.ports import OUTCOME_SCHEMA

ROW = {
    field.name: 1 if pa.types.is_integer(field.type) else None if field.nullable else "delete"
    for field in OUTCOME_SCHEMA
}


def held(folder, *, expiry=None) -> HeldPlan:
    return HeldPlan(
        run=HeldRun(settings=None, state=None, lock=None, run_id="run-1"),
        path=folder,
        plan=SimpleNamespace(
            plan_id="plan-1",
            root="file:///x",
            expiry=expiry,
            jobs=(),
            settings=SimpleNamespace(root="file:///x"),
        ),
        is_deleting=True,
    )


def carried_out(plan: HeldPlan, rows: int, err: BaseException | None) -> None:
    with plan.recorded() as sink:
        if rows:
            sink.write(pa.RecordBatch.from_pylist([ROW] * rows, OUTCOME_SCHEMA))
        if err is not None:
            raise err


@pytest.mark.parametrize(
    ("err", "code", "stopped"),
    [
        (RefusedError("started again"), ExitCode.REFUSED, "started again"),
        (SystemExit(143), 143, "143"),
    ],
)
def test_what_was_done_before_an_error_is_written_down(tmp_path, err, code, stopped) -> None:
    """``undelete`` needs the rows of a sweep that was refused in the middle, or signalled."""
    plan = held(tmp_path)
    with pytest.raises(type(err)):
        carried_out(plan, 2, err)
    outcome = json.loads((tmp_path / "outcome.json").read_bytes())
    assert (outcome["exit_code"], outcome["stopped"], outcome["run_id"]) == (code, stopped, "run-1")
    assert (tmp_path / "outcomes.parquet").exists()
    assert plan.result.stopped_by is err


def test_the_first_reason_is_the_one_that_is_written(tmp_path) -> None:
    """What follows from it would hide it."""
    plan = held(tmp_path)
    plan.result.stopped_by = RefusedError("first")
    with pytest.raises(RefusedError):
        carried_out(plan, 1, RefusedError("second"))
    assert json.loads((tmp_path / "outcome.json").read_bytes())["stopped"] == "first"


def test_an_error_before_anything_was_done_leaves_nothing(tmp_path) -> None:
    """Nor does it set the outcome of an earlier sweep aside."""
    with pytest.raises(RefusedError):
        carried_out(held(tmp_path), 0, RefusedError("not now"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("expiry", [None, "report"])
def test_an_outcome_counts_uploads_and_folders_only_where_a_sweep_has_any(tmp_path, expiry) -> None:
    """A plan of ``expire`` touches neither."""
    work = held(tmp_path, expiry=expiry)
    carried_out(work, 0, None)
    outcome = json.loads((tmp_path / "outcome.json").read_bytes())
    assert (outcome["schema_version"], outcome["exit_code"]) == (1, 0)
    assert ({"uploads", "folders"} <= outcome.keys()) is (expiry is None)
    printed = work.result.document(work.plan, is_deleting=True)
    assert ({"uploads", "folders"} <= printed.keys(), "schema_version" in printed) == (True, False)
