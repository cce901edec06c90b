"""Runs plain functions on the executors of a Spark session, one task for each item."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.spark.executor_package import PACKAGES, digest_of_package, write_package
from orphangc.adapters.spark.reading import opened
from orphangc.adapters.spark.session import translated
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.errors import SettingsError, StorageUnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HasRows(Protocol):
    """The result of a task."""

    @property
    def rows(self) -> int:
        """Return the number of rows of the listing that the task has worked on."""
        ...


_Item = TypeVar("_Item")
_Result = TypeVar("_Result", bound=HasRows)

_SAME, _OTHER_PACKAGE = "same", "package"
_ROWS = 10_000
"""Number of rows of which Spark makes a partition for each core."""
_SECONDS_BETWEEN_REPORTS = 5.0
LEAST_TASKS = 12
"""No task may be longer than a tenth of its stage."""


class Cluster:
    """A session whose executors have this package and see the work folder."""

    def __init__(self, session: SparkSession, folder: WorkFolder) -> None:
        self.folder = folder
        self._session = session
        self._package: TemporaryFolder | None = None
        self.slots = 1

    def prepare(self, root: Location) -> None:
        """Check package, work folder and storage, and count cores, or raise ``SettingsError``.

        Args:
            root: The storage root, which driver and executors open by their own environments.
        """
        seen = self.folder.write_value("seen")
        with translated(f"use --work {self.folder.location} on Spark's executors", SettingsError):
            answers = self._compare(seen, root)
            if _OTHER_PACKAGE in answers:
                self._package = TemporaryFolder()
                path = Path(self._package.name) / f"orphangc-{digest_of_package()[:16]}.zip"
                write_package(path)
                self._session.addArtifacts(str(path), pyfile=True)
                answers = self._compare(seen, root)
        if _OTHER_PACKAGE in answers:
            raise SettingsError("Spark's executors cannot load orphangc; see deploy/spark")
        self.slots = answers[_SAME]

    def setting(self, name: str, default: int) -> int:
        """Return ``spark.orphangc.<name>``; ``SettingsError`` if it is no positive number."""
        text = self._session.conf.get(f"spark.orphangc.{name}", None)
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise SettingsError(f"spark.orphangc.{name} is {text!r}: a number above 0 is wanted")
        return int(text)

    def _compare(self, seen: ExchangeFile, root: Location) -> Counter[str]:
        """Compare package and server of the executors with the driver's; read the work folder
        there. Return how many tasks gave which answer: one for each core, or ``slots``.

        ``answers`` is a nested function, which Spark pickles by value. It would pickle a function
        of a module by name, which executors without the package cannot resolve.
        """
        digest, server = digest_of_package(), opened(root).server
        question, ours = pickle.dumps((self.folder, seen, root, server)), PACKAGES

        def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                pass
            try:
                from orphangc.adapters.spark import executor_package as package  # noqa: PLC0415 - see above

                is_same = package.digest_of_package() == digest
            except (ImportError, AttributeError):
                is_same = False
            if is_same:
                from orphangc.adapters.spark import reading  # noqa: PLC0415 - see above

                folder, file, *place = pickle.loads(question)  # noqa: S301 - came with this function
                folder.read_value(file)
                reading.opened_at(*place)
                found = "same"
            else:  # this process may have to load another package later
                found = "package"
                for name in [each for each in sys.modules if each.split(".")[0] in ours]:
                    del sys.modules[name]
            yield pa.RecordBatch.from_pydict({"found": pa.array([found])})

        slots = self.setting("slots", 0)
        rows = self._session.range(0, slots, 1, slots) if slots else self._session.range(_ROWS)
        return Counter(rows.mapInArrow(answers, "found string").toArrow()["found"].to_pylist())

    def close(self) -> None:
        """Remove the files on this machine and in the work folder."""
        self.folder.remove()
        if self._package is not None:
            self._package.cleanup()

    @property
    def tasks(self) -> int:
        """Return into how many tasks to cut a stage: none may be longer than a tenth of it."""
        return max(LEAST_TASKS, 3 * self.slots)

    def results(
        self, work: Callable[[_Item], _Result], items: Sequence[_Item], show: Callable[[int], None]
    ) -> list[_Result]:
        """Return the result of the work on each item, in their order; each item is one task.

        Spark may run a task twice, and reports one of its attempts.

        Args:
            show: Receives now and then the number of rows of the tasks that are done.

        Raises:
            StorageUnreachableError: Spark did not report each task once.
        """
        if not items:
            return []
        stage = uuid.uuid4().hex
        with translated("finish on Spark"), self._reporting(stage, show):
            found = self._map(_OnItems(work, items, self.folder, stage), len(items))
        if sorted(number for number, _ in found) != list(range(len(items))):
            raise StorageUnreachableError("Spark lost a task, or reported one twice")
        return [result for _, result in sorted(found, key=lambda each: each[0])]

    @contextmanager
    def _reporting(self, stage: str, show: Callable[[int], None]) -> Iterator[None]:
        is_over = threading.Event()

        def report() -> None:
            while not is_over.wait(_SECONDS_BETWEEN_REPORTS):
                with suppress(StorageUnreachableError):  # the tasks say so, if they need it
                    show(self.folder.rows_done(stage))

        reporting = threading.Thread(target=report, name="spark-progress", daemon=True)
        reporting.start()
        try:
            yield
        finally:
            is_over.set()
            reporting.join()

    def _map(self, work: _OnItems, tasks: int) -> list[Any]:
        def carry_out(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from work(batches)
            _keep_modules()

        frame = self._session.range(0, tasks, 1, tasks).mapInArrow(carry_out, "result binary")
        # only Spark's own channel carried them
        return [pickle.loads(each) for each in frame.toArrow()["result"].to_pylist()]  # noqa: S301


@cache
def _keep_modules() -> None:
    """Take what a process has loaded out of Python's garbage collection.

    PySpark collects after each task, which takes 0.1 s of processor time for these modules alone.
    """
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class _OnItems:
    """Does the work of those items whose numbers a task is given; picklable."""

    work: Callable[[Any], HasRows]
    items: Sequence[Any]
    folder: WorkFolder
    stage: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                data = pickle.dumps(self.done(number))
                yield pa.RecordBatch.from_pydict({"result": pa.array([data], pa.binary())})

    def done(self, number: int) -> tuple[int, Any]:
        result = self.work(self.items[number])
        self.folder.report_done(self.stage, number, result.rows)
        return number, result
