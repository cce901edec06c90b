"""Whatever cannot be accounted for is refused, at the byte where it stands."""

import struct

import pytest

from flinkstate.layouts.format_versions import Tables, tables_of
from flinkstate.metadata import parser
from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.values.metadata_values import HandleKind, LayoutVariant
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.both_passes import accept, refuse
from unit.flinkstate.metadata.golden_files import golden

EMPTY = hand.metadata(3, hand.listed())
VERSIONS = (2, 3, 4, 5, 6, 7)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_shortest_file_of_each_version_is_accepted(version: int) -> None:
    """An empty checkpoint refers to nothing, and says so."""
    metadata, references = accept(hand.metadata(version, hand.listed()))
    assert metadata.format_version == version
    assert references.handles == 0
    assert not references.kinds


@pytest.mark.parametrize("version", [0, 1, 8, 99, -1, -2147483648, 0x06000000])
def test_an_unknown_version_is_refused(version: int) -> None:
    """Version 1 and the future are no versions to guess at."""
    error = refuse(hand.MAGIC + hand.i4(version) + EMPTY[8:])
    assert error.offset == 4
    assert f"version {version} " in error.reason


@pytest.mark.parametrize("size", range(8))
def test_a_file_without_a_whole_header_is_refused(size: int) -> None:
    """An empty file is unknown, never "refers to nothing"."""
    refuse(EMPTY[:size])


def test_another_magic_number_is_refused() -> None:
    """Not every file named so is Flink's."""
    error = refuse(b"\x49\x60\x67\x2e" + EMPTY[4:])
    assert error.offset == 0
    assert "magic" in error.reason


def test_a_negative_checkpoint_id_is_refused() -> None:
    """Flink rejects it as well."""
    assert refuse(hand.metadata(3, hand.listed(), checkpoint_id=-1)).offset == 8


@pytest.mark.parametrize(
    ("first", "count"), [(-1, 1), (0, -1), (32768, 1), (1, 32768), (2147483647, 1), (5, -5)]
)
@pytest.mark.parametrize("code", [3, 7, 12])
def test_key_groups_out_of_bounds_are_refused(code: int, first: int, count: int) -> None:
    """Flink has at most 32768 of them."""
    refuse(
        hand.with_keyed(hand.key_groups(hand.file_handle(), code=code, first=first, count=count))
    )


def test_key_groups_at_the_bounds_are_accepted() -> None:
    """The last key group, and none at all."""
    for first, count in ((32767, 1), (32768, 0), (0, 0)):
        accept(hand.with_keyed(hand.key_groups(hand.file_handle(), first=first, count=count)))


@pytest.mark.parametrize("version", [3, 4, 7])
@pytest.mark.parametrize("depth", [14, 15, 16, 17, 1000, 100_000])
def test_key_groups_nested_too_deep_are_refused_without_crashing(version: int, depth: int) -> None:
    """Key groups can stand in key groups; recursion must stay ours to end."""
    head = b"\x03" + hand.i4(0) + hand.i4(0)
    data = hand.with_keyed(head * depth + hand.file_handle(), version)
    if depth < 16:
        _, references = accept(data)
        assert references.handles == depth + 1
    else:
        assert "nested" in refuse(data).reason


@pytest.mark.parametrize("depth", [3, 15, 16, 10_000])
def test_changelogs_nested_too_deep_are_refused_without_crashing(depth: int) -> None:
    """The other way to nest."""
    head = b"\x0e" + hand.i4(0) + hand.i4(1) + hand.i8(1) + hand.i4(1)
    tail = hand.i4(0) + hand.i8(1) + hand.i8(1) + hand.utf("id")
    data = hand.with_keyed(head * depth + hand.changelog_bytes() + tail * depth)
    if depth < 16:
        accept(data)
    else:
        assert "nested" in refuse(data).reason


