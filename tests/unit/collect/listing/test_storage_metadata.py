"""What the keys of a storage show of jobs in it."""

import pytest

from orphangc.collect.listing.storage_metadata import metadata_in
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from unit.collect.listing.ordered_storage import OrderedStorage, a_page

ID = "0123456789abcdef" * 2


class Passed(OrderedStorage):
    """Where a listing in two ranges shows nothing of a job whose checkpoint is replaced."""

    def pages(self, within: KeyRange = EVERYTHING) -> object:
        """Yield what a look shows that begins now."""
        if within.after == "team/J/chk-" and within.until == "team/J/chk.":
            yield a_page(["team/J/chk-10/_metadata"])
        else:
            yield from super().pages(within)


@pytest.mark.parametrize(
    ("keys", "directories"),
    [
        (["a/J/chk-1/x", "a/J/chk-10/_metadata", "a/K/shared/u", "z"], ("a/J", "a/K")),
        (["shared/J/shared/u1", "shared/J/shared/u2"], ("", "shared/J")),
        (["a/shared/chk-1/x", "taskowned/shared/u"], ("", "a", "a/shared", "taskowned")),
        (["a/Jé/chk-9/x", "a/J😀/taskowned/y"], ("a/Jé", "a/J😀")),
        (["chk-x/a", "ashared/b", "shared"], ()),
        ([f"{ID}/dstl/u1", f"{ID}/dstl/u2"], (ID,)),
        ([f"a/{ID}/dstl/u", f"a/{ID}/z", "dstl/u", f"x{ID}/dstl/u"], (f"a/{ID}",)),
        ([f"{ID}/op_a/db/1", f"{ID}/shared/op_b/db/2"], (ID,)),
        ([], ()),
    ],
)
def test_a_directory_shows_by_any_key_of_a_checkpoint_or_an_area(keys, directories) -> None:
    """Whatever else lies above it."""
    storage = OrderedStorage(sorted(keys))
    assert metadata_in(storage, (), lambda *_: None).directories == directories


def test_a_job_through_which_an_edge_of_ranges_goes_is_looked_at_again(monkeypatch) -> None:
    """It may have shown no key on either side."""
    edge = KeyRange(None, "team/J/chk-5"), KeyRange("team/J/chk-5", None)

    def in_two_ranges(_: object, spool, **__: object) -> None:
        for each in edge:
            spool.part().finish(each)

    monkeypatch.setattr("orphangc.collect.listing.storage_metadata.list_all", in_two_ranges)
    assert metadata_in(Passed(["z"]), (), lambda *_: None).directories == ("team/J",)
