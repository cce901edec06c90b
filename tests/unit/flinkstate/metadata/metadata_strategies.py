"""Random metadata values that keep to the format's rules."""

from typing import Any

from hypothesis import strategies as st

from flinkstate.metadata.reader import read_metadata
from flinkstate.values import handles
from flinkstate.values import metadata_values as model
from flinkstate.values.metadata_values import LayoutVariant, Metadata
from unit.flinkstate.metadata.golden_files import golden

INT4 = st.integers(-(2**31), 2**31 - 1)
INT8 = st.integers(-(2**63), 2**63 - 1)
INDEX = st.integers(0, 2**31 - 1)
BLOBS = st.binary(max_size=20)
OFFSETS = st.lists(INT8, max_size=4).map(tuple)
PROPERTIES = st.sampled_from(
    [
        None,
        *(
            read_metadata(golden(name).data).properties
            for name in ("2.3.0/empty", "2.3.0/classic-savepoint-props")
        ),
    ]
)
BASES = ("s3://b/ck/0123456789abcdef0123456789abcdef/shared/", "file:/tmp/ü/", "/x/")


def java_texts(*, min_size: int = 0, max_size: int = 12) -> st.SearchStrategy[str]:
    """Any Java string: lone surrogates too, but pairs as the characters that they are."""
    units = st.text(
        st.characters(exclude_categories=()) | st.sampled_from("\0é\ud800\udc00😀"),
        min_size=min_size,
        max_size=max_size,
    )
    return units.map(
        lambda text: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    )


TEXTS = java_texts()
UUIDS = st.uuids().map(str)
PATHS = st.builds(str.__add__, st.sampled_from(BASES), UUIDS) | java_texts(min_size=1)
NAMES = UUIDS | st.sampled_from(["channel-file", "ü", "a\0b", "..."])


