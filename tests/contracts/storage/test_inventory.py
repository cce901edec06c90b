"""An inventory in the place of a listing: the same rows, or nothing."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.places import MANY, S3Place, listed, rows
from orphangc.adapters.s3_inventory import inventory
from orphangc.adapters.s3_inventory.inventory import InventoryStorage, open_inventory
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import RefusedError, SettingsError, StorageUnreachableError
from orphangc.ports import Storage
from support.inventory_reports import CSV, FORMATS, PLAIN, VERSIONED, Report, a_report, row_of

MARGINS = {"max_age": timedelta(hours=72), "clock_skew": timedelta(minutes=15)}
FOLDER = "inventory/daily"


def hours_ago(hours: float) -> datetime:
    """Return a whole minute of the past, as report folders are named."""
    at = datetime.now(UTC) - timedelta(hours=hours)  # noqa: TID251 - both servers run here
    return at.replace(second=0, microsecond=0)


@dataclass
class Inventories:
    """A bucket for reports of a place's bucket."""

    place: S3Place
    bucket: str

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{FOLDER}"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each version in the place's bucket, as S3 itself reports it."""
        versions, markers = [], []
        for page in self.place.client.get_paginator("list_object_versions").paginate(
            Bucket=self.place.bucket
        ):
            versions += page.get("Versions", ())
            markers += page.get("DeleteMarkers", ())
        return [row_of(self.place.bucket, each) for each in versions] + [
            row_of(self.place.bucket, each) for each in markers
        ]

    def report(self, *, hours: float = 1, parts: int = 2, columns=VERSIONED, **more: Any) -> Report:
        """Return a report of what the bucket holds now, not delivered yet."""
        found = self.rows()
        if columns is PLAIN:
            found = [row for row in found if row["IsLatest"] and not row["IsDeleteMarker"]]
        cut = [found[number::parts] for number in range(parts)]
        more = {"bucket": self.place.bucket, "at": hours_ago(hours), "folder": FOLDER, **more}
        return a_report(*cut, columns=columns, **more)

    def deliver(self, report: Report, *, without: str = "") -> str:
        for key, data in report.objects().items():
            if not without or not key.endswith(without):
                self.place.client.put_object(Bucket=self.bucket, Key=key, Body=data)
        return f"{self.uri}/{report.name}/manifest.json"

    def open(self, uri: str | None = None, **margins: Any) -> InventoryStorage:
        return open_inventory(uri or self.uri, self.place.open(), **{**MARGINS, **margins})


@pytest.fixture
def inventories(s3_place) -> Inventories:
    bucket = f"reports-{uuid.uuid4().hex[:16]}"
    s3_place.client.create_bucket(Bucket=bucket)
    return Inventories(s3_place, bucket)


def sorted_rows(storage: Storage) -> list[dict[str, Any]]:
    return sorted(rows(storage), key=lambda row: row["key"])


# --- the rows


@pytest.mark.parametrize("columns", [PLAIN, VERSIONED])
@pytest.mark.parametrize("form", FORMATS)
def test_an_inventory_shows_what_a_listing_shows(inventories, form, columns) -> None:
    """Row for row: key, size, time, ETag, or every object would look changed to a sweep."""
    place = inventories.place
    place.put_all(["j/chk-1/_metadata", "j/shared/x", "j/a b+%41é", "j/empty/"])
    upload = place.client.create_multipart_upload(Bucket=place.bucket, Key="cp/j/parts")["UploadId"]
    named = {"Bucket": place.bucket, "Key": "cp/j/parts", "UploadId": upload}
    part = place.client.upload_part(**named, PartNumber=1, Body=b"x")
    place.client.complete_multipart_upload(
        **named, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    )
    inventories.deliver(inventories.report(form=form, columns=columns))
    assert sorted_rows(inventories.open()) == sorted_rows(place.open())


@pytest.mark.parametrize("form", FORMATS)
def test_versions_and_markers_are_no_objects(inventories, form) -> None:
    """In a versioned bucket the inventory has every version."""
    place = inventories.place
    place.enable_versions()
    for key in ("again", "deleted", "back"):
        place.put(key)
        place.put(key, b"newer")
    place.remove("deleted")
    place.remove("back")
    place.put("back", b"newest")
    inventories.deliver(inventories.report(form=form))
    assert sorted_rows(inventories.open()) == sorted_rows(place.open())
    assert listed(inventories.open()) == ["again", "back"]


