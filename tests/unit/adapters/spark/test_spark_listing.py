"""Listing in rounds: whatever is cut, tried twice or lost, there is a whole listing or none."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.spark import reading
from orphangc.adapters.spark import spark_listing as listing
from orphangc.adapters.spark.spark_listing import (
    ListedParts,
    ListingTask,
    ReadingTask,
    list_ranges,
    read_parts,
)
from orphangc.adapters.spark.work_folder import WorkFolder
from orphangc.core.ranges.key_ranges import EVERYTHING, split_at
from orphangc.errors import SettingsError, StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA
from properties.test_ranges import key_sets, keys
from unit.adapters.spark.spark_here import HereCluster
from unit.collect.listing.ordered_storage import OrderedStorage

ROOT = canonical("s3://bucket/root")


class Counted(OrderedStorage):
    """An ordered storage that counts requests as storages do."""

    server = "driver.example"

    @property
    def list_requests(self) -> int:
        return self.requests


@pytest.fixture(autouse=True)
def small_ranges():
    """A range is worth a request as soon as it holds a few objects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_WORTH_A_RANGE", 1)
        yield


def listed(
    storage: Counted | LocalStorage, cluster: HereCluster, boundaries: list[str], *, most: int = 10
) -> tuple[ListedParts, list[str]]:
    """Return what a cluster lists, and its keys."""
    here = {"root": ROOT, "server": storage.server, "folder": cluster.folder}
    work = ListingTask(**here, streams=2, most=most, rows=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "opened", lambda _: storage)
        found = list_ranges(cluster, split_at(EVERYTHING, boundaries), work, lambda *_: None)
    batches = [cluster.folder.read_rows(file) for file in found.parts]
    return found, sorted(key for batch in batches for key in batch.column("key").to_pylist())


def a_cluster(folder: Path, **how: object) -> HereCluster:
    return HereCluster(WorkFolder(canonical(str(folder / "work"))), **how)


@settings(max_examples=40)
@given(key_sets, st.lists(keys, max_size=4), st.integers(1, 5))
@example(["a", "b"], ["a"], 1)
def test_every_key_is_listed_exactly_once(stored, boundaries, page_size) -> None:
    """Ranges are split during the listing, at names of any form."""
    storage = Counted(stored, page_size=page_size)
    with tempfile.TemporaryDirectory() as folder:
        found, shown = listed(storage, a_cluster(Path(folder)), boundaries)
    assert shown == stored
    assert found.rows == len(stored)
    assert found.requests == storage.requests


def test_no_task_lists_more_than_a_tenth_of_what_was_listed_before_it(tmp_path) -> None:
    """Names of which nothing is known before, all in one folder: the first task has them all."""
    stored = [f"job/shared/{number * 7919 % 2**16:04x}" for number in range(9000)]
    cluster = a_cluster(tmp_path)
    found, shown = listed(Counted(sorted(stored), page_size=10), cluster, [], most=100)
    assert shown == sorted(stored)
    before, page = 0, 10
    for stage in cluster.reported:
        most = max(100, before // 10)
        assert all(task.rows <= most + 2 * page for task in stage)
        before += sum(task.rows for task in stage)
    assert max(task.rows for stage in cluster.reported for task in stage) < len(stored) / 10
    assert len(cluster.reported) < 12
    assert found.rows == len(stored)


def test_an_attempt_that_was_given_up_counts_for_nothing(tmp_path) -> None:
    """Spark may run a task twice: both attempts write files, but Spark reports only one."""
    stored = [f"job/shared/{number:04}" for number in range(50)]
    cluster = a_cluster(tmp_path, is_flaky=True)
    found, shown = listed(Counted(stored, page_size=10), cluster, ["job/shared/002"])
    assert shown == stored
    assert len(list((tmp_path / "work" / "listed").iterdir())) > len(found.parts)
    cluster.folder.remove()
    assert not (tmp_path / "work").exists()


def test_a_page_that_cannot_be_had_ends_it_all(tmp_path) -> None:
    """A shorter listing would make live files of the rest look missing, and jobs look small."""

    def fail(number: int) -> None:
        if number == 4:
            raise StorageUnreachableError("cannot list s3://bucket/root: SlowDown")

    storage = Counted([f"{number:04}" for number in range(90)], page_size=10, before=fail)
    with pytest.raises(StorageUnreachableError, match="SlowDown"):
        listed(storage, a_cluster(tmp_path), ["0020", "0050"])


def test_an_executor_that_came_later_with_another_endpoint_ends_it_all(tmp_path) -> None:
    """In the place of one that died: the same URI is another storage to it, which has no roots."""
    storage, elsewhere = Counted([f"job/{number:03}" for number in range(99)], 10), Counted([])
    elsewhere.server = "executor.example"
    cluster, left = a_cluster(tmp_path), iter([storage])
    here = {"root": ROOT, "server": storage.server, "folder": cluster.folder}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "opened", lambda _: next(left, elsewhere))
        work = ListingTask(**here, streams=2, most=10, rows=7)
        said = r"another endpoint than the driver \(executor.example instead of driver.example\)"
        with pytest.raises(SettingsError, match=said):
            list_ranges(cluster, split_at(EVERYTHING, ["job/050"]), work, lambda *_: None)