def record(make: type, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(make, **fields)


def several(elements: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(elements, max_size=most).map(tuple)


SEGMENTS = record(
    handles.SegmentHandle,
    path=PATHS,
    start=INT8,
    size=INT8,
    scope=st.sampled_from(handles.SegmentScope),
    logical_id=TEXTS,
) | st.just(handles.EmptySegmentHandle())
LEAVES = (
    record(handles.FileHandle, path=PATHS, size=INT8)
    | record(handles.RelativeHandle, name=NAMES, size=INT8)
    | record(handles.BytesHandle, name=TEXTS, data=BLOBS)
    | SEGMENTS
)
GROUPS = st.builds(handles.KeyGroupRange, first=st.integers(0, 100), count=st.integers(0, 32668))
GROUP_OFFSETS = st.builds(handles.KeyGroupOffsets, first=st.integers(0, 32764), offsets=OFFSETS)


def key_groups(delegates: st.SearchStrategy[Any], code: int) -> st.SearchStrategy[Any]:
    ids = TEXTS if code == 12 else st.none()
    return record(
        handles.KeyGroupsHandle,
        code=st.just(code),
        groups=GROUP_OFFSETS,
        delegate=delegates,
        state_handle_id=ids,
    )


STREAMS = LEAVES | key_groups(LEAVES, 3) | key_groups(key_groups(LEAVES, 3), 3)


@st.composite
def named_runs(draw: st.DrawFn) -> tuple[handles.NamedHandle, ...]:
    """Long lists of look-alikes, with a few that only look alike in their length."""
    base = draw(st.sampled_from(BASES))
    make = draw(st.sampled_from([_file, _relative, _segment]))
    count = draw(st.integers(0, 60))
    entries = [
        handles.NamedHandle(name=f"{number:06d}.sst", handle=make(base, number))
        for number in range(count)
    ]
    for place in draw(st.lists(st.integers(0, max(0, count - 1)), max_size=4 if count else 0)):
        entries[place] = draw(st.sampled_from(_strangers(base, place, make)))
    return tuple(entries)


def _uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number * 7919:012x}"


def _file(base: str, number: int) -> Any:
    return handles.FileHandle(path=base + _uuid(number), size=number)


def _relative(_base: str, number: int) -> Any:
    return handles.RelativeHandle(name=_uuid(number), size=-number)


def _segment(base: str, number: int) -> Any:
    return handles.SegmentHandle(
        path=base + _uuid(number),
        start=number,
        size=2,
        scope=handles.SegmentScope.SHARED,
        logical_id=_uuid(number + 1),
    )


def _strangers(base: str, number: int, make: Any) -> list[handles.NamedHandle]:
    usual = make(base, number)
    return [
        handles.NamedHandle(name="0001é.sst", handle=usual),
        handles.NamedHandle(name="0001\0.sst", handle=usual),
        handles.NamedHandle(name="CURRENT", handle=usual),
        handles.NamedHandle(name="000001.sst", handle=_file(base + "é", number)),
        handles.NamedHandle(name="000001.sst", handle=_file(base[:-1] + "\0", number)),
        handles.NamedHandle(name="000001.sst", handle=_relative(base, number)),
        handles.NamedHandle(name="000001.sst", handle=_segment(base, number)),
        handles.NamedHandle(name="000001.sst", handle=handles.EmptySegmentHandle()),
        handles.NamedHandle(
            name="000001.sst", handle=handles.BytesHandle(name=base, data=b"\2" * 40)
        ),
    ]


NAMED = several(record(handles.NamedHandle, name=TEXTS, handle=STREAMS)) | named_runs()


def incrementals(code: int) -> st.SearchStrategy[Any]:
    has_id = code == 11
    return record(
        handles.IncrementalHandle,
        code=st.just(code),
        checkpoint_id=INT8,
        backend_id=TEXTS,
        groups=GROUPS,
        checkpointed_size=INT8 if has_id else st.none(),
        meta=STREAMS,
        shared=NAMED,
        private=NAMED,
        state_handle_id=TEXTS if has_id else st.none(),
    )


def changelog_bytes(*, has_id: bool = True) -> st.SearchStrategy[Any]:
    changes = record(handles.ChangelogChange, key_group=INT4, change=BLOBS)
    return record(
        handles.ChangelogBytesHandle,
        groups=GROUPS,
        from_sequence=INT8,
        to_sequence=INT8,
        changes=several(changes),
        state_handle_id=TEXTS if has_id else st.none(),
    )


def changelog_files(code: int, *, has_id: bool = True) -> st.SearchStrategy[Any]:
    files = record(handles.ChangelogFile, offset=INT8, handle=STREAMS)
    return record(
        handles.ChangelogFilesHandle,
        code=st.just(code),
        groups=GROUPS,
        files=several(files),
        size=INT8,
        checkpointed_size=INT8 if has_id else st.none(),
        state_handle_id=TEXTS if has_id else st.none(),
        storage=TEXTS if code == 13 else st.none(),
    )


SNAPSHOTS = (
    key_groups(STREAMS, 3)
    | key_groups(STREAMS, 7)
    | key_groups(STREAMS, 12)
    | incrementals(5)
    | incrementals(11)
)


def changelogs(code: int, *, has_id: bool = True) -> st.SearchStrategy[Any]:
    increments = changelog_bytes(has_id=has_id) | changelog_files(10, has_id=has_id)
    return record(
        handles.ChangelogHandle,
        code=st.just(code),
        groups=GROUPS,
        checkpointed_size=INT8 if has_id else st.none(),
        materialized=several(SNAPSHOTS | st.none(), 2),
        increments=several(increments | changelog_files(13) if has_id else increments, 2),
        materialization_id=INT8 if has_id else st.none(),
        checkpoint_id=INT8 if code == 14 else st.none(),
        state_handle_id=TEXTS if has_id else st.none(),
    )


KEYED = (
    st.none()
    | SNAPSHOTS
    | changelogs(8)
    | changelogs(14)
    | changelog_bytes()
    | changelog_files(10)
    | changelog_files(13)
)
STATES = several(
    record(
        handles.OperatorState, name=TEXTS, mode=st.sampled_from(handles.StateMode), offsets=OFFSETS
    )
)
OPERATOR_HANDLES = (
    st.none()
    | record(handles.OperatorHandle, states=STATES, delegate=STREAMS)
    | record(
        handles.MergedOperatorHandle,
        states=STATES,
        taskowned_directory=PATHS,
        shared_directory=PATHS,
        is_empty=st.booleans(),
        delegate=SEGMENTS,
    )
)


def channels(code: int, *, has_subtask: bool = True) -> st.SearchStrategy[Any]:
    return record(
        handles.ChannelHandle,
        code=st.just(code),
        subtask=INDEX if has_subtask else st.none(),
        gate=INDEX,
        channel=INDEX,
        offsets=OFFSETS,
        size=INT8,
        delegate=STREAMS,
    )


def merged_channels(code: int) -> st.SearchStrategy[Any]:
    table = several(record(handles.Channel, gate=INDEX, channel=INDEX, size=INT8, offsets=OFFSETS))
    return record(
        handles.MergedChannelHandle,
        code=st.just(code),
        subtask=INDEX,
        size=INT8,
        delegate=STREAMS,
        channels=table,
    )


def subtasks(version: int) -> st.SearchStrategy[Any]:
    inputs, outputs = channels(1), channels(2)
    if version >= 6:
        inputs, outputs = inputs | merged_channels(3), outputs | merged_channels(4)
    running = record(
        model.Subtask,
        index=INDEX,
        duration=INT8 if version == 2 else st.none(),
        managed_operator=OPERATOR_HANDLES,
        raw_operator=OPERATOR_HANDLES,
        managed_keyed=KEYED,
        raw_keyed=KEYED,
        input_channels=several(inputs, 2) if version >= 3 else st.just(()),
        output_channels=several(outputs, 2) if version >= 3 else st.just(()),
        ref_checkpoint_id=st.none() | st.integers(0, 2**63 - 1) if version >= 7 else st.none(),
    )
    finished = record(model.Subtask, index=INDEX, is_finished=st.just(value=True))
    return running | finished if version >= 3 else running


def operators(version: int) -> st.SearchStrategy[Any]:
    names = st.none() | java_texts(min_size=1) if version >= 5 else st.none()
    common = {
        "name": names,
        "uid": names,
        "id": st.binary(min_size=16, max_size=16).map(bytes.hex),
        "parallelism": INT4,
        "max_parallelism": INT4,
        "chain_length": INT4 if version == 2 else st.none(),
    }
    coordinators = st.none() | record(handles.BytesHandle, name=TEXTS, data=BLOBS)
    running = record(
        model.Operator,
        **common,
        coordinator=coordinators if version >= 3 else st.none(),
        subtasks=several(subtasks(version), 2),
    )
    finished = record(model.Operator, **common, subtasks=st.none())
    return running | finished if version >= 3 else running


MASTERS = several(record(model.MasterState, version=INT4, name=TEXTS, payload=BLOBS), 2)


def metadata_of(version: int) -> st.SearchStrategy[Metadata]:
    return record(
        Metadata,
        format_version=st.just(version),
        checkpoint_id=st.integers(0, 2**63 - 1),
        master_states=MASTERS,
        operators=several(operators(version), 2),
        properties=PROPERTIES if version >= 4 else st.none(),
    )


def metadata_values() -> st.SearchStrategy[Metadata]:
    return st.integers(2, 7).flatmap(metadata_of)


def _old(variant: LayoutVariant, subtask: model.Subtask) -> Metadata:
    operator = model.Operator(id="00" * 16, parallelism=1, max_parallelism=128, subtasks=(subtask,))
    return Metadata(
        format_version=3, checkpoint_id=5, master_states=(), operators=(operator,), variant=variant
    )


def metadata_of_1_11() -> st.SearchStrategy[Metadata]:
    """Files with at least one channel handle in the layout of 1.11."""
    old = channels(1, has_subtask=False)
    return record(
        model.Subtask,
        index=INDEX,
        managed_keyed=st.none() | key_groups(STREAMS, 3) | incrementals(5),
        input_channels=st.lists(old, min_size=1, max_size=3).map(tuple),
    ).map(lambda subtask: _old(LayoutVariant.FLINK_1_11, subtask))


def metadata_of_1_14() -> st.SearchStrategy[Metadata]:
    """Files with one changelog handle in the layout of 1.14."""
    return record(
        model.Subtask,
        index=INDEX,
        managed_keyed=changelogs(8, has_id=False),
        raw_keyed=st.none() | key_groups(STREAMS, 3),
    ).map(lambda subtask: _old(LayoutVariant.FLINK_1_14, subtask))
