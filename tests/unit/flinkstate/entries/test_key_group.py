"""Entries of keyed state: read to the last byte, written again, and left out state by state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkstate.entries.full_snapshot import read_full_snapshot
from flinkstate.entries.key_group import StateEntries, read_key_group
from flinkstate.values.handles import KeyGroupOffsets
from orphangc.errors import UnreadableMetadataError
from unit.flinkstate.state import header_writer as write_state

GROUP = 5
END = b"\xff\xff"

Entries = list[tuple[bytes, bytes]]


def written(states: dict[int, Entries], group: int = GROUP, prefix_bytes: int = 1) -> bytes:
    """Return a key group as Flink writes it, entry by entry with the mark in the key before."""
    pairs = [(number, pair) for number, entries in states.items() for pair in entries]
    if not pairs:
        return b""
    data = pairs[0][0].to_bytes(2)
    for position, (number, (key, value)) in enumerate(pairs):
        following = pairs[position + 1][0] if position + 1 < len(pairs) else None
        whole = bytearray(group.to_bytes(prefix_bytes) + key)
        whole[0] |= 0x80 if following != number else 0
        data += len(whole).to_bytes(4) + whole + len(value).to_bytes(4) + value
        if following != number:
            data += END if following is None else following.to_bytes(2)
    return data


entries = st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=4)), min_size=1, max_size=3)
key_groups = st.dictionaries(st.integers(0, 3), entries, min_size=1, max_size=3)


@settings(max_examples=60)
@given(key_groups, st.sets(st.integers(0, 3)), st.sampled_from([(128, 1), (129, 2)]))
def test_a_key_group_is_written_without_some_states_as_flink_writes_it(states, gone, layout):
    """Numbers stay: the header does."""
    groups, prefix_bytes = layout
    data = written(states, prefix_bytes=prefix_bytes)
    read = read_key_group(data, group=GROUP, groups=groups, states=4)
    assert read.without(()) == data
    left = {number: each for number, each in states.items() if number not in gone}
    assert read.without(gone) == written(left, prefix_bytes=prefix_bytes)
    assert {number: tally.count for number, tally in read.tallies().items()} == {
        number: len(each) for number, each in states.items()
    }


ONE = written({0: [(b"k", b"v")]})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        ONE[:-1],
        ONE + b"\0",
        END,
        written({4: [(b"k", b"v")]}),  # no such state
        written({0: [(b"k", b"v")]}, group=6),  # of another key group
        ONE[:2] + (200).to_bytes(4) + ONE[6:],
        ONE[:2] + (-1).to_bytes(4, signed=True) + ONE[6:],
        ONE[:2] + (0).to_bytes(4) + b"\0" * 4 + END,  # a key without its key group
        ONE[:-2] + ONE,  # one state twice
    ],
)
def test_other_bytes_are_no_key_group(data):
    """The format of a heap backend's own snapshots, a damaged file."""
    with pytest.raises(UnreadableMetadataError):
        read_key_group(data, group=GROUP, groups=32, states=4)


def a_snapshot() -> tuple[bytes, KeyGroupOffsets]:
    """Return the state of key groups 4 to 6, of which 5 is empty."""
    header = write_state.keyed_header(write_state.record("kept"), write_state.record("gone"))
    first = written({0: [(b"a", b"1")], 1: [(b"a", b"2")]}, group=4)
    last = written({1: [(b"b", b"3")]}, group=6)
    offsets = (len(header), 0, len(header) + len(first))
    return header + first + last, KeyGroupOffsets(first=4, offsets=offsets)


def test_a_snapshot_loses_the_entries_of_a_state_and_keeps_header_and_index():
    data, index = a_snapshot()
    snapshot = read_full_snapshot(data, index, groups=32)
    assert snapshot.without(()) == (data, index)
    assert snapshot.entries()["gone"].count == 2

    left, offsets = snapshot.without({"gone"})
    again = read_full_snapshot(left, offsets, groups=32)
    assert again.entries() == {"kept": snapshot.entries()["kept"], "gone": StateEntries()}
    assert (again.raw_header, offsets.first) == (snapshot.raw_header, 4)
    assert offsets.offsets[1:] == (0, 0), "what has no entry has no offset"


def test_a_snapshot_without_any_entry_has_an_unknown_format():
    """Nothing distinguishes it from that of a heap backend."""
    data, index = a_snapshot()
    with pytest.raises(UnreadableMetadataError, match="no key group"):
        read_full_snapshot(data, KeyGroupOffsets(first=4, offsets=(0, 0, 0)), groups=32)
    compressed = data[:4] + b"\x01" + data[5:]
    with pytest.raises(UnreadableMetadataError, match="compressed"):
        read_full_snapshot(compressed, index, groups=32)
