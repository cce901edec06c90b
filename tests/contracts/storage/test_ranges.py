"""Listing by key range: parts that are listed at once make the whole, exactly."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from contracts.places import FILLED, S3Place, listed
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA

HOSTILE = [
    "a b", "a%41", "a%2Fb", "a%2fb", "a+b", "a&b=c", "a&amp;b", "a<b>", "a'\"b", "a]]>b",
    "a~#|^`", "x*", "x?", "x[1]", "x\\y", "é/ü/漢字/🙂", "\ue000private", "\ufb01ligature",
    "🙂beyond", "\U0010fffflast", "..a/b..", ".hidden", "dir/", "dir/x", "dir//x", "/lead",
    "//", "./x", "x/../y", "c\x01d", "t\tr\rz", "%", "%%41", "+", "k" * 900,
    *(f"j/{number:x}" for number in range(40)),
]  # fmt: skip
KEYS = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
ROOTS = ["", "cp/", "deep/é a+b&%2F/<root>/"]


@pytest.fixture(scope="session")
def hostile_places() -> dict:
    """The places that hold ``HOSTILE``: filled once, for tests that only read."""
    return {}


@pytest.fixture(params=ROOTS, ids=["bucket", "prefix", "odd-prefix"])
def hostile_place(request, s3_place, hostile_places):
    """A place with hostile keys, in a bucket with neighbours of its prefix."""
    if (s3_place.kind, request.param) not in hostile_places:
        server = (s3_place.url, *(os.environ[f"AWS_{name}"] for name in KEYS))
        place = hostile_places[s3_place.kind, request.param] = S3Place(
            *server, prefix=request.param
        )
        place.put_all(HOSTILE if s3_place.kind == "moto" else [*HOSTILE, "new\nline"])
        if place.prefix:  # moto's router knows no new lines; a bucket has no marker of its root
            place.put_all([""])
            stem = place.prefix.rstrip("/")
            for neighbour in (f"{stem}-", stem, f"{stem}0", "0"):
                place.client.put_object(Bucket=place.bucket, Key=neighbour, Body=b"")
    return hostile_places[s3_place.kind, request.param]


def in_range(storage, *bounds: str | None) -> list[str]:
    batches = list(storage.pages(KeyRange(*bounds)))
    assert all(batch.schema.equals(LISTING_SCHEMA) and batch.num_rows for batch in batches)
    return [key for batch in batches for key in batch["key"].to_pylist()]


def parts(boundaries: list[str]) -> list[tuple[str | None, str | None]]:
    return list(zip([None, *boundaries], [*boundaries, None], strict=True))


def between(keys: list[str]) -> list[str]:
    """Return texts that are no keys: just before, just after, far beyond one."""
    texts = {text for key in keys if key for text in (key[:-1], key + "\x00", key + "!")}
    return sorted((texts | {"zzz", "\U0010ffff\U0010ffff"}) - {*keys, ""})


def test_a_range_in_one_piece_is_the_listing_in_order(hostile_place):
    """Python's order of texts is the order of their UTF-8 bytes, beyond the BMP too."""
    storage = hostile_place.open()
    assert storage.is_ordered
    everything = in_range(storage)
    assert everything == sorted(hostile_place.keys())
    assert sorted(everything) == listed(storage)


def test_parts_between_keys_make_the_whole_once(hostile_place):
    """Each boundary that is a key belongs to the part before it, and to no other."""
    storage = hostile_place.open()
    keys = sorted(hostile_place.keys())
    for boundaries in (keys[::2], keys[1::5]):
        found = [in_range(storage, *part) for part in parts(boundaries)]
        assert [key for part in found for key in part] == keys
        assert [part[-1] for part in found[:-1]] == boundaries


def test_boundaries_need_not_be_keys(hostile_place):
    """They are guessed, or were keys once."""
    storage = hostile_place.open()
    keys = sorted(hostile_place.keys())
    boundaries = between(keys)[::5]
    found = [in_range(storage, *part) for part in parts(boundaries)]
    assert [key for part in found for key in part] == keys
    for (after, until), part in zip(parts(boundaries), found, strict=True):
        assert all(key in KeyRange(after, until) for key in part)


def test_an_empty_range_has_nothing(hostile_place):
    """The same holds for a range that ends before it begins, or is beyond all keys."""
    storage = hostile_place.open()
    for bounds in (
        ("j/1", "j/1"),
        ("j/2", "j/1"),
        ("j/1\x00", "j/1\x01"),
        ("\U0010ffff" * 2, None),
    ):
        assert in_range(storage, *bounds) == []


def test_the_marker_of_the_root_is_the_first_key(hostile_place):
    """Its key is empty: only a range without a beginning holds it."""
    storage = hostile_place.open()
    marker = [""] if hostile_place.prefix else []
    assert in_range(storage, None, "") == marker
    assert "" not in in_range(storage, "", None)
    assert in_range(storage)[: len(marker)] == marker


