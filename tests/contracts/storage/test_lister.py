"""Listing: every object once, or an error."""

import pytest

from contracts.places import FILLED, listed, rows
from orphangc.collect.listing.storage_metadata import metadata_in
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA

SPECIAL = [
    "a b",
    "a%41",
    "a%2Fb",
    "a+b",
    "a&b=c",
    "a<b>",
    "a'\"b",
    "a~#|^`",
    "x*",
    "x?",
    "x[1]",
    "x\\y",
    "é/ü/漢字/🙂",
    "..a/b..",
    ".hidden",
]
S3_ONLY = ["dir/", "dir/x", "dir//x", "/lead", "./x", "x/../y", "x/./y", "c\x01d", "t\tr\rz"]


def named(keys: list[str], place) -> list[str]:
    """Return the keys that a place can name: to Azure, a backslash is a slash."""
    return [key for key in keys if "\\" not in key or place.kind != "azurite"]


def test_every_object_is_listed_exactly_once_over_several_pages(filled_place):
    """1205 keys are two pages on S3: none is lost or doubled where they meet."""
    assert listed(filled_place.open()) == FILLED


def test_batches_have_the_schema_of_the_port(place):
    """Code that joins, filters or writes batches relies on names, types and nullability."""
    place.put("a/x", b"four")
    (batch,) = place.open().objects()
    assert batch.schema.equals(LISTING_SCHEMA)
    (row,) = (row for row in batch.to_pylist() if row["key"] == "a/x")
    assert row["size"] == 4
    assert row["modified_at"].utcoffset().total_seconds() == 0


def test_a_prefix_matches_whole_parts_only(place):
    """dmf_2 is not the start of dmf_27."""
    place.put_all(["dmf_2/x", "dmf_27/x", "dmf_2", "other"] if not place.has_folders else
                  ["dmf_2/x", "dmf_27/x", "other"])  # fmt: skip
    storage = place.open()
    assert listed(storage, "dmf_2") == ["dmf_2/x"]
    assert [found.key for found in storage.folder("dmf_2").objects] == ["dmf_2/x"]


def test_a_folder_that_does_not_exist_has_nothing(place):
    """A job directory may be removed before it is listed."""
    place.put("a/x")
    storage = place.open()
    assert rows(storage, "nowhere/at/all") == []
    assert storage.folder("nowhere") == type(storage.folder())((), ())


def test_an_empty_root_has_nothing(place):
    """An empty storage is no error."""
    storage = place.open()
    assert rows(storage) == []
    assert storage.folder().folders == ()


def test_a_root_that_does_not_exist_is_an_error(place):
    """A typing error in a URI must not look like a storage without any checkpoint."""
    with pytest.raises(StorageUnreachableError, match=r"exist|NoSuchBucket"):
        rows(place.open(place.missing_uri))


def test_a_root_that_vanishes_is_an_error(place):
    """The same when it goes between opening and listing."""
    place.put("x")
    storage = place.open()
    place.remove_root()
    with pytest.raises(StorageUnreachableError):
        rows(storage)
    with pytest.raises(StorageUnreachableError):
        storage.folder()


def test_a_change_from_outside_is_seen_at_once(place):
    """No listing is cached, in any direction, for objects or for a level."""
    place.put("a/x")
    storage = place.open()
    assert listed(storage) == ["a/x"]
    assert len(storage.folder("a").objects) == 1
    place.put("a/y", b"more")
    place.remove("a/x")
    assert listed(storage) == ["a/y"]
    assert [found.size for found in storage.folder("a").objects] == [4]


def test_one_level_has_folder_names_and_the_objects_beside_them(place):
    """A job directory is explored level by level; names have no slash, keys are whole."""
    place.put_all(["j/chk-1/_metadata", "j/chk-10/_metadata", "j/shared/x", "j/file", "k/x"])
    level = place.open().folder("j")
    assert level.folders == ("chk-1", "chk-10", "shared")
    assert [found.key for found in level.objects] == ["j/file"]


def test_all_levels_at_once_are_those_of_single_lists(place):
    """Of a small store that can: folders, objects, and what is never entered."""
    keys = [*named(SPECIAL, place), *(S3_ONLY if place.has_special_keys else [])]
    place.put_all([*keys, "deep/er/x", "deep/y"])
    storage = place.open(shows_all=True)
    at_once = storage.all_folders()
    if at_once is None and place.has_folders:
        pytest.skip("no list shows all folders of this store")
    level = ["", "nowhere"]
    while level:
        shown = [at_once(folder) for folder in level]
        assert shown == [storage.folder(folder) for folder in level]
        level = [
            f"{folder}/{name}".lstrip("/")
            for folder, each in zip(level, shown, strict=True)
            for name in each.folders
        ]
    place.put("later/x")
    assert "later" in storage.all_folders()("").folders


