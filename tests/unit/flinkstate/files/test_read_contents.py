"""What a checkpoint holds, from its metadata and the few bytes that it leads to."""

import pytest

from flinkstate.files.read_contents import contents_of
from flinkstate.state.contents import KeyedStateKind, OperatorContents
from flinkstate.state.header_ranges import LARGEST_HEADER
from flinkstate.values import handles
from flinkstate.values import metadata_values as model
from flinkstate.values.handles import StateMode
from flinkstate.values.metadata_values import HandleKind
from orphangc.errors import StorageUnreachableError
from unit.flinkstate.state import header_writer as write

HEADER = write.keyed_header(
    write.record("total"),
    write.record("seen", options=(("KEYED_STATE_TYPE", "MAP"),)),
    write.record("_timer_state/event_t", kind=3, options=()),
)
ONE = write.keyed_header(write.record("only"))
NAMES = ("total", "seen", "_timer_state/event_t")


class Files:
    """Files by path, and what was asked of them."""

    def __init__(self, **files: bytes | Exception) -> None:
        self.files = {f"/s/{name}": data for name, data in files.items()}
        self.asked: list[tuple[str, int, int]] = []

    def __call__(self, path: str, *, start: int, size: int) -> bytes | None:
        """Read a part of a file."""
        self.asked.append((path, start, size))
        found = self.files.get(path)
        if isinstance(found, Exception):
            raise found
        return None if found is None else found[start : start + size]


def file(name: str, size: int) -> handles.FileHandle:
    return handles.FileHandle(path=f"/s/{name}", size=size)


def incremental(meta, *shared) -> handles.IncrementalHandle:
    return handles.IncrementalHandle(
        checkpoint_id=1,
        backend_id="b",
        groups=handles.KeyGroupRange(first=0, count=64),
        meta=meta,
        shared=tuple(handles.NamedHandle(name="1.sst", handle=each) for each in shared),
        private=(),
        code=11,
    )


def full(delegate, *offsets: int, code: int = 12) -> handles.KeyGroupsHandle:
    groups = handles.KeyGroupOffsets(first=0, offsets=offsets)
    return handles.KeyGroupsHandle(groups=groups, delegate=delegate, code=code)


def changelog(*materialized, increments=()) -> handles.ChangelogHandle:
    return handles.ChangelogHandle(
        groups=handles.KeyGroupRange(first=0, count=64),
        materialized=materialized,
        increments=increments,
        code=14,
    )


INCREMENT = handles.ChangelogFilesHandle(
    groups=handles.KeyGroupRange(first=0, count=64),
    files=(handles.ChangelogFile(offset=0, handle=file("log", 70)),),
    size=70,
    code=13,
)


def held(*subtasks: model.Subtask, read=None, **more) -> OperatorContents:
    operator = model.Operator(
        id="0" * 32, parallelism=2, max_parallelism=128, subtasks=subtasks, **more
    )
    metadata = model.Metadata(
        format_version=6, checkpoint_id=7, master_states=(), operators=(operator,)
    )
    (contents,) = contents_of(metadata, directory="/s", read=read).operators
    return contents


def keyed(*managed, read) -> OperatorContents:
    return held(
        *(model.Subtask(index=n, managed_keyed=each) for n, each in enumerate(managed)), read=read
    )


def names(contents: OperatorContents) -> tuple[str, ...] | None:
    states = contents.keyed_states
    return None if states is None else tuple(each.name for each in states)


SEGMENT = handles.SegmentHandle(
    path="/s/merged",
    start=5,
    size=len(HEADER),
    scope=handles.SegmentScope.EXCLUSIVE,
    logical_id="l",
)


@pytest.mark.parametrize(
    ("handle", "asked"),
    [
        pytest.param(
            incremental(file("meta", len(HEADER))), [("/s/meta", 0, len(HEADER))], id="meta file"
        ),
        pytest.param(
            incremental(handles.RelativeHandle(name="meta", size=len(HEADER))),
            [("/s/meta", 0, len(HEADER))],
            id="relative meta file",
        ),
        pytest.param(
            incremental(file("meta", -1)),
            [("/s/meta", 0, LARGEST_HEADER + 1)],
            id="meta file of unknown size",
        ),
        pytest.param(
            incremental(SEGMENT), [("/s/merged", 5, len(HEADER))], id="segment of a merged file"
        ),
        pytest.param(
            full(file("heap", 999), 0, len(HEADER), len(HEADER) + 50),
            [("/s/heap", 0, len(HEADER))],
            id="before the first key group",
        ),
        pytest.param(
            full(file("meta", len(HEADER)), 0, 0), [("/s/meta", 0, len(HEADER))], id="no key group"
        ),
        pytest.param(
            changelog(full(file("heap", 999), len(HEADER)), None),
            [("/s/heap", 0, len(HEADER))],
            id="materialized",
        ),
        pytest.param(
            full(handles.BytesHandle(name="n", data=HEADER + b"groups"), len(HEADER)),
            [],
            id="inline",
        ),
    ],
)
def test_only_the_header_is_read(handle, asked) -> None:
    """Wherever it lies, and not a byte of the state behind it."""
    files = Files(meta=HEADER, heap=HEADER + b"g" * 99, merged=b"other" + HEADER + b"other")
    contents = keyed(handle, read=files)
    assert (names(contents), contents.keyed_unknown) == (NAMES, None)
    assert [each.kind.value for each in contents.keyed_states] == ["value", "map", "timers"]
    assert contents.key_serializer == "LongSerializerSnapshot"
    assert files.asked == asked