def test_what_lies_outside_the_storage_root_is_left_out(inventories) -> None:
    """An inventory is of a bucket; a prefix matches whole parts only."""
    place = inventories.place
    place.put_all(["x", "j/y"])
    for key in ("cpx/z", "cp", "other/cp/z"):
        place.client.put_object(Bucket=place.bucket, Key=key, Body=b"")
    inventories.deliver(inventories.report())
    storage = inventories.open()
    assert listed(storage) == ["j/y", "x"]
    assert storage.inventory.objects == 5
    whole = open_inventory(inventories.uri, place.open(f"s3://{place.bucket}"), **MARGINS)
    assert listed(whole) == ["cp", "cp/j/y", "cp/x", "cpx/z", "other/cp/z"]


def test_many_files_are_read_to_the_last(inventories) -> None:
    """One after the other, the next under way; twice, if asked twice."""
    place = inventories.place
    place.put_all([f"j/shared/{number:04}" for number in range(MANY)])
    inventories.deliver(inventories.report(parts=9))
    storage = inventories.open()
    for _ in range(2):
        assert len(listed(storage)) == len(set(listed(storage))) == MANY
        assert storage.inventory.objects == MANY


def test_a_file_that_comes_in_parts_is_read_to_the_last(inventories, monkeypatch) -> None:
    """A part that is shorter than requested is the last one, and never a part alone."""
    monkeypatch.setattr(inventory, "_PART", 100)
    inventories.place.put_all([f"j/shared/{number:03}" for number in range(40)])
    report = inventories.report(parts=1)
    inventories.deliver(report)
    assert sorted_rows(inventories.open()) == sorted_rows(inventories.place.open())


def test_a_listing_that_is_left_early_leaves_nothing_behind(inventories, tmp_path, monkeypatch):
    """The reader removes its files on the local disk."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    inventories.place.put_all([f"{number}" for number in range(20)])
    inventories.deliver(inventories.report(parts=5))
    pages = inventories.open().pages()
    next(pages)
    assert any(tmp_path.iterdir())
    pages.close()
    assert not any(tmp_path.iterdir())


# --- what is not the listing


def test_everything_but_the_listing_is_as_fresh_as_ever(inventories) -> None:
    """Levels, folders, facts, bytes and clock: roots and re-checks rest on them."""
    place = inventories.place
    place.put_all(["j/shared/old", "j/shared/changed"])
    inventories.deliver(inventories.report())
    storage = inventories.open()
    place.put("j/shared/new", b"new")
    place.put("j/shared/changed", b"changed")
    place.remove("j/shared/old")
    assert listed(storage) == ["j/shared/changed", "j/shared/old"]
    assert [found.key for found in storage.folder("j/shared").objects] == [
        *("j/shared/changed", "j/shared/new")
    ]
    assert listed(storage, "j") == ["j/shared/changed", "j/shared/new"]
    facts = storage.stat(["j/shared/old", "j/shared/changed"])
    assert [fact and fact.size for fact in facts] == [None, 7]
    assert storage.read("j/shared/new", max_bytes=10) == b"new"
    assert storage.now().now is not None
    assert storage.list_requests > 0


def test_an_inventory_says_that_it_is_one(inventories) -> None:
    """Plans record the inventory; a listed storage has none."""
    report = inventories.report()
    uri = inventories.deliver(report)
    storage = inventories.open()
    assert inventories.place.open().inventory is None
    begun = int(storage.inventory.created_at.timestamp() * 1000)
    assert (storage.inventory.uri, str(begun)) == (uri, report.manifest["creationTimestamp"])


def test_an_inventory_has_no_key_ranges(inventories) -> None:
    """A part of it would be read as often as there are ranges."""
    inventories.place.put("x")
    inventories.deliver(inventories.report())
    storage = inventories.open()
    assert not storage.is_ordered
    with pytest.raises(ValueError, match="no order"):
        storage.pages(KeyRange("a", "b"))


# --- which report


def test_the_newest_complete_report_is_taken(inventories) -> None:
    """One that is still being delivered has no checksum, or that of another manifest."""
    place = inventories.place
    place.put("a")
    inventories.deliver(inventories.report(hours=50))
    place.put("b")
    uri = inventories.deliver(inventories.report(hours=26))
    place.put("c")
    inventories.deliver(inventories.report(hours=3), without="manifest.checksum")
    unfit = inventories.report(hours=2)
    unfit.checksum = b"0" * 32
    inventories.deliver(unfit)
    inventories.deliver(inventories.report(hours=1), without="manifest.json")
    storage = inventories.open()
    assert (storage.inventory.uri, listed(storage)) == (uri, ["a", "b"])


def test_one_report_may_be_named(inventories) -> None:
    """Its manifest or its folder selects it; no other report is read."""
    inventories.place.put("a")
    uri = inventories.deliver(inventories.report(hours=50))
    inventories.place.put("b")
    inventories.deliver(inventories.report(hours=1))
    assert listed(inventories.open(uri)) == ["a"]
    assert listed(inventories.open(uri.removesuffix("/manifest.json"))) == ["a"]


@pytest.mark.parametrize("without", ["manifest.json", "manifest.checksum"])
def test_a_named_report_that_is_not_complete_is_refused(inventories, without) -> None:
    """The complete part is unknown."""
    inventories.place.put("a")
    uri = inventories.deliver(inventories.report(), without=without)
    with pytest.raises(RefusedError, match="not complete"):
        inventories.open(uri)


def test_a_folder_without_a_complete_report_is_refused(inventories) -> None:
    """A mistyped folder, or the first report is still to come."""
    inventories.deliver(inventories.report(), without="manifest.checksum")
    for uri in (inventories.uri, f"{inventories.uri}/mistyped"):
        with pytest.raises(SettingsError, match="no complete inventory report"):
            inventories.open(uri)
    with pytest.raises(StorageUnreachableError):
        inventories.open(inventories.place.missing_uri)


def test_an_inventory_of_another_bucket_is_refused(inventories) -> None:
    """Its keys would be searched in this bucket."""
    inventories.place.put("a")
    inventories.deliver(inventories.report(bucket="another"))
    with pytest.raises(SettingsError, match="of bucket another"):
        inventories.open()


def test_an_old_inventory_is_refused_and_one_of_the_future(inventories) -> None:
    """To the hour that was asked for; by the store's clock."""
    inventories.place.put("a")
    inventories.deliver(inventories.report(hours=73))
    with pytest.raises(RefusedError, match="inventory-max-age"):
        inventories.open()
    assert listed(inventories.open(max_age=timedelta(hours=74))) == ["a"]
    inventories.deliver(inventories.report(hours=-1))
    with pytest.raises(RefusedError, match="future"):
        inventories.open()


