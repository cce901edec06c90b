"""Listing in rounds: whatever is cut, tried twice or lost, there is a whole listing or none."""

from __future__ import annotations

import tempfile
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flinkstate.places.locations import canonical
from orphangc.adapters.spark import spark_listing as listing
from orphangc.adapters.spark.exchange.work_folder import WorkFolder
from orphangc.adapters.spark.spark_listing import ListedParts, ListingWork, list_ranges
from orphangc.core.ranges.key_ranges import EVERYTHING, split_at
from orphangc.errors import StorageUnreachableError
from properties.test_ranges import key_sets, keys
from unit.adapters.spark.spark_here import HereCluster
from unit.collect.listing.ordered_storage import OrderedStorage

ROOT = canonical("s3://bucket/root")


class Counted(OrderedStorage):
    """An ordered storage that counts requests as storages do."""

    @property
    def list_requests(self) -> int:
        """Return the requests so far."""
        return self.requests


@pytest.fixture(autouse=True)
def small_ranges():
    """A range is worth a request as soon as it holds a few objects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_WORTH_A_RANGE", 1)
        yield


def listed(
    storage: Counted, folder: WorkFolder, boundaries: list[str], *, is_flaky: bool = False
) -> tuple[ListedParts, list[str]]:
    """Return what a cluster lists, and its keys."""
    work = ListingWork(root=ROOT, folder=folder, streams=2, most_pages=1, rows=7)
    cluster = HereCluster(folder, is_flaky=is_flaky)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_opened", lambda _: storage)
        found = list_ranges(cluster, split_at(EVERYTHING, boundaries), work, lambda *_: None)
    batches = [folder.read_rows(file) for file in found.parts]
    return found, sorted(key for batch in batches for key in batch.column("key").to_pylist())


@settings(max_examples=40)
@given(key_sets, st.lists(keys, max_size=4), st.integers(1, 5))
@example(["a", "b"], ["a"], 1)
def test_every_key_is_listed_exactly_once(stored, boundaries, page_size) -> None:
    """Ranges are split during the listing, at names of any form."""
    storage = Counted(stored, page_size=page_size)
    with tempfile.TemporaryDirectory() as folder:
        found, shown = listed(storage, WorkFolder(canonical(folder)), boundaries)
    assert shown == stored
    assert found.objects == len(stored)
    assert found.requests == storage.requests


def test_an_attempt_that_was_given_up_counts_for_nothing(tmp_path) -> None:
    """Spark may run a task twice: both attempts write files, but Spark reports only one."""
    stored = [f"job/shared/{number:04}" for number in range(50)]
    folder = WorkFolder(canonical(str(tmp_path / "work")))
    found, shown = listed(Counted(stored, page_size=10), folder, ["job/shared/002"], is_flaky=True)
    assert shown == stored
    assert len(list((tmp_path / "work" / "listed").iterdir())) > len(found.parts)
    folder.remove()
    assert not (tmp_path / "work").exists()


def test_a_page_that_cannot_be_had_ends_it_all(tmp_path) -> None:
    """A shorter listing would make live files of the rest look missing, and jobs look small."""

    def fail(number: int) -> None:
        if number == 4:
            raise StorageUnreachableError("cannot list s3://bucket/root: SlowDown")

    storage = Counted([f"{number:04}" for number in range(90)], page_size=10, before=fail)
    with pytest.raises(StorageUnreachableError, match="SlowDown"):
        listed(storage, WorkFolder(canonical(str(tmp_path))), ["0020", "0050"])


def test_a_task_that_spark_lost_is_noticed(tmp_path) -> None:
    """Its keys would be missing, without any other sign."""

    class Forgetful(HereCluster):
        def results(self, frame, work):
            return super().results(frame, work)[1:]

    folder = WorkFolder(canonical(str(tmp_path)))
    work = ListingWork(root=ROOT, folder=folder, streams=2, most_pages=None, rows=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_opened", lambda _: Counted(["a", "b"]))
        with pytest.raises(StorageUnreachableError, match="lost a part"):
            list_ranges(Forgetful(folder), split_at(EVERYTHING, ["a"]), work, lambda *_: None)


def test_roots_are_noticed_wherever_they_lie(tmp_path) -> None:
    """One that a scan by folder does not enter protects what it names all the same."""
    stored = ["_metadata", "a/_metadata", "a/b_metadata", "a/_metadata/x", "z//_metadata"]
    found, _ = listed(Counted(stored), WorkFolder(canonical(str(tmp_path))), [])
    assert sorted(root.key for root in found.roots) == ["_metadata", "a/_metadata", "z//_metadata"]


def test_a_file_that_was_altered_is_no_part_of_the_listing(tmp_path) -> None:
    """A process that can write into the work folder must not be able to hide an object."""
    folder = WorkFolder(canonical(str(tmp_path)))
    found, _ = listed(Counted(["a", "b"]), folder, [])
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