@pytest.mark.parametrize("mode", [3, 4, 255])
def test_an_unknown_distribution_mode_is_refused(mode: int) -> None:
    """Three modes exist; a fourth would redistribute state in an unknown way."""
    assert (
        "mode"
        in refuse(hand.in_operator(hand.operator_handle(hand.file_handle(), mode=mode))).reason
    )


@pytest.mark.parametrize("scope", [-1, 2, 256])
def test_an_unknown_segment_scope_is_refused(scope: int) -> None:
    """Exclusive or shared."""
    assert "scope" in refuse(hand.in_stream(hand.segment_handle(scope=scope))).reason


@pytest.mark.parametrize("flag", [-1, 2, 256, 0x01000000])
@pytest.mark.parametrize("field", ["operator", "raw_operator"])
def test_an_operator_state_flag_other_than_0_or_1_is_refused(field: str, flag: int) -> None:
    """A subtask has one such handle or none."""
    handle = hand.i4(flag) + hand.operator_handle(hand.file_handle())
    refuse(hand.with_subtask(3, hand.subtask(3, **{field: handle})))


@pytest.mark.parametrize("empty", [2, 255])
def test_a_boolean_other_than_0_or_1_is_refused(empty: int) -> None:
    """No writer of Flink's emits it."""
    refuse(hand.in_operator(hand.merged_operator_handle(hand.EMPTY_SEGMENT, empty=empty)))


@pytest.mark.parametrize("path", [hand.file_handle(""), hand.segment_handle("")])
def test_an_empty_path_is_refused(path: bytes) -> None:
    """A reference to nowhere cannot be protected."""
    assert "empty path" in refuse(hand.in_stream(path)).reason


def test_an_empty_directory_is_refused() -> None:
    """The directories of file merging are deleted as a whole: nowhere is no directory."""
    refuse(hand.in_operator(hand.merged_operator_handle(hand.EMPTY_SEGMENT, directory="")))


@pytest.mark.parametrize(
    "name", ["", "/", "/a", "a/", "a/b", ".", "..", "../a", "a\\b", "s3:a", " a", "a ", "\ta"]
)
def test_a_relative_name_that_is_no_plain_file_name_is_refused(name: str) -> None:
    """Flink's Path would split, resolve, trim or re-root it; the file would lie elsewhere."""
    assert "plain" in refuse(hand.in_stream(hand.relative_handle(name))).reason


@pytest.mark.parametrize("name", ["a", "...", ".a", "a..b", "a b", "%2F", "0a1b-2c", "a~"])
def test_a_plain_relative_name_is_accepted(name: str) -> None:
    """Whatever Flink leaves as it is."""
    _, references = accept(hand.in_stream(hand.relative_handle(name)))
    assert references.relative_names == (name,)


@pytest.mark.parametrize("field", ["subtask", "a", "b"])
def test_a_negative_channel_index_is_refused(field: str) -> None:
    """This is what keeps the layout of 1.11 from being mistaken for the final one."""
    channel = hand.channel(hand.file_handle(), **{field: -1})
    refuse(hand.with_subtask(4, hand.subtask(4, inputs=hand.listed(channel))))
    refuse(hand.in_input(b"\x01" + channel))


def test_a_channel_table_must_be_used_up() -> None:
    """Neither short nor long."""
    entry = hand.i4(1) + hand.i4(2) + hand.i8(3) + hand.longs(4)
    for table in (hand.listed(entry) + b"\0", hand.listed(entry)[:-1], b"", hand.i4(2) + entry):
        refuse(hand.in_input(b"\x03" + hand.merged_channel(hand.file_handle(), table=table)))
    accept(
        hand.in_input(b"\x03" + hand.merged_channel(hand.file_handle(), table=hand.listed(entry)))
    )


