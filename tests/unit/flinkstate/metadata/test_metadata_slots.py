"""Each slot takes its own codes, and each count what the bytes left can hold."""

import tracemalloc

import pytest

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from orphangc.errors import UnreadableMetadataError
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.both_passes import accept, refuse

VERSIONS = (2, 3, 4, 5, 6, 7)

STREAM_BODIES = {
    1: hand.bytes_handle(),
    2: hand.file_handle(),
    3: hand.key_groups(hand.file_handle()),
    6: hand.relative_handle(),
    15: hand.segment_handle(),
    16: hand.EMPTY_SEGMENT,
}
KEYED_BODIES = {
    0: hand.NONE,
    3: hand.key_groups(hand.file_handle()),
    5: hand.incremental(hand.listed(), code=5),
    7: hand.key_groups(hand.file_handle(), code=7),
    8: hand.changelog(hand.listed(), hand.listed(), code=8),
    9: hand.changelog_bytes(),
    10: hand.changelog_files(hand.file_handle(), code=10),
    11: hand.incremental(hand.listed()),
    12: hand.key_groups(hand.file_handle(), code=12),
    13: hand.changelog_files(hand.file_handle()),
    14: hand.changelog(hand.listed(), hand.listed()),
}
INCREMENT_BODIES = {code: KEYED_BODIES[code] for code in (9, 10, 13)}
OPERATOR_BODIES = {
    4: hand.operator_handle(hand.file_handle()),
    17: hand.merged_operator_handle(hand.segment_handle()),
}
SEGMENT_BODIES = {15: hand.segment_handle(), 16: hand.EMPTY_SEGMENT}
INPUT_BODIES = {
    1: b"\x01" + hand.channel(hand.file_handle()),
    3: b"\x03" + hand.merged_channel(hand.file_handle()),
}
OUTPUT_BODIES = {
    2: b"\x02" + hand.channel(hand.file_handle()),
    4: b"\x04" + hand.merged_channel(hand.file_handle()),
}
COORDINATOR_BODIES = {0: hand.NONE, 1: hand.bytes_handle()}


SLOTS = {
    "stream": (hand.in_stream, STREAM_BODIES),
    "meta": (hand.in_meta, STREAM_BODIES),
    "shared": (hand.in_shared, STREAM_BODIES),
    "operator delegate": (hand.in_operator_delegate, STREAM_BODIES),
    "changelog file": (hand.in_changelog_file, STREAM_BODIES),
    "channel delegate": (hand.in_channel_delegate, STREAM_BODIES),
    "keyed": (hand.in_keyed, KEYED_BODIES),
    "raw keyed": (hand.in_raw_keyed, KEYED_BODIES),
    "materialized": (hand.in_materialized, KEYED_BODIES),
    "increments": (hand.in_increments, INCREMENT_BODIES),
    "operator": (hand.in_operator, OPERATOR_BODIES),
    "raw operator": (hand.in_raw_operator, OPERATOR_BODIES),
    "merged delegate": (hand.in_merged_delegate, SEGMENT_BODIES),
    "input": (hand.in_input, INPUT_BODIES),
    "output": (hand.in_output, OUTPUT_BODIES),
    "coordinator": (hand.in_coordinator, COORDINATOR_BODIES),
}


@pytest.mark.parametrize("slot", SLOTS)
def test_each_slot_takes_exactly_its_codes(slot: str) -> None:
    """The same number means different things in different slots."""
    place, bodies = SLOTS[slot]
    marked = place(b"\xee-marks-the-place-")
    at = marked.index(b"\xee-marks")
    for code in range(256):
        if code in bodies:
            accept(place(bodies[code]))
            continue
        error = refuse(place(bytes([code]) + bytes(40)))
        assert error.offset == at
        assert f"code {code} " in error.reason


@pytest.mark.parametrize("version", VERSIONS)
def test_any_code_may_stand_in_a_file_of_any_version(version: int) -> None:
    """Versions and handle codes are independent, as releases read older files and rewrite them."""
    for code, body in KEYED_BODIES.items():
        metadata, _ = accept(hand.with_keyed(body, version))
        handle = metadata.operators[0].subtasks[0].managed_keyed
        assert (0 if handle is None else handle.code) == code


def counts() -> dict[str, tuple[bytes, bytes]]:
    """Bytes before and behind a count, for each place where one stands."""
    mark = b"\xde\xad\xbe\xef"
    files = {
        "masters": hand.metadata(4, hand.listed(), masters=mark),
        "operators": hand.metadata(4, mark),
        "subtasks": hand.metadata(4, hand.listed(hand.operator(4, mark))),
        "inputs": hand.with_subtask(4, hand.subtask(4, inputs=mark)),
        "outputs": hand.with_subtask(6, hand.subtask(6, outputs=mark)),
        "named list": hand.with_keyed(hand.incremental(mark)),
        "materialized": hand.with_keyed(hand.changelog(mark, hand.listed())),
        "increments": hand.with_keyed(hand.changelog(hand.listed(), mark)),
        "blob": hand.in_stream(b"\x01" + hand.utf("name") + mark),
        "states": hand.in_operator(b"\x04" + mark + hand.file_handle()),
        "offsets": hand.in_operator(
            b"\x04" + hand.i4(1) + hand.utf("s") + b"\0" + mark + hand.file_handle()
        ),
        "changes": hand.in_keyed(
            b"\x09" + hand.i4(0) + hand.i4(1) + hand.i8(1) + hand.i8(2) + mark
        ),
        "changelog files": hand.in_keyed(b"\x0d" + hand.i4(0) + hand.i4(1) + mark),
        "channel table": hand.in_input(
            b"\x03" + hand.merged_channel(hand.file_handle(), table=mark)
        ),
        "channel blob": hand.in_input(
            b"\x03" + hand.i4(0) + hand.i8(6) + hand.file_handle() + mark
        ),
    }
    return {name: tuple(data.split(mark)) for name, data in files.items()}


COUNTS = counts()


@pytest.mark.parametrize("place", COUNTS)
@pytest.mark.parametrize("count", [-1, -2, -2147483648])
def test_a_negative_count_is_refused(place: str, count: int) -> None:
    """Only the subtasks' -1 means something, and that something else is checked elsewhere."""
    before, behind = COUNTS[place]
    if place == "subtasks" and count == -1:
        accept(before + hand.i4(count) + behind)
        return
    error = refuse(before + hand.i4(count) + behind)
    assert error.offset == len(before)


@pytest.mark.parametrize("place", COUNTS)
@pytest.mark.parametrize("count", [0x7FFFFFFF, 0x10000000, 0x100000])
def test_a_count_beyond_the_bytes_left_is_refused_before_anything_is_allocated(
    place: str, count: int
) -> None:
    """A forged count must not take the collector's memory."""
    before, behind = COUNTS[place]
    data = before + hand.i4(count) + behind
    for read in (read_metadata, read_references):
        tracemalloc.start()
        with pytest.raises(UnreadableMetadataError) as caught:
            read(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert caught.value.offset == len(before)
        assert peak < 200_000


@pytest.mark.parametrize("place", COUNTS)
def test_a_count_may_not_exceed_what_the_smallest_elements_would_need(place: str) -> None:
    """One element more than fits is refused at the count, not somewhere behind it."""
    before, behind = COUNTS[place]
    error = refuse(before + hand.i4(len(behind) + 1) + behind)
    assert error.offset == len(before)
