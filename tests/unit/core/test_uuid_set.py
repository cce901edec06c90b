"""A set of UUIDs misses no member, however its parts were merged, and says so if it might."""

from __future__ import annotations

import pytest

from orphangc.core.sorted_uuids import SortedUuids
from orphangc.core.uuid_set import UuidSet

UUIDS = [bytes([number]) * 16 for number in (7, 3, 9, 1, 5)]


def test_members_that_were_merged_one_at_a_time_are_all_there() -> None:
    """Whatever is looked at between, the large part and the small one are one set."""
    found = UuidSet()
    for count, uuid in enumerate(UUIDS, 1):
        found.add(uuid)
        assert list(found) == sorted(UUIDS[:count])
        assert len(found) == count
        assert all(each in found for each in UUIDS[:count])
    assert UuidSet(UUIDS) == found


def test_a_set_whose_merge_was_broken_off_answers_no_more(monkeypatch) -> None:
    """What is left may lack members, and a live set that lacks one condemns it."""
    found = UuidSet(UUIDS[:2])
    assert len(list(found)) == 2, "these are the large part now"
    found.add(UUIDS[2])
    assert len(found) == 3, "and this waits to be merged"

    def broken(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(SortedUuids, "insert", broken)
        with pytest.raises(MemoryError):
            found.columns()
    for ask in (lambda: UUIDS[0] in found, found.columns, lambda: len(found)):
        with pytest.raises(
            RuntimeError, match=r"^a set of UUIDs was broken off while it was merged$"
        ):
            ask()