def test_a_channel_table_may_not_leave_its_last_bytes_to_what_follows() -> None:
    """Its length reaches over the next field, which would parse all the same."""
    good = hand.in_input(b"\x03" + hand.merged_channel(hand.file_handle()))
    length = hand.blob(hand.listed(hand.i4(1) + hand.i4(2) + hand.i8(3) + hand.longs(4)))[:4]
    longer = hand.i4(int.from_bytes(length, "big") + 4)
    place = good.rindex(length + hand.i4(1) + hand.i4(1))
    accept(good)
    assert "channel table" in refuse(good[:place] + longer + good[place + 4 :]).reason


def test_a_channel_table_cannot_read_beyond_its_blob() -> None:
    """The offsets of its last entry end inside, whatever follows."""
    entry = hand.i4(1) + hand.i4(2) + hand.i8(3) + hand.i4(2) + hand.i8(4)
    table = hand.merged_channel(hand.file_handle(), table=hand.listed(entry))
    refuse(hand.in_input(b"\x03" + table))


def test_master_states_must_have_their_magic_and_their_length() -> None:
    """A record that is not used up exactly was not understood."""
    good = hand.listed(hand.master())
    accept(hand.metadata(3, hand.listed(), masters=good))
    for bad in (hand.master(magic=0xC96B1697), hand.master(extra=1), hand.master(extra=-1)):
        refuse(hand.metadata(3, hand.listed(), masters=hand.listed(bad)))
    empty = struct.pack(">I", 0xC96B1696) + hand.i4(0)
    refuse(hand.metadata(3, hand.listed(), masters=hand.listed(empty + bytes(20))))


def test_a_finished_operator_has_no_coordinator_state() -> None:
    """Flink's reader throws on it."""
    finished = hand.operator(4, hand.i4(-1), coordinator=hand.bytes_handle())
    error = refuse(hand.metadata(4, hand.listed(finished)))
    assert "finished" in error.reason


def test_a_coordinator_before_a_finished_operator_does_no_harm() -> None:
    """One operator's coordinator is not the next one's."""
    first = hand.operator(4, hand.listed(), coordinator=hand.bytes_handle())
    second = hand.operator(4, hand.i4(-1))
    metadata, _ = accept(hand.metadata(4, hand.listed(first, second)))
    assert [each.is_fully_finished for each in metadata.operators] == [False, True]


def test_finished_markers_are_refused_in_version_2() -> None:
    """They came with version 3."""
    refuse(hand.metadata(2, hand.listed(hand.operator(2, hand.i4(-1)))))
    refuse(hand.with_subtask(2, hand.subtask(2, index=-1)))
    accept(hand.metadata(3, hand.listed(hand.operator(3, hand.i4(-1)))))


def test_a_finished_subtask_ends_with_its_index() -> None:
    """Index -1 is subtask 0, the lowest int the last one that Java can count."""
    for marker, index in ((-1, 0), (-4, 3), (-2147483648, 2147483647)):
        metadata, _ = accept(hand.with_subtask(7, hand.i4(marker)))
        (subtask,) = metadata.operators[0].subtasks
        assert (subtask.index, subtask.is_finished) == (index, True)


def test_legacy_state_of_version_2_is_refused() -> None:
    """State of Flink 1.1 would follow, which no release reads any more."""
    record = bytearray(hand.subtask(2))
    record[15] = 1
    assert "legacy" in refuse(hand.with_subtask(2, bytes(record))).reason


@pytest.mark.parametrize(
    "raw",
    [
        b"a\x00b",
        b"\xc0\x81",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xf0\x9f\x98\x80",
        b"\x80",
        b"\xc3",
        b"\xed\xa0",
        b"\xff",
    ],
)
def test_malformed_text_is_refused_wherever_it_stands(raw: bytes) -> None:
    """In a path, in a name that refers to nothing, in an id."""
    text = len(raw).to_bytes(2, "big") + raw
    for handle in (
        b"\x02" + hand.i8(1) + text,
        b"\x06" + text + hand.i8(1),
        b"\x01" + text + hand.blob(b""),
        b"\x0f" + hand.i8(3) + hand.i8(4) + hand.i4(1) + hand.utf("s3://b/m") + text,
    ):
        refuse(hand.in_stream(handle))
    refuse(hand.with_keyed(hand.incremental(hand.listed(text + hand.file_handle()))))


