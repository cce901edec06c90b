"""A cluster that runs its tasks in this process, one after the other, some of them twice."""

import pickle
from collections.abc import Sequence
from typing import Any

from orphangc.adapters.spark.tasks import Cluster, _OnItems
from orphangc.adapters.spark.work_folder import WorkFolder


class HereCluster(Cluster):
    """What ``Cluster`` does with tasks, without Spark.

    Attributes:
        given: Items of each stage.
    """

    def __init__(self, folder: WorkFolder, *, is_flaky: bool = False, lost: int = 0) -> None:
        super().__init__(None, folder)
        self.is_flaky = is_flaky
        self.lost = lost
        self.given: list[Sequence[Any]] = []
        self.reported: list[list[Any]] = []

    def _map(self, work: _OnItems, tasks: int) -> list[Any]:
        """Return the numbered results of tasks, the last one first."""
        self.given.append(work.items)
        found = []
        for number in reversed(range(tasks)):
            for _ in range(1 + self.is_flaky):
                sent = pickle.loads(pickle.dumps(work))
                done = pickle.loads(pickle.dumps(sent.done(number)))
            found.append(done)
        self.reported.append([result for _, result in found])
        return found[self.lost :]