@pytest.mark.parametrize(
    ("handle", "files", "reason"),
    [
        pytest.param(incremental(file("meta", 9)), Files(), "/s/meta is missing", id="missing"),
        pytest.param(
            incremental(file("meta", len(HEADER))),
            Files(meta=HEADER[:-1]),
            "is cut short",
            id="shorter than its handle says",
        ),
        pytest.param(
            incremental(file("meta", 9)),
            Files(meta=StorageUnreachableError("no way")),
            "no way",
            id="unreachable",
        ),
        pytest.param(
            incremental(file("meta", 4)), Files(meta=b"\0\0\0\5"), "version 5", id="of old"
        ),
        pytest.param(
            incremental(file("meta", LARGEST_HEADER + 1)), Files(), "too large", id="too large"
        ),
        pytest.param(
            incremental(file("meta", -1)),
            Files(meta=bytes(LARGEST_HEADER + 1)),
            "too large",
            id="found to be too large",
        ),
        pytest.param(
            full(handles.BytesHandle(name="n", data=b"abc"), 9),
            Files(),
            "cut short",
            id="inline and shorter than its offsets",
        ),
        pytest.param(incremental(file("meta", 9)), None, "were not read", id="not asked for"),
        pytest.param(
            changelog(increments=(INCREMENT,)), Files(), "/s/log is missing", id="log only"
        ),
        pytest.param(INCREMENT, Files(), "/s/log is missing", id="log as a handle"),
        pytest.param(INCREMENT, Files(log=b"\1" + b"x" * 90), "compressed", id="compressed log"),
        pytest.param(INCREMENT, Files(log=b"\0" + b"x" * 90), "key group", id="damaged log"),
    ],
)
def test_what_cannot_be_read_is_unknown_and_never_empty(handle, files, reason) -> None:
    """With the reason, and with every byte counted all the same."""
    contents = keyed(handle, read=files)
    assert contents.keyed_states is None
    assert reason in contents.keyed_unknown


def test_a_part_that_is_unknown_leaves_a_doubt() -> None:
    """One subtask's file is gone; so is the log of another."""
    files = Files(meta=HEADER)
    gone = incremental(file("gone", 9))
    contents = keyed(incremental(file("meta", len(HEADER))), gone, gone, read=files)
    assert names(contents) == NAMES
    assert contents.keyed_unknown == "/s/gone is missing"
    log = changelog(incremental(file("meta", len(HEADER))), increments=(INCREMENT,))
    contents = keyed(log, gone, read=files)
    assert names(contents) == NAMES
    assert contents.keyed_unknown == "/s/gone is missing (and 1 more)"


def test_states_of_all_subtasks_are_drawn_together() -> None:
    """A state is registered when it is first used, maybe in some subtasks only."""
    other = write.keyed_header(
        write.record("total", options=(("KEYED_STATE_TYPE", "LIST"),)), write.record("late")
    )
    contents = keyed(
        incremental(file("a", len(HEADER))),
        incremental(file("b", len(other))),
        read=Files(a=HEADER, b=other),
    )
    kinds = {each.name: each.kind for each in contents.keyed_states}
    assert list(kinds) == [*NAMES, "late"]
    assert kinds["total"] is KeyedStateKind.UNKNOWN
    assert kinds["seen"] is KeyedStateKind.MAP


def test_the_only_keyed_state_has_all_keyed_bytes() -> None:
    """Of several in the same files it is unknown."""
    (state,) = keyed(
        incremental(file("meta", len(ONE)), file("1", 500), file("1", 500), file("2", 20)),
        read=Files(meta=ONE),
    ).keyed_states
    assert state.bytes == len(ONE) + 520
    doubtful = keyed(
        incremental(file("meta", len(ONE))), incremental(file("gone", 9)), read=Files(meta=ONE)
    )
    assert [each.bytes for each in doubtful.keyed_states] == [None]
    several = keyed(incremental(file("meta", len(HEADER))), read=Files(meta=HEADER))
    assert {each.bytes for each in several.keyed_states} == {None}


def test_an_operator_without_keyed_state_has_none() -> None:
    """That is known without reading anything."""
    contents = held(model.Subtask(index=0), read=None)
    assert (contents.keyed_states, contents.keyed_unknown) == ((), None)
    assert held(read=None).keyed_states == ()


