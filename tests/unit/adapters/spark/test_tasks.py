"""The first job on Spark: it compares what executors have, and counts their cores, at once."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.spark.tasks import Cluster
from orphangc.adapters.spark.work_folder import WorkFolder
from orphangc.errors import SettingsError

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
    cluster.prepare()
    assert (cluster.slots, session.jobs) == (slots, [slots])


def test_executors_at_another_endpoint_are_refused(tmp_path, monkeypatch):
    """They would list another storage."""
    endpoints = iter(["the driver's", "the driver's", "an executor's"])
    name = "orphangc.adapters.spark.executor_package.digest_of_endpoints"
    monkeypatch.setattr(name, lambda: next(endpoints))
    monkeypatch.setattr("orphangc.adapters.spark.tasks.digest_of_endpoints", lambda: "the driver's")
    cluster = Cluster(FakeSession(3, {}), WorkFolder(canonical(str(tmp_path / "work"))))
    with pytest.raises(SettingsError, match="another S3 endpoint"):
        cluster.prepare()


@pytest.mark.parametrize("text", ["0", "-1", "", "many"])
def test_a_setting_that_is_no_number_above_0_is_refused(tmp_path, text):
    """Before anything runs."""
    session = FakeSession(3, {"spark.orphangc.slots": text})
    cluster = Cluster(session, WorkFolder(canonical(str(tmp_path / "work"))))
    with pytest.raises(SettingsError, match="a number above 0 is wanted"):
        cluster.prepare()
    assert not session.jobs
