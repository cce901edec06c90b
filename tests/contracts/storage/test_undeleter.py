"""Undeletion: a delete marker is taken away, and nothing else ever is."""

from contracts.places import facts
from orphangc.ports import DeletionStatus


def test_a_deletion_in_a_versioned_bucket_can_be_undone(s3_place):
    """The result names the marker; taking it away brings the very bytes back."""
    s3_place.enable_versions()
    s3_place.put("a/x", b"precious")
    s3_place.put("a/xy", b"neighbour")
    storage = s3_place.open()
    assert storage.is_versioned
    (result,) = storage.delete([facts(storage, "a/x")])
    assert result.status is DeletionStatus.DELETED
    assert result.version_id
    assert s3_place.keys() == {"a/xy"}
    (undone,) = storage.undelete([("a/x", result.version_id)])
    assert undone.status is DeletionStatus.DELETED
    assert s3_place.get("a/x") == b"precious"


def test_a_version_that_is_no_marker_is_never_removed(s3_place):
    """A version id of bytes would be their final end, whether a marker hides them or not."""
    s3_place.enable_versions()
    version = s3_place.put("x", b"precious")
    storage = s3_place.open()
    (shown,) = storage.undelete([("x", version)])
    (deleted,) = storage.delete([facts(storage, "x")])
    (hidden,) = storage.undelete([("x", version)])
    assert (shown.status, hidden.status) == (DeletionStatus.GONE, DeletionStatus.FAILED)
    (undone,) = storage.undelete([("x", deleted.version_id)])
    assert undone.status is DeletionStatus.DELETED
    assert s3_place.get("x") == b"precious"


def test_a_marker_of_another_key_is_not_removed(s3_place):
    """Key and version belong together; the key itself is there: nothing is to be brought back."""
    s3_place.enable_versions()
    s3_place.put("x")
    s3_place.put("xy")
    storage = s3_place.open()
    (result,) = storage.delete([facts(storage, "xy")])
    (undone,) = storage.undelete([("x", result.version_id)])
    assert undone.status is DeletionStatus.GONE
    assert s3_place.keys() == {"x"}
    assert len(s3_place.versions("xy")["DeleteMarkers"]) == 1


def test_where_no_answer_named_the_marker_the_bytes_that_it_hides_do(s3_place):
    """By their ETag: a connection that broke off, or a run that died, left no version id."""
    s3_place.enable_versions()
    s3_place.put("x", b"earlier")
    earlier = facts(s3_place.open(), "x").etag
    s3_place.put("x", b"precious")
    s3_place.put("xy", b"precious")
    storage = s3_place.open()
    (judged,) = storage.stat(["x"])
    storage.delete([judged, facts(storage, "xy")])
    (other,) = storage.undelete([("x", earlier)])
    (undone,) = storage.undelete([("x", judged.etag)])
    assert (other.status, undone.status) == (DeletionStatus.FAILED, DeletionStatus.DELETED)
    assert s3_place.get("x") == b"precious"
    assert s3_place.keys() == {"x"}


def test_a_bucket_without_versions_says_so(s3_place):
    """A storage without undo does not offer it."""
    assert s3_place.open().is_versioned is False
    s3_place.put("x")
    storage = s3_place.open()
    (result,) = storage.delete([facts(storage, "x")])
    assert result.version_id is None