def test_rows_of_a_range_are_the_rows_of_the_listing(hostile_place):
    """Size, time and ETag do not depend on how one asks."""
    storage = hostile_place.open()

    def rows(batches) -> list[dict]:
        return sorted((row for b in batches for row in b.to_pylist()), key=lambda row: row["key"])

    assert rows(storage.pages(KeyRange("a", "j/2"))) == [
        row for row in rows(storage.objects()) if row["key"] in KeyRange("a", "j/2")
    ]


def test_ranges_of_several_pages_are_read_to_their_end(filled_place):
    """1205 keys in parts that begin and end within pages, at their seams, and beyond."""
    storage = filled_place.open()
    if not storage.is_ordered:
        pytest.skip("unordered storages have no ranges")
    for boundaries in ([], [FILLED[0]], [FILLED[999]], [FILLED[1000], FILLED[1001]],
                       [FILLED[100], FILLED[1150]], [FILLED[-1]], [FILLED[-2], FILLED[-1] + "x"],
                       ["j/chk-0500", "j/file-0500"]):  # fmt: skip
        found = [in_range(storage, *part) for part in parts(boundaries)]
        assert [key for part in found for key in part] == FILLED


def test_sixty_four_threads_list_at_once_and_every_request_is_counted(filled_place):
    """One storage serves all threads of a run."""
    storage = filled_place.open()
    if not storage.is_ordered:
        pytest.skip("unordered storages have no ranges")
    boundaries = FILLED[18::19][:63]
    before = storage.list_requests
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda part: in_range(storage, *part), parts(boundaries)))
    assert [key for part in found for key in part] == FILLED
    assert storage.list_requests == before + 64


def test_one_stream_asks_for_as_many_pages_as_there_are(filled_place):
    """A range that ends on a page asks for no further one."""
    storage = filled_place.open()
    if not storage.is_ordered:
        pytest.skip("unordered storages have no ranges")
    if filled_place.kind == "testbench":
        pytest.skip("the testbench has one page only")
    before = storage.list_requests
    assert len(in_range(storage)) == len(FILLED)
    assert storage.list_requests == before + 2
    in_range(storage, None, FILLED[999])
    in_range(storage, FILLED[999], None)
    in_range(storage, None, FILLED[1000])
    assert storage.list_requests == before + 2 + 1 + 1 + 2


def test_almost_every_page_is_read_by_its_bytes(filled_place):
    """All of a real server's pages have the usual form: botocore's parser would cost fifty-fold."""
    storage = filled_place.open()
    if not filled_place.uri.startswith("s3:"):
        pytest.skip("only S3's pages have two readers")
    in_range(storage)
    assert storage.read_by == {"bytes": 2}


def test_an_unordered_storage_has_one_stream_only(place):
    """A folder is listed in no order: a caller must not believe that it has read a range."""
    place.put_all(["b/x", "a", "c"])
    storage = place.open()
    if storage.is_ordered:
        pytest.skip("an ordered storage has ranges")
    for bounds in (("a", None), (None, "b"), ("", None)):
        with pytest.raises(ValueError, match="no order"):
            list(storage.pages(KeyRange(*bounds)))
    rows = [row for batch in storage.pages() for row in batch.to_pylist()]
    assert rows == [row for batch in storage.objects() for row in batch.to_pylist()]
    assert {row["key"] for row in rows if row["size"] is not None} == {"a", "b/x", "c"}


def test_a_root_that_vanishes_is_an_error_in_any_range(place):
    """No part of nothing is an empty part."""
    place.put("x")
    storage = place.open()
    place.remove_root()
    with pytest.raises(StorageUnreachableError):
        list(storage.pages(KeyRange("a", "b") if storage.is_ordered else EVERYTHING))


def test_the_last_folders_of_a_folder_are_listed_without_its_files(s3_place):
    """Each once, however many files it has; and nothing of the folder after it."""
    files = [f"job/shared/{number:x}-x" for number in range(5)]
    later = ["job/shared/job_1/x", "job/shared/job_1/y", "job/shared/op_2/db/z", "job/shared/z"]
    s3_place.put_all([*files, *later, "job/shared0/z/x", "job/taskowned/z/x", "other/shared/z/x"])
    storage = s3_place.open()
    assert storage.later_folders("job/shared", "g") == ["job_1", "op_2"]
    assert storage.later_folders("job/taskowned", "g") == ["z"]
    assert storage.later_folders("nowhere", "g") == []
    before = storage.list_requests
    assert storage.later_folders("other/shared", "g") == ["z"]
    assert storage.list_requests == before + 1
