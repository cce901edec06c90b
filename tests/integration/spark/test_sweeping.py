"""A sweep that lists again on Spark deletes what a sweep here deletes: one process deletes."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.helpers import Ran, run
from integration.harness.sparkbed import places
from integration.harness.sparkbed.places import Place


def files(place: Place) -> set[str]:
    root = Path(place.options[0])
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def swept(runner, place: Place, folder: Path, *options: object) -> tuple[Ran, dict[str, tuple]]:
    """Return a sweep of a storage whose orphans have tombstones, and the outcome of each key."""
    places.plan(run, place, folder / "first")
    assert run("sweep", folder / "first").code == 0
    places.plan(run, place, folder / "second")
    ran = runner("sweep", folder / "second", "--delete", "--relist", *options)
    rows = pq.read_table(folder / "second" / "outcomes.parquet").to_pylist()
    return ran, {row["key"]: (row["action"], row["outcome"], row["error"]) for row in rows}


@pytest.mark.ci
@pytest.mark.parametrize("spark_mode", ["cluster"], indirect=True)
def test_what_executors_judge_again_is_deleted_as_here(spark_mode, tmp_path):
    """The executors list and judge again; only where they agree with the plan a file goes."""
    here, there = (places.odd_folder(tmp_path / name, seed=5) for name in ("here", "there"))
    before = files(here)
    expected, outcomes_here = swept(run, here, tmp_path / "plans-here")
    ran, outcomes_there = swept(spark_mode, there, tmp_path / "plans-there", "--engine", "spark")
    assert (ran.code, expected.code) == (0, 0), ran.err
    assert outcomes_there == outcomes_here
    assert files(there) == files(here)
    gone = {key for key, told in outcomes_here.items() if told == ("delete", "done", None)}
    assert gone == before - files(here)
    assert len(gone) > 20
