"""Reading: bytes and facts of single objects; absence is the only ``None``."""

import pytest

from orphangc.collect.checkpoints import spooled_objects
from orphangc.collect.checkpoints.spooled_objects import spooled
from orphangc.errors import StorageUnreachableError


def test_an_object_is_read_whole(place):
    """All bytes, of an odd key too."""
    place.put("a/x[1] %41", b"bytes" * 99)
    assert place.open().read("a/x[1] %41", max_bytes=495) == b"bytes" * 99


def test_an_absent_object_reads_as_none(place):
    """A checkpoint may be gone between listing and reading."""
    place.put("a/x")
    storage = place.open()
    assert storage.read("a/y", max_bytes=9) is None
    assert storage.read("b/y", max_bytes=9) is None


def test_an_object_over_the_limit_is_an_error(place):
    """Half of a _metadata file would be half of the live set."""
    place.put("x", b"12345")
    with pytest.raises(StorageUnreachableError, match="over 4 bytes"):
        place.open().read("x", max_bytes=4)


@pytest.mark.parametrize(
    ("start", "size", "part"),
    [(0, 3, b"012"), (2, 3, b"234"), (3, 9, b"34"), (5, 1, b""), (9, 9, b""), (1, 0, b"")],
)
def test_a_part_of_an_object_is_read(place, start, size, part):
    """Fewer bytes where it ends; an empty object has no part."""
    place.put("a/x[1] %41", b"01234")
    storage = place.open()
    assert storage.part("a/x[1] %41", start=start, size=size) == part
    if place.kind != "testbench":  # it has no size for an empty object
        place.put("empty", b"")
        assert storage.part("empty", start=start, size=size) == b""
    assert storage.part("a/y", start=start, size=max(size, 1)) is None


def test_a_large_object_is_read_into_a_temporary_file(place, monkeypatch):
    """In parts, with the same bytes and the same answers as of one whole."""
    monkeypatch.setattr(spooled_objects, "_PART", 7)
    place.put("a/x[1] %41", b"01234567890123456789")
    storage = place.open()
    assert bytes(spooled(storage, "a/x[1] %41", max_bytes=20)) == b"01234567890123456789"
    assert spooled(storage, "a/y", max_bytes=9) is None
    with pytest.raises(StorageUnreachableError, match="over 19 bytes"):
        spooled(storage, "a/x[1] %41", max_bytes=19)


def test_no_part_is_read_as_absent_when_the_root_is_gone(place):
    """As little as a whole object is."""
    place.put("x")
    storage = place.open()
    place.remove_root()
    with pytest.raises(StorageUnreachableError):
        storage.part("x", start=0, size=9)


def test_nothing_is_read_as_absent_when_the_root_is_gone(place):
    """An unmounted disk or a dropped bucket is no proof that a file was removed."""
    place.put("x")
    storage = place.open()
    place.remove_root()
    with pytest.raises(StorageUnreachableError):
        storage.stat(["x"])
    with pytest.raises(StorageUnreachableError):
        storage.read("x", max_bytes=9)


def test_facts_come_in_the_order_of_the_keys(place):
    """None stands where a key is absent; folders are no objects."""
    place.put("a/x", b"1")
    place.put("a/y", b"22")
    found = place.open().stat(["a/y", "a/nope", "a/x", "a"])
    assert [fact and (fact.key, fact.size) for fact in found] == [
        ("a/y", 2),
        None,
        ("a/x", 1),
        None,
    ]


def test_facts_are_fresh(place):
    """A second call sees changes after the first one."""
    place.put("x", b"1")
    storage = place.open()
    assert storage.stat(["x"])[0].size == 1
    place.put("x", b"333")
    assert storage.stat(["x"])[0].size == 3
    place.remove("x")
    assert storage.stat(["x"]) == [None]


def test_many_facts_are_asked_for_at_once(place):
    """More keys than connections, in order."""
    keys = [f"{number:04}" for number in range(150)]
    place.put_all(keys)
    assert [found.key for found in place.open().stat(keys)] == keys
