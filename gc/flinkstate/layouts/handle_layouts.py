"""Layout of every handle, by slot and code.

The slot defines which codes are legal. The layout of a code does not depend on the format version,
except for two layouts that changed silently under version 3.

Source: Flink 1.8-2.3, ``MetadataV2V3SerializerBase``, ``MetadataV2Serializer`` to
``MetadataV7Serializer``, ``ChannelStateHandleSerializer``.
"""

from flinkstate.layouts.record_layouts import RecordLayout, RecordPart, coded_layout, layout_of
from flinkstate.values import handles
from flinkstate.values.metadata_values import HandleKind

_ID = {"state_handle_id": RecordPart.UTF}
_GROUPS = {"groups": RecordPart.KEY_GROUP_OFFSETS, "delegate": RecordPart.STREAM}
_SNAPSHOT = {
    "checkpoint_id": RecordPart.I8,
    "backend_id": RecordPart.UTF,
    "groups": RecordPart.KEY_GROUP_RANGE,
}
_FILES = {
    "meta": RecordPart.STREAM,
    "shared": RecordPart.NAMED_STREAMS,
    "private": RecordPart.NAMED_STREAMS,
}
_RANGE = {"groups": RecordPart.KEY_GROUP_RANGE}
_SIZED = {"checkpointed_size": RecordPart.I8}
_BOTH = {"materialized": RecordPart.KEYED_LIST, "increments": RecordPart.INCREMENTS}
_CHANGES = {
    **_RANGE,
    "from_sequence": RecordPart.I8,
    "to_sequence": RecordPart.I8,
    "changes": RecordPart.CHANGES,
}
_CHANGE_FILES = {**_RANGE, "files": RecordPart.CHANGELOG_FILES, "size": RecordPart.I8}
_CHANNEL = {
    "gate": RecordPart.INDEX,
    "channel": RecordPart.INDEX,
    "offsets": RecordPart.LONGS,
    "size": RecordPart.I8,
    "delegate": RecordPart.STREAM,
}

_KEY_GROUPS = coded_layout(3, handles.KeyGroupsHandle, HandleKind.KEY_GROUPS, **_GROUPS)

STREAMS = {
    1: coded_layout(
        1, handles.BytesHandle, HandleKind.BYTES, name=RecordPart.UTF, data=RecordPart.BLOB
    ),
    2: coded_layout(
        2, handles.FileHandle, HandleKind.FILE, size=RecordPart.I8, path=RecordPart.PATH
    ),
    3: _KEY_GROUPS,
    6: coded_layout(
        6,
        handles.RelativeHandle,
        HandleKind.RELATIVE,
        name=RecordPart.RELATIVE_NAME,
        size=RecordPart.I8,
    ),
    15: coded_layout(
        15,
        handles.SegmentHandle,
        HandleKind.SEGMENT,
        start=RecordPart.I8,
        size=RecordPart.I8,
        scope=RecordPart.SCOPE,
        path=RecordPart.PATH,
        logical_id=RecordPart.UTF,
    ),
    16: coded_layout(16, handles.EmptySegmentHandle, HandleKind.EMPTY_SEGMENT),
}

KEYED = {
    3: _KEY_GROUPS,
    5: coded_layout(5, handles.IncrementalHandle, HandleKind.INCREMENTAL, **_SNAPSHOT, **_FILES),
    7: coded_layout(7, handles.KeyGroupsHandle, HandleKind.KEY_GROUPS_SAVEPOINT, **_GROUPS),
    8: coded_layout(
        8,
        handles.ChangelogHandle,
        HandleKind.CHANGELOG,
        **_RANGE,
        **_SIZED,
        **_BOTH,
        materialization_id=RecordPart.I8,
        **_ID,
    ),
    9: coded_layout(9, handles.ChangelogBytesHandle, HandleKind.CHANGELOG_BYTES, **_CHANGES, **_ID),
    10: coded_layout(
        10,
        handles.ChangelogFilesHandle,
        HandleKind.CHANGELOG_FILES,
        **_CHANGE_FILES,
        **_SIZED,
        **_ID,
    ),
    11: coded_layout(
        11,
        handles.IncrementalHandle,
        HandleKind.INCREMENTAL,
        **_SNAPSHOT,
        **_SIZED,
        **_FILES,
        **_ID,
    ),
    12: coded_layout(12, handles.KeyGroupsHandle, HandleKind.KEY_GROUPS, **_GROUPS, **_ID),
    13: coded_layout(
        13,
        handles.ChangelogFilesHandle,
        HandleKind.CHANGELOG_FILES,
        **_CHANGE_FILES,
        **_SIZED,
        **_ID,
        storage=RecordPart.UTF,
    ),
    14: coded_layout(
        14,
        handles.ChangelogHandle,
        HandleKind.CHANGELOG,
        **_RANGE,
        **_SIZED,
        **_BOTH,
        materialization_id=RecordPart.I8,
        checkpoint_id=RecordPart.I8,
        **_ID,
    ),
}

