"""The first job on Spark: it compares what executors have, and counts their cores, at once."""

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.spark import reading, tasks
from orphangc.adapters.spark.passes import PassResult
from orphangc.adapters.spark.tasks import Cluster
from orphangc.adapters.spark.work_folder import WorkFolder
from orphangc.errors import SettingsError
from support import speed
from unit.adapters.spark.spark_here import HereCluster

pytest.importorskip("pyspark", reason="PySpark is not installed")


class FakeSession:
    """A session of some cores, whose tasks run in this process.

    Attributes:
        jobs: Number of tasks of each job.

    """

    def __init__(self, cores: int, settings: dict[str, str]) -> None:
        self.cores = cores
        self.conf = SimpleNamespace(get=settings.get)
        self.jobs: list[int] = []

    def range(self, *numbers: int) -> SimpleNamespace:
        """Return a frame: of a task for each core, unless the number of tasks is given."""
        tasks = numbers[3] if len(numbers) > 1 else self.cores

        def map_in_arrow(
            work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
        ) -> SimpleNamespace:
            name = schema.partition(" ")[0]
            self.jobs.append(tasks)
            ids = pa.RecordBatch.from_pydict({"id": [1, 2]})
            found: list[Any] = []
            for _ in range(tasks):
                for batch in work(iter([ids, ids])):
                    found += batch.column(name).to_pylist()
            return SimpleNamespace(toArrow=lambda: pa.table({name: found}))

        return SimpleNamespace(mapInArrow=map_in_arrow)


@pytest.mark.parametrize(("settings", "slots"), [({}, 3), ({"spark.orphangc.slots": "5"}, 5)])
def test_one_job_compares_and_counts_the_cores(tmp_path, settings, slots):
    """A task for each core, or as many as the operator says: each job costs its start."""
    session = FakeSession(3, settings)
    cluster = Cluster(session, WorkFolder(canonical(str(tmp_path / "work"))))
    cluster.prepare(canonical(str(tmp_path)))
    assert (cluster.slots, session.jobs) == (slots, [slots])


def test_executors_at_another_endpoint_are_refused(tmp_path, monkeypatch):
    """They would list another storage."""
    asked = iter(["driver.example", "driver.example", "executor.example"])
    monkeypatch.setattr(reading, "opened", lambda _: SimpleNamespace(server=next(asked)))
    monkeypatch.setattr(tasks, "opened", lambda _: SimpleNamespace(server="driver.example"))
    cluster = Cluster(FakeSession(3, {}), WorkFolder(canonical(str(tmp_path / "work"))))
    said = r"another endpoint than the driver \(executor.example instead of driver.example\)"
    with pytest.raises(SettingsError, match=said):
        cluster.prepare(canonical("s3://b/cp"))


@pytest.mark.parametrize("text", ["0", "-1", "", "many"])
def test_a_setting_that_is_no_number_above_0_is_refused(tmp_path, text):
    """Before anything runs."""
    session = FakeSession(3, {"spark.orphangc.slots": text})
    cluster = Cluster(session, WorkFolder(canonical(str(tmp_path / "work"))))
    with pytest.raises(SettingsError, match="a number above 0 is wanted"):
        cluster.prepare(canonical(str(tmp_path)))
    assert not session.jobs


# --- progress

SHOWN: dict[str, threading.Event] = {"some": threading.Event()}


def counted(rows: int) -> PassResult:
    """Return a result; the last task waits until the driver shows that others are done."""
    if rows == 1:
        assert SHOWN["some"].wait(speed.command())
    return PassResult(b"", None, rows)


def test_what_is_done_is_shown_while_a_stage_is_under_way(tmp_path, monkeypatch):
    """Of a task that Spark runs twice, once; not of the one that is still under way."""
    monkeypatch.setattr(tasks, "_SECONDS_BETWEEN_REPORTS", 0.01)
    cluster = HereCluster(WorkFolder(canonical(str(tmp_path / "work"))), is_flaky=True)

    def shown(items: list[int]) -> set[int]:
        seen: list[int] = []

        def show(rows: int) -> None:
            seen.append(rows)
            if rows >= sum(items) - 1:
                SHOWN["some"].set()

        SHOWN["some"].clear()
        found = cluster.results(counted, items, show)
        assert [each.rows for each in found] == items
        return set(seen)

    assert 50 in shown([1, 20, 30]) <= {0, 30, 50, 51}
    assert 7 in shown([1, 7]) <= {0, 7, 8}, "another stage counts its own tasks"
    cluster.close()
    assert not (tmp_path / "work").exists()