def operator_handle(delegate, **offsets) -> handles.OperatorHandle:
    modes = {"split": 0, "union": 1, "rules": 2}
    states = tuple(
        handles.OperatorState(name=name, mode=StateMode(modes[name]), offsets=each)
        for name, each in offsets.items()
    )
    return handles.OperatorHandle(states=states, delegate=delegate)


def test_operator_states_have_partitions_sizes_and_serializers() -> None:
    """One header is enough for the serializers of all subtasks."""
    header = write.operator_header(
        (
            write.operator_record("split", "SPLIT_DISTRIBUTE"),
            write.operator_record("union", "UNION"),
        ),
        (write.operator_record("rules", "BROADCAST", write.odd(b"?")),),
    )
    end = len(header)
    files = Files(a=header + b"." * 30, b=header + b"." * 30)
    contents = held(
        *(
            model.Subtask(
                index=index,
                managed_operator=operator_handle(
                    file(name, end + 30), split=(end, end + 4), union=(end + 10,), rules=(end + 25,)
                ),
            )
            for index, name in ((1, "b"), (0, "a"))
        ),
        read=files,
    )
    split, union, rules = contents.operator_states
    assert (split.name, split.mode, split.partitions, split.bytes) == (
        "split",
        StateMode.SPLIT_DISTRIBUTE,
        4,
        20,
    )
    assert (split.subtasks, [each.sizes for each in split.shares]) == ((0, 1), [(4, 6), (4, 6)])
    assert (union.bytes, rules.bytes) == (30, 10)
    assert [each.serializer for each in contents.operator_states] == [
        *["LongSerializerSnapshot"] * 2,
        write.USER,
    ]
    assert files.asked == [("/s/b", 0, end)]
    assert contents.operator_bytes == 2 * (end + 30)


def test_operator_states_are_known_without_their_file() -> None:
    """Only their serializers are not."""
    handle = operator_handle(file("gone", -1), split=(4,))
    (state,) = held(model.Subtask(index=0, managed_operator=handle), read=Files()).operator_states
    assert (state.name, state.partitions, state.bytes, state.serializer) == ("split", 1, None, None)


def test_raw_state_of_unknown_size_is_there_all_the_same() -> None:
    """Nobody may conclude from its bytes that there is none."""
    raw = model.Subtask(index=0, raw_keyed=full(file("raw", -1), 0))
    contents = held(raw, read=None)
    assert (contents.raw_keyed_bytes, contents.has_raw_keyed) == (0, True)
    assert not contents.has_raw_operator
    raw = model.Subtask(index=0, raw_operator=operator_handle(file("raw", -1), split=(0,)))
    contents = held(raw, read=None)
    assert (contents.raw_operator_bytes, contents.has_raw_operator) == (0, True)
    assert not contents.has_raw_keyed


def test_bytes_are_counted_once_and_by_what_they_are() -> None:
    """Channels share a file, subtasks a segment; blobs inside the metadata are never shared."""
    channel = handles.ChannelHandle(
        subtask=0, gate=0, channel=0, offsets=(0,), size=4, delegate=file("channels", 90), code=1
    )
    inline = handles.BytesHandle(name="n", data=b"12345")
    subtasks = [
        model.Subtask(
            index=index,
            raw_operator=operator_handle(inline, split=(0,)),
            raw_keyed=full(SEGMENT, 0),
            input_channels=(channel,),
            output_channels=(channel,),
        )
        for index in (0, 1)
    ]
    coordinator = handles.BytesHandle(name="c", data=b"123")
    contents = held(*subtasks, read=None, coordinator=coordinator)
    assert contents.channel_bytes == 90
    assert contents.raw_keyed_bytes == len(HEADER)
    assert contents.raw_operator_bytes == 10
    assert (contents.has_raw_operator, contents.has_raw_keyed) == (True, True)
    assert contents.coordinator_bytes == 3
    assert contents.inline_bytes == 13


@pytest.mark.parametrize(
    ("handle", "kind"),
    [
        (incremental(file("m", 1)), HandleKind.INCREMENTAL),
        (full(file("m", 1), 0), HandleKind.KEY_GROUPS),
        (full(file("m", 1), 0, code=7), HandleKind.KEY_GROUPS_SAVEPOINT),
        (changelog(), HandleKind.CHANGELOG),
        (INCREMENT, HandleKind.CHANGELOG_FILES),
    ],
)
def test_how_keyed_state_was_written(handle, kind) -> None:
    contents = keyed(handle, read=None)
    assert contents.keyed_kinds == (kind,)
    assert contents.key_groups[0].groups.count == (1 if "GROUPS" in kind.name else 64)


def test_a_changelog_without_changes_hides_nothing() -> None:
    """Nothing was written yet."""
    contents = keyed(changelog(), read=Files())
    assert (contents.keyed_states, contents.keyed_unknown) == ((), None)