KEYED_1_14 = KEYED | {
    8: coded_layout(8, handles.ChangelogHandle, HandleKind.CHANGELOG, **_RANGE, **_BOTH),
    9: coded_layout(9, handles.ChangelogBytesHandle, HandleKind.CHANGELOG_BYTES, **_CHANGES),
    10: coded_layout(10, handles.ChangelogFilesHandle, HandleKind.CHANGELOG_FILES, **_CHANGE_FILES),
}

BYTES_CODE = 1
SEGMENT_CODES = (15, 16)
INCREMENT_CODES = (9, 10, 13)

OPERATOR_HANDLES = {
    4: coded_layout(
        4,
        handles.OperatorHandle,
        HandleKind.OPERATOR,
        states=RecordPart.STATES,
        delegate=RecordPart.STREAM,
    ),
    17: coded_layout(
        17,
        handles.MergedOperatorHandle,
        HandleKind.OPERATOR,
        states=RecordPart.STATES,
        taskowned_directory=RecordPart.DIRECTORY,
        shared_directory=RecordPart.DIRECTORY,
        is_empty=RecordPart.FLAG,
        delegate=RecordPart.SEGMENT_STREAM,
    ),
}


def _plain_channel(code: int) -> RecordLayout:
    return coded_layout(
        code, handles.ChannelHandle, HandleKind.CHANNEL, subtask=RecordPart.INDEX, **_CHANNEL
    )


def _merged_channel(code: int) -> RecordLayout:
    return coded_layout(
        code,
        handles.MergedChannelHandle,
        HandleKind.CHANNEL,
        subtask=RecordPart.INDEX,
        size=RecordPart.I8,
        delegate=RecordPart.STREAM,
        channels=RecordPart.CHANNELS,
    )


INPUTS = {1: _plain_channel(1), 3: _merged_channel(3)}
OUTPUTS = {2: _plain_channel(2), 4: _merged_channel(4)}
INPUTS_1_11 = {1: coded_layout(1, handles.ChannelHandle, HandleKind.CHANNEL, **_CHANNEL)}
OUTPUTS_1_11 = {2: coded_layout(2, handles.ChannelHandle, HandleKind.CHANNEL, **_CHANNEL)}

RECORD_LISTS = {
    RecordPart.NAMED_STREAMS: layout_of(
        handles.NamedHandle, name=RecordPart.UTF, handle=RecordPart.STREAM
    ),
    RecordPart.CHANGES: layout_of(
        handles.ChangelogChange, key_group=RecordPart.I4, change=RecordPart.BLOB
    ),
    RecordPart.CHANGELOG_FILES: layout_of(
        handles.ChangelogFile, offset=RecordPart.I8, handle=RecordPart.STREAM
    ),
    RecordPart.STATES: layout_of(
        handles.OperatorState, name=RecordPart.UTF, mode=RecordPart.MODE, offsets=RecordPart.LONGS
    ),
    RecordPart.CHANNELS: layout_of(
        handles.Channel,
        gate=RecordPart.INDEX,
        channel=RecordPart.INDEX,
        size=RecordPart.I8,
        offsets=RecordPart.LONGS,
    ),
}
"""Lists of plain records, with the layout of their elements."""