@pytest.mark.parametrize("marker", [b"\x02", b"\xff", b"\x01" + hand.i8(-1), b""])
def test_a_bad_reference_marker_of_version_7_is_refused(marker: bytes) -> None:
    """0 or 1, and then a checkpoint id."""
    refuse(hand.with_subtask(7, hand.subtask(7, reference=marker)))


def test_version_7_names_the_checkpoints_that_it_leans_on() -> None:
    """They must be kept as long as this one."""
    plain = hand.subtask(7)
    leaning = hand.subtask(7, index=1, reference=b"\x01" + hand.i8(41))
    operator = hand.operator(7, hand.listed(plain, leaning, hand.i4(-3)))
    metadata, references = accept(hand.metadata(7, hand.listed(operator)))
    assert references.ref_checkpoint_ids == (41,)
    ids = [each.ref_checkpoint_id for each in metadata.operators[0].subtasks]
    assert ids == [None, 41, None]


def test_kinds_tell_which_handles_occur() -> None:
    """So that a collector can refuse layouts whose liveness it cannot prove."""
    kinds = {
        hand.in_stream(hand.segment_handle()): {HandleKind.KEY_GROUPS, HandleKind.SEGMENT},
        hand.in_keyed(hand.key_groups(hand.EMPTY_SEGMENT, code=7)): {
            HandleKind.KEY_GROUPS_SAVEPOINT,
            HandleKind.EMPTY_SEGMENT,
        },
        hand.in_shared(hand.bytes_handle()): {
            HandleKind.INCREMENTAL,
            HandleKind.FILE,
            HandleKind.BYTES,
        },
        hand.in_operator(hand.merged_operator_handle(hand.EMPTY_SEGMENT)): {
            HandleKind.OPERATOR,
            HandleKind.EMPTY_SEGMENT,
            HandleKind.DIRECTORY,
        },
        hand.in_increments(hand.changelog_bytes()): {
            HandleKind.CHANGELOG,
            HandleKind.CHANGELOG_BYTES,
        },
        hand.in_changelog_file(hand.relative_handle()): {
            HandleKind.CHANGELOG_FILES,
            HandleKind.RELATIVE,
        },
        hand.in_input(b"\x03" + hand.merged_channel(hand.file_handle())): {
            HandleKind.CHANNEL,
            HandleKind.FILE,
        },
    }
    for data, expected in kinds.items():
        assert read_references(data).kinds == expected


def test_the_error_says_where_and_what() -> None:
    """One line that a person can act upon."""
    error = refuse(hand.in_stream(hand.file_handle()) + b"\0")
    assert str(error) == f"cannot decode Flink metadata at byte {error.offset}: {error.reason}"
    assert error.reason == "1 bytes behind the end"


def test_a_file_that_fits_no_layout_reports_what_the_final_one_ran_into() -> None:
    """The fall-backs of version 3 do not blur the reason."""
    data = golden("1.11.4/unaligned").data
    error = refuse(data + b"\0")
    assert error.offset <= len(data)
    assert "two old layouts" not in error.reason


def test_a_file_that_fits_both_old_layouts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two readings are no reading; made to happen here, as no such file is known."""
    data = golden("1.11.4/unaligned").data
    assert read_metadata(data).variant is LayoutVariant.FLINK_1_11

    def confused(version: int, variant: LayoutVariant) -> Tables:
        is_old = variant is LayoutVariant.FLINK_1_14
        return tables_of(version, LayoutVariant.FLINK_1_11 if is_old else variant)

    monkeypatch.setattr(parser, "tables_of", confused)
    assert "two old layouts" in refuse(data).reason
