"""The store's clock: the store's time beside ours, without writing."""

from datetime import timedelta

from orphangc.adapters.files.translate import host_now


def test_the_store_tells_its_time_without_a_write(place):
    """All places of this suite are on this machine: both times lie within the look."""
    place.put("x")
    before = host_now()
    reading = place.open().now()
    after = host_now()
    if reading.now is not None:
        assert before - timedelta(seconds=1) <= reading.now <= after  # some tell whole seconds
        assert reading.now.utcoffset() == timedelta(0)
    assert before <= reading.local <= after
    assert place.keys() == {"x"}


def test_a_new_object_is_not_newer_than_the_stores_clock(place):
    """The clock is the one that stamps objects, to a second."""
    place.put("x")
    storage = place.open()
    stamp = storage.stat(["x"])[0].modified_at
    reading = storage.now()
    if reading.now is not None:
        assert stamp <= reading.now + timedelta(seconds=1)