def test_what_is_in_a_folder_without_a_name_is_listed(place):
    """No key names the folder, and a person may have copied a checkpoint to it."""
    keys = ["dir//x", "dir//y//z", "dir//", "/lead", "//"] if place.has_special_keys else []
    place.put_all([*keys, "dir/x"])
    storage = place.open(shows_all=True)
    for folder, inside in (("", keys[3:]), ("dir", keys[:3])):
        found = [key for batch in storage.nameless(folder) for key in batch["key"].to_pylist()]
        assert sorted(found) == sorted(inside)
        assert storage.folder(folder).has_nameless == place.has_special_keys


def test_the_search_beside_a_folder_finds_what_is_in_one_without_a_name(place):
    """Also of a store that is listed in no order, folder by folder."""
    keys = ["a/_metadata", *(["/x/_metadata", "a//x/_metadata"] if place.has_special_keys else [])]
    place.put_all([*keys, "a/own/_metadata"])
    storage = place.open()
    for is_ordered in {storage.is_ordered, False}:
        storage.is_ordered = is_ordered
        found = metadata_in(storage, ["a/own"], lambda *_: None)
        assert sorted(each.key for each in found.objects) == sorted(keys)


def test_a_large_store_is_shown_level_by_level(filled_place):
    """More keys than a page holds; this is found out once."""
    if filled_place.kind == "testbench":
        pytest.skip("the testbench has one page only")
    storage = filled_place.open(shows_all=True)
    assert storage.all_folders() is None
    before = storage.list_requests
    assert storage.all_folders() is None
    assert storage.list_requests == before


def test_a_sweep_never_shows_all_at_once(place):
    """It must not list what lies in shared/."""
    storage = place.open()
    assert storage.all_folders() is None


def test_one_level_is_read_to_its_last_page(filled_place):
    """A level of over 1000 folders and objects is cut off nowhere."""
    level = filled_place.open().folder("j")
    assert list(level.folders) == [key.split("/")[1] for key in FILLED if "/x" in key]
    assert [found.key for found in level.objects] == [key for key in FILLED if "/x" not in key]


def test_each_page_is_counted(filled_place):
    """The plan states the cost of a listing."""
    storage = filled_place.open()
    rows(storage)
    pages = 1 if filled_place.kind == "testbench" else 2
    assert storage.list_requests == (604 if filled_place.has_folders else pages)


def test_a_level_a_listing_and_a_stat_agree_on_every_object(place):
    """A comparison of facts from different methods must not show a change where there is none."""
    place.put_all(["a/x", "a/y"])
    storage = place.open()
    by_level = list(storage.folder("a").objects)
    assert by_level == storage.stat(["a/x", "a/y"])
    found = [row for row in rows(storage) if row["size"] is not None]
    assert sorted((row["key"], row["size"], row["modified_at"], row["etag"]) for row in found) == [
        (o.key, o.size, o.modified_at, o.etag) for o in by_level
    ]


def test_special_keys_are_listed_as_they_are(place):
    """Nothing is decoded, encoded or normalised."""
    keys = [*named(SPECIAL, place), *(S3_ONLY if place.has_special_keys else [])]
    keys += [] if place.kind == "moto" else ["new\nline"]  # moto's router knows no new lines
    place.put_all(keys)
    assert listed(place.open()) == sorted(keys)


def test_every_special_key_may_be_part_of_the_prefix(place):
    """A folder with an odd name is found by exactly that name."""
    parents = [f"{name.replace('/', '-')}-p" for name in named(SPECIAL, place)]
    place.put_all([f"{parent}/x" for parent in parents])
    storage = place.open()
    for parent in parents:
        assert listed(storage, parent) == [f"{parent}/x"]


def test_folders_are_shown_where_a_store_has_them(place):
    """An empty folder in shared/ is evidence of a layout that must not be collected."""
    if not place.has_folders:
        pytest.skip("object stores have no folders")
    place.put("a/b/x")
    place.put("a/empty/gone")
    place.remove("a/empty/gone")
    if place.uri.startswith("memory"):
        place._fs.makedirs(f"{place._root}/root/a/empty", exist_ok=True)
    found = [row for row in rows(place.open()) if row["key"].endswith("/")]
    assert sorted(row["key"] for row in found) == ["a/", "a/b/", "a/empty/"]
    assert {row["size"] for row in found} == {None}
