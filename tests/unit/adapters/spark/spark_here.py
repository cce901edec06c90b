"""A cluster that runs its tasks in this process, one after the other, some of them twice."""

# ruff: noqa: D102 - the verbs are those of ``Cluster``
from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from orphangc.adapters.spark.exchange.work_folder import WorkFolder
from orphangc.adapters.spark.tasks import Work, unpacked


class HereCluster:
    """What ``Cluster`` does with tasks, without Spark.

    Attributes:
        folder: The work folder.
        slots: How many tasks a round has, about.
        is_flaky: Each task is done twice, and only the second attempt counts.

    """

    def __init__(self, folder: WorkFolder, *, slots: int = 2, is_flaky: bool = False) -> None:
        self.folder = folder
        self.slots = slots
        self.is_flaky = is_flaky
        self.rounds = 0

    def rows(self, tasks: Sequence[pa.Table]) -> list[list[pa.RecordBatch]]:
        return [each.to_batches() for each in tasks]

    def results(self, frame: list[list[pa.RecordBatch]], work: Work) -> list[Any]:
        self.rounds += 1
        return [value for task in frame for value in self._done(task, work)]

    def _done(self, task: list[pa.RecordBatch], work: Work) -> Iterator[Any]:
        sent = pickle.loads(pickle.dumps(work))
        if self.is_flaky:
            list(sent(iter(task)))
        for batch in sent(iter(task)):
            yield from unpacked(pa.Table.from_batches([batch]))
