"""A sweep on Spark deletes what a sweep here deletes, and keeps what that keeps."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.helpers import Ran, run
from integration.harness.sparkbed import places
from integration.harness.sparkbed.places import Place


def files(place: Place) -> set[str]:
    """Return what is stored."""
    root = Path(place.options[0])
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def swept(runner, place: Place, folder: Path, *options: object) -> tuple[Ran, dict[str, tuple]]:
    """Return a sweep of a storage whose orphans have tombstones, and what it tells of each key."""
    places.plan(run, place, folder / "first")
    assert run("sweep", folder / "first").code == 0
    places.plan(run, place, folder / "second")
    ran = runner("sweep", folder / "second", "--delete", *options)
    rows = pq.read_table(folder / "second" / "outcomes.parquet").to_pylist()
    return ran, {row["key"]: (row["action"], row["outcome"], row["error"]) for row in rows}


@pytest.mark.ci
@pytest.mark.parametrize("spark_mode", ["cluster"], indirect=True)
def test_executors_delete_what_this_process_deletes(spark_mode, tmp_path):
    """Each looks again before and after every batch, and writes down what it does."""
    here, there = (places.odd_folder(tmp_path / name, seed=5) for name in ("here", "there"))
    before = files(here)
    expected, outcomes_here = swept(run, here, tmp_path / "plans-here")
    ran, outcomes_there = swept(
        spark_mode, there, tmp_path / "plans-there", "--engine", "spark", "--delete-rate", "1000"
    )
    assert (ran.code, expected.code) == (0, 0), ran.err
    assert outcomes_there == outcomes_here
    assert files(there) == files(here)
    gone = {key for key, told in outcomes_here.items() if told == ("delete", "done", None)}
    assert gone == before - files(here)
    assert len(gone) > 20
    state = Path(there.options[there.options.index("--state") + 1])
    assert len(list(state.rglob("share-*-done.jsonl"))) >= 2  # both executors had a share
    assert not [path for path in state.rglob("shares/*") if path.is_file()]
