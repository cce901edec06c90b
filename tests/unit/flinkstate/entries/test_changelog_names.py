"""Names of keyed states in the changes of a changelog."""

import pytest

from flinkstate.entries.changelog_names import name_in_change, names_in_set
from flinkstate.state.contents import KeyedStateKind
from orphangc.errors import UnreadableMetadataError
from unit.flinkstate.metadata.by_hand import i4
from unit.flinkstate.state import header_writer as write

VERSION = 7


def introduced(name: str, **more) -> bytes:
    """Return the change of metadata that introduces a state; a default value follows its record."""
    return b"\x08" + i4(VERSION) + write.record(name, **more) + b"\0" * 5


def a_set(*groups: tuple[int, tuple[bytes, ...]]) -> bytes:
    """Return a set of changes by key group."""
    written = i4(len(groups))
    for group, changes in groups:
        written += i4(len(changes)) + i4(group)
        written += b"".join(i4(len(each)) + each for each in changes)
    return written


def test_the_first_group_introduces_the_states():
    timers = introduced("_timer_state/user", kind=3, options=())
    data = a_set((-1, (introduced("total"), timers)), (4, (b"\x01data",)))
    found = {each.name: each.kind for each in names_in_set(data + b"the next set")}
    assert found == {"total": KeyedStateKind.VALUE, "_timer_state/user": KeyedStateKind.TIMERS}
    assert name_in_change(introduced("total")).name == "total"


def test_a_set_without_metadata_introduces_nothing():
    assert names_in_set(a_set((0, (b"x",)))) == ()
    assert names_in_set(a_set()) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        a_set((-1, (introduced("total"),)))[:40],
        a_set((-1, (b"\x01data",))),
        a_set((-1, (b"\x08" + i4(99) + introduced("total")[5:],))),
        a_set((-1, (introduced("total", kind=1),))),
        a_set((40_000, (b"x",))),
        i4(-1) + i4(1) + i4(0),
        i4(1) + i4(0) + i4(-1),
        i4(1) + i4(1) + i4(-1) + i4(-5),
    ],
)
def test_other_bytes_are_no_set(data):
    """A name that cannot be read is unknown, never absent."""
    with pytest.raises(UnreadableMetadataError):
        names_in_set(data)