def test_a_task_that_spark_lost_is_noticed(tmp_path) -> None:
    """Its keys would be missing, without any other sign."""
    with pytest.raises(StorageUnreachableError, match="lost a task"):
        listed(Counted(["a", "b"]), a_cluster(tmp_path, lost=1), ["a"])


@pytest.mark.parametrize(("change", "words"), [("lost", "lacks 1 ranges"), ("twice", "twice")])
def test_a_range_that_no_task_or_that_two_tasks_list_is_noticed(tmp_path, change, words) -> None:
    """Whatever the tasks say of themselves: together they are the whole key space, once."""

    class Forgetful(HereCluster):
        def results(self, work, items, show):
            found = super().results(work, items, show)
            if change == "lost":
                found[0].finished.pop()
            return found if change == "lost" else [*found, found[0]]

    cluster = Forgetful(WorkFolder(canonical(str(tmp_path))))
    with pytest.raises(StorageUnreachableError, match=words):
        listed(Counted(["a", "b"]), cluster, ["a"])


def test_roots_are_noticed_wherever_they_lie(tmp_path) -> None:
    """One that a scan by folder does not enter protects what it names all the same."""
    stored = ["_metadata", "a/_metadata", "a/b_metadata", "a/_metadata/x", "z//_metadata"]
    found, _ = listed(Counted(stored), a_cluster(tmp_path), [])
    assert sorted(root.key for root in found.roots) == [*sorted({*stored} - {"a/_metadata/x"})]


def test_links_are_noticed(tmp_path) -> None:
    """The search follows them, for no listing does."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    storage = LocalStorage(canonical(str(tmp_path / "root")))
    found, _ = listed(storage, a_cluster(tmp_path), [])
    assert found.links == ["link"]


def test_a_file_that_was_altered_is_no_part_of_the_listing(tmp_path) -> None:
    """A process that can write into the work folder must not be able to hide an object."""
    folder = WorkFolder(canonical(str(tmp_path)))
    found, _ = listed(Counted(["a", "b"]), HereCluster(folder), [])
    (file,) = found.parts
    path = tmp_path / file.name
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(StorageUnreachableError, match="was altered"):
        folder.read_rows(file)
    path.unlink()
    with pytest.raises(StorageUnreachableError, match="is not there"):
        folder.read_rows(file)
    with pytest.raises(StorageUnreachableError, match="not as written"):
        folder.read_rows(replace(folder.write_rows("listed", [_ROWS]), rows=2))


_ROWS = next(iter(OrderedStorage(["a"]).pages()))


# --- an earlier listing


@dataclass(frozen=True)
class Part:
    """A part of an earlier listing, of some objects below the root and one beside it."""

    number: int
    weight: int

    def read(self, take: Callable[[pa.RecordBatch], None]) -> int:
        """Give a batch for each object, the last of them a checkpoint's."""
        names = [*map(str, range(self.weight)), "_metadata"]
        for name in names:
            row = {"key": f"{self.number}/{name}", "size": 1, "modified_at": AT, "etag": None}
            take(pa.RecordBatch.from_pylist([row], LISTING_SCHEMA))
        return len(names) + 1


AT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize("how", [{}, {"is_flaky": True}])
def test_every_part_of_an_earlier_listing_is_read_exactly_once(tmp_path, how) -> None:
    """More parts than tasks: the heaviest are in different ones."""
    parts = [Part(number, number * 7 % 31) for number in range(31)]
    cluster = a_cluster(tmp_path, **how)
    work = ReadingTask(folder=cluster.folder, rows=50)
    found = read_parts(cluster, parts, work, lambda *_: None)
    batches = [cluster.folder.read_rows(file) for file in found.parts]
    keys_read = sorted(key for batch in batches for key in batch.column("key").to_pylist())
    expected = [f"{part.number}/{name}" for part in parts for name in range(part.weight)]
    roots = [f"{part.number}/_metadata" for part in parts]
    assert keys_read == sorted([*expected, *roots])
    assert sorted(each.key for each in found.roots) == sorted(roots)
    assert found.objects == len(keys_read) + len(parts)
    (given_parts,) = cluster.given
    assert len(given_parts) == cluster.tasks
    assert {each[0].weight for each in given_parts} == set(range(31 - cluster.tasks, 31))


def test_an_earlier_listing_of_which_a_task_was_lost_is_none(tmp_path) -> None:
    """What is missing would look like an empty storage."""
    cluster = a_cluster(tmp_path, lost=1)
    work = ReadingTask(folder=cluster.folder, rows=50)
    with pytest.raises(StorageUnreachableError, match="lost a task"):
        read_parts(cluster, [Part(1, 1), Part(2, 1)], work, lambda *_: None)