# --- damage


def damage_bytes(report: Report, key: str) -> None:
    data = bytearray(report.files[key])
    data[len(data) // 2] ^= 1
    report.files[key] = bytes(data)


def damage_size(report: Report, key: str) -> None:
    report.files[key] = report.files[key][:-1]


def drop(report: Report, key: str) -> None:
    del report.files[key]


def swap(report: Report, key: str) -> None:
    other = next(each for each in report.files if each != key)
    report.files[key], report.files[other] = report.files[other], report.files[key]


def name_twice(report: Report, key: str) -> None:
    found = next(each for each in report.manifest["files"] if each["key"] == key)
    report.manifest["files"].append(dict(found))


DAMAGES: dict[str, Callable[[Report, str], None]] = {
    each.__name__: each for each in (damage_bytes, damage_size, drop, swap, name_twice)
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_report_is_refused(inventories, form, damage) -> None:
    """Whichever file it is, and though the manifest's own checksum fits."""
    inventories.place.put_all([f"{number}" for number in range(40)])
    report = inventories.report(form=form, parts=3)
    DAMAGES[damage](report, max(report.files))
    inventories.deliver(report)
    with pytest.raises(RefusedError, match="nothing was planned"):
        rows(inventories.open())


def test_a_file_with_rows_of_another_bucket_is_refused(inventories) -> None:
    """Its MD5 fits, and the manifest names this bucket: the rows have the last word."""
    inventories.place.put("a")
    foreign = [{**row, "Bucket": "another"} for row in inventories.rows()]
    report = a_report(
        foreign, columns=VERSIONED, bucket=inventories.place.bucket, at=hours_ago(1), folder=FOLDER
    )
    inventories.deliver(report)
    with pytest.raises(RefusedError, match="another bucket"):
        rows(inventories.open())


def test_an_unreadable_manifest_is_refused_though_complete(inventories) -> None:
    """Not passed over for an older one: it was delivered whole, and is of an unknown form."""
    inventories.place.put("a")
    inventories.deliver(inventories.report(hours=26))
    report = inventories.report(hours=1, form=CSV)
    report.manifest["version"] = "2030-01-01"
    inventories.deliver(report)
    with pytest.raises(RefusedError, match="2030"):
        inventories.open()


def test_an_inventory_without_a_column_is_refused_before_anything_is_fetched(inventories) -> None:
    columns = tuple(each for each in PLAIN if each != "ETag")
    inventories.deliver(inventories.report(columns=columns))
    with pytest.raises(SettingsError, match="lacks ETag"):
        inventories.open()
