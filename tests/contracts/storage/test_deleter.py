"""Deletion: exactly the keys that are asked for, each with its own result."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.places import facts, listed
from orphangc.core.model.types import StoredObject
from orphangc.ports import DeletionStatus

SIBLINGS = ["x", "x1", "x2", "xy", "x[1]", "x[12]", "x*", "x?", "x/1", "x{1,2}"]


def test_a_full_batch_of_objects_goes_and_all_others_stay(place):
    """A full batch is deleted; one key more is refused before anything happens."""
    most = place.open().batch_size
    keys = [f"shared/{number:04}" for number in range(most + 205)]
    place.put_all(keys)
    storage = place.open()
    found = list(storage.folder("shared").objects)
    with pytest.raises(ValueError, match=str(most + 1)):
        storage.delete(found[: most + 1])
    assert len(place.keys()) == len(keys)
    results = storage.delete(found[:most])
    assert [result.key for result in results] == keys[:most]
    assert {result.status for result in results} == {DeletionStatus.DELETED}
    assert place.keys() == set(keys[most:])


@pytest.mark.parametrize("key", ["x[1]", "x*", "x?", "x{1,2}"])
def test_a_key_that_looks_like_a_glob_deletes_only_itself(place, key):
    """The rm of fsspec would expand it: x[1] took x1 and left itself."""
    siblings = [name for name in SIBLINGS if not (place.has_folders and name == "x")]
    place.put_all(siblings)
    storage = place.open()
    (result,) = storage.delete([facts(storage, key)])
    gone = {key} if result.status is DeletionStatus.DELETED else set()
    assert result.status in {DeletionStatus.DELETED, DeletionStatus.FAILED}
    assert place.keys() == set(siblings) - gone


def test_a_key_with_odd_characters_deletes_only_itself(place):
    """No percent sign, plus or blank is decoded on the way."""
    keys = ["a b", "a+b", "a%20b", "a%2Bb", "aAb", "a%41b", "é", "a&amp;b", "a&b"]
    place.put_all(keys)
    storage = place.open()
    results = storage.delete([facts(storage, key) for key in ("a+b", "a%41b", "a&amp;b")])
    assert {result.status for result in results} == {DeletionStatus.DELETED}
    assert place.keys() == set(keys) - {"a+b", "a%41b", "a&amp;b"}


def test_an_object_that_changed_is_kept(place):
    """Another size, or other bytes of the same size, at another time: not what was judged."""
    place.put_all(["same", "longer", "other"])
    storage = place.open()
    judged = storage.stat(["same", "longer", "other"])
    place.put("longer", b"many more bytes")
    _wait_for_another_stamp(place)
    place.put("other", b"BYTES")
    results = storage.delete(judged)
    assert [result.status for result in results] == [
        DeletionStatus.DELETED,
        DeletionStatus.CHANGED,
        DeletionStatus.CHANGED,
    ]
    assert place.keys() == {"longer", "other"}


@pytest.mark.parametrize("change", ["size", "modified_at", "etag", "no etag"])
def test_any_difference_from_the_judged_facts_keeps_the_object(place, change):
    """Size, store time and ETag each count, and that there was none is a difference too."""
    place.put("x")
    storage = place.open()
    fact = facts(storage, "x")
    if change.endswith("etag") and fact.etag is None:
        pytest.skip("this file system reports no identity")
    wrong = {
        "size": {"size": 99},
        "modified_at": {"modified_at": fact.modified_at - timedelta(seconds=9)},
        "etag": {"etag": "another"},
        "no etag": {"etag": None},
    }
    (result,) = storage.delete([replace(fact, **wrong[change])])
    assert result.status is DeletionStatus.CHANGED
    assert place.keys() == {"x"}


def test_an_object_that_is_gone_is_gone(place):
    """Flink may have deleted it first."""
    place.put_all(["x", "y"])
    storage = place.open()
    judged = storage.stat(["x", "y"])
    place.remove("x")
    assert [result.status for result in storage.delete(judged)] == [
        DeletionStatus.GONE,
        DeletionStatus.DELETED,
    ]


def test_nothing_is_deleted_through_a_name_that_leaves_the_root(place):
    """``..``, absolute and empty keys fail; what they seem to name survives."""
    place.put_all(["a/x", "b/x"])
    storage = place.open()
    fact = facts(storage, "b/x")
    for key in ("a/../b/x", "/b/x", "", "./b/x", "b//x", f"{place.uri}/b/x"):
        (result,) = storage.delete([replace(fact, key=key)])
        assert result.status in {DeletionStatus.FAILED, DeletionStatus.GONE}
    assert place.keys() == {"a/x", "b/x"}


def test_a_folder_is_never_deleted(place):
    """Neither as a key nor with a slash, whether empty or not."""
    place.put("a/x")
    storage = place.open()
    fact = facts(storage, "a/x")
    for key in ("a", "a/"):
        (result,) = storage.delete([StoredObject(**{**_fields(fact), "key": key})])
        assert result.status in {DeletionStatus.FAILED, DeletionStatus.GONE}
    assert listed(storage) == ["a/x"]


def test_nothing_to_delete_is_no_request(place):
    """An empty batch has an empty result."""
    assert place.open().delete([]) == []


def _fields(fact: StoredObject) -> dict:
    return {"key": fact.key, "size": fact.size, "modified_at": fact.modified_at, "etag": fact.etag}


def _wait_for_another_stamp(place) -> None:
    """Push the time of the file that is overwritten next away from the judged one."""
    if place.has_folders and not place.uri.startswith("memory"):
        os.utime(place.folder / "other", (1, 1))
