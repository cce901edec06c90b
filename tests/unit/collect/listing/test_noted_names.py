"""Objects that are noted by name while they are listed: those that a pass over all rows finds."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.collect.listing.noted_names import metadata_objects
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.ports import LISTING_SCHEMA
from orphangc.ports.engine import ListingHints
from unit.collect.listing.ordered_storage import MemorySpool, OrderedStorage, a_page

AT = datetime(2026, 1, 2, tzinfo=UTC)
UUID = "5b846b82-dbd9-4779-8ec2-2ed727843504"
KEYS = ["_metadata", "a/_metadata", "a/chk-1/_metadata", f"a/chk-1/{UUID}", "a/metadata-1/b", "b"]


def listing(keys) -> pa.RecordBatch:
    rows = [{"key": key, "size": 7, "modified_at": AT, "etag": "e"} for key in keys]
    return pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA)


def test_only_base_names_of_objects_count():
    """A folder of this name holds no checkpoint's bytes, and neither do files in it."""
    folder = pa.RecordBatch.from_pylist([{"key": "_metadata", "size": None}], schema=LISTING_SCHEMA)
    found = metadata_objects(listing(KEYS))
    assert [each.key for each in found] == KEYS[:3]
    assert metadata_objects(folder) == []


def test_what_was_set_aside_counts_and_what_is_being_written_does_not():
    """A person gives a copy a longer name; Flink gives one to what it has not finished."""
    keys = ["a/_metadata.bak", "old-metadata", "a/metadata/chk-7.metadata", ".metadata"]
    keys.append(f"rescued/{'0a' * 32}.metadata")
    others = [
        "._metadata.inprogress.x",
        "t/metadata/v1.metadata.json",
        f"results/{UUID}.csv.metadata",
        *(f"{each}/{'0a' * 32}.metadata" for each in ("expired", "damaged", "s/expired")),
    ]
    assert [each.key for each in metadata_objects(listing([*keys, *others]))] == keys


def test_what_flink_names_no_file_of_a_checkpoint_counts():
    """A person renamed it; of names with a UUID none is, unless it begins as ``_metadata`` does."""
    folders = ("chk-1", f"{7:032x}/chk-20", "savepoint-5b846b-dbd947798ec2")
    keys = [f"{each}/{name}" for each in folders for name in ("old", "old_METADATA", "a.bak")]
    keys += [f"chk-1/_metadata-{UUID}", "chk-1/a/b"]
    others = [f"{each}/{name}" for each in folders for name in (UUID, f"9_{UUID}", f".x.{UUID}")]
    others += [
        f"chk-1/._metadata.inprogress.{UUID}",
        "chk-1/",
        f"chk-1/a/{UUID}",
        "chk-x/old",
        "c/old",
    ]
    found = metadata_objects(listing([*keys, *others]))
    assert [each.key for each in found] == keys


@pytest.mark.parametrize("streams", [1, 3])
def test_what_was_noted_is_what_a_pass_finds(streams):
    """Pages are cut where another stream goes on: no object twice, none left out."""
    keys = sorted(f"{job:032x}/chk-{n}/{name}" for job in range(3) for n in range(40)
                  for name in (UUID, "_metadata"))  # fmt: skip
    with ArrowSpool() as spool:
        engine = LocalEngine(spool, "root", streams=streams)
        engine.list_all(OrderedStorage(keys), ListingHints(), lambda *_: None)
        noted = [each.key for each in engine.metadata_objects()]
        engine._noted = None
        assert noted == [each.key for each in engine.metadata_objects()] == keys[1::2]


def test_what_an_interrupted_run_listed_is_searched_too():
    """This run has not seen its pages, and they may hold the only checkpoint."""
    keys = ["a/chk-1/_metadata", "a/x", "b/chk-1/_metadata", "b/x"]
    spool = MemorySpool([(KeyRange(None, "a/x"), [a_page(keys[:2])])])
    engine = LocalEngine(spool, "root", streams=1)
    engine.list_all(OrderedStorage(keys), ListingHints(), lambda *_: None)
    assert [each.key for each in engine.metadata_objects()] == keys[::2]


def test_links_are_noted_and_files_and_folders_are_not(tmp_path):
    """A pass over all rows finds the same."""
    (tmp_path / "a" / "folder").mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    (tmp_path / "a" / "link").symlink_to(tmp_path)
    with ArrowSpool() as spool:
        engine = LocalEngine(spool, "root", streams=1)
        engine.list_all(LocalStorage(canonical(str(tmp_path))), ListingHints(), lambda *_: None)
        noted = list(engine.links())
        engine._noted = None
        assert noted == list(engine.links()) == ["a/link"]
