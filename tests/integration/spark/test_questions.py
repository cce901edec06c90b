"""The questions of the page about verdicts, asked in Spark SQL as they stand there."""

import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.helpers import run
from integration.harness.sparkbed import modes, places
from support import speed
from support.processes import finished

pytestmark = pytest.mark.nightly

PAGE = modes.REPOSITORY / "gc" / "guide" / "verdicts.md"
ASK = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
for statement in json.load(sys.stdin):
    rows = [row.asDict() for row in spark.sql(statement).collect()]
    print("ANSWER", json.dumps(rows), flush=True)
"""


def statements() -> list[str]:
    """Return the views for Spark SQL and the questions: all but what is DuckDB's."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 6
    chosen = [blocks[0], *blocks[2:5]]
    return [each.strip() for block in chosen for each in block.split(";") if each.strip()]


def rows(folder: Path) -> list[dict]:
    files = (folder / "verdicts").iterdir()
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_each_question_of_the_page_has_the_answer_of_the_rows(tmp_path):
    """Leaks by job, growth between two plans, and why a job is blocked."""
    place = places.odd_folder(tmp_path / "odd", seed=9)
    places.plan(run, place, tmp_path / "plan-1")
    job = Path(place.options[0]) / places.JOBS[0] / "shared"
    (job / "00000000-0000-4000-8000-000000000001").write_bytes(b"x" * 1000)
    unproven = [each for each in place.options if each != "--closed-world"]
    places.plan(run, places.Place("unproven", tuple(unproven)), tmp_path / "plan-2")
    done = finished(
        [sys.executable, "-c", ASK],
        input=json.dumps(statements()),
        check=True,
        cwd=tmp_path,
        env=modes.environment(tmp_path, {}),
        timeout=2 * speed.command(),
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    leaks, growth, blocked = (json.loads(line.partition(" ")[2]) for line in lines[-3:])
    old, new = rows(tmp_path / "plan-1"), rows(tmp_path / "plan-2")
    leaked = {"orphan", "in_quarantine", "quarantine_over"}
    assert {each["job_id"]: (each["objects"], each["bytes"]) for each in leaks} == {
        job_id: (len(sizes), sum(sizes))
        for job_id in {row["job_id"] for row in new if row["reason"] in leaked}
        if (sizes := [r["size"] for r in new if r["job_id"] == job_id and r["reason"] in leaked])
    }
    assert len(leaks) == 2
    assert growth[0] == {"job_id": places.JOBS[0], "bytes": 1000}
    assert sum(each["bytes"] for each in growth) == sum(r["size"] for r in new) - sum(
        r["size"] for r in old
    )
    plan = json.loads((tmp_path / "plan-2" / "plan.json").read_text())
    expected = [
        {"job_id": job["job_id"], "condition": why["condition"], "message": why["message"]}
        for job in plan["jobs"]
        for why in job["blocked"]
    ]
    assert blocked == sorted(expected, key=lambda each: (each["job_id"], each["condition"]))
    assert {each["job_id"] for each in blocked} == set(places.JOBS)
