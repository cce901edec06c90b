"""The layout of every handle, by slot and code.

The slot decides which codes are legal; a code's layout does not depend on the file's version,
except for the two that changed silently under version 3.

Source: Flink 1.8-2.3, ``MetadataV2V3SerializerBase``, ``MetadataV2Serializer`` to
``MetadataV7Serializer``, ``ChannelStateHandleSerializer``.
"""

from __future__ import annotations

from orphangc.flink.layouts.record_layouts import Layout, Part, coded_layout, layout_of
from orphangc.flink.values import handles
from orphangc.flink.values.metadata_values import HandleKind

__all__ = [
    "BYTES_CODE",
    "INCREMENT_CODES",
    "INPUTS",
    "INPUTS_1_11",
    "KEYED",
    "KEYED_1_14",
    "OPERATOR_HANDLES",
    "OUTPUTS",
    "OUTPUTS_1_11",
    "RECORD_LISTS",
    "SEGMENT_CODES",
    "STREAMS",
]

_ID = {"state_handle_id": Part.UTF}
_GROUPS = {"groups": Part.KEY_GROUP_OFFSETS, "delegate": Part.STREAM}
_SNAPSHOT = {
    "checkpoint_id": Part.I8,
    "backend_id": Part.UTF,
    "groups": Part.KEY_GROUP_RANGE,
}
_FILES = {"meta": Part.STREAM, "shared": Part.NAMED_STREAMS, "private": Part.NAMED_STREAMS}
_RANGE = {"groups": Part.KEY_GROUP_RANGE}
_SIZED = {"checkpointed_size": Part.I8}
_BOTH = {"materialized": Part.KEYED_LIST, "increments": Part.INCREMENTS}
_CHANGES = {
    **_RANGE,
    "from_sequence": Part.I8,
    "to_sequence": Part.I8,
    "changes": Part.CHANGES,
}
_CHANGE_FILES = {**_RANGE, "files": Part.CHANGELOG_FILES, "size": Part.I8}
_CHANNEL = {
    "gate": Part.INDEX,
    "channel": Part.INDEX,
    "offsets": Part.LONGS,
    "size": Part.I8,
    "delegate": Part.STREAM,
}

_KEY_GROUPS = coded_layout(3, handles.KeyGroupsHandle, HandleKind.KEY_GROUPS, **_GROUPS)

STREAMS = {
    1: coded_layout(1, handles.BytesHandle, HandleKind.BYTES, name=Part.UTF, data=Part.BLOB),
    2: coded_layout(2, handles.FileHandle, HandleKind.FILE, size=Part.I8, path=Part.PATH),
    3: _KEY_GROUPS,
    6: coded_layout(
        6, handles.RelativeHandle, HandleKind.RELATIVE, name=Part.RELATIVE_NAME, size=Part.I8
    ),
    15: coded_layout(
        15,
        handles.SegmentHandle,
        HandleKind.SEGMENT,
        start=Part.I8,
        size=Part.I8,
        scope=Part.SCOPE,
        path=Part.PATH,
        logical_id=Part.UTF,
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
        materialization_id=Part.I8,
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
        storage=Part.UTF,
    ),
    14: coded_layout(
        14,
        handles.ChangelogHandle,
        HandleKind.CHANGELOG,
        **_RANGE,
        **_SIZED,
        **_BOTH,
        materialization_id=Part.I8,
        checkpoint_id=Part.I8,
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
        4, handles.OperatorHandle, HandleKind.OPERATOR, states=Part.STATES, delegate=Part.STREAM
    ),
    17: coded_layout(
        17,
        handles.MergedOperatorHandle,
        HandleKind.OPERATOR,
        states=Part.STATES,
        taskowned_directory=Part.DIRECTORY,
        shared_directory=Part.DIRECTORY,
        is_empty=Part.FLAG,
        delegate=Part.SEGMENT_STREAM,
    ),
}


def _plain_channel(code: int) -> Layout:
    return coded_layout(
        code, handles.ChannelHandle, HandleKind.CHANNEL, subtask=Part.INDEX, **_CHANNEL
    )


def _merged_channel(code: int) -> Layout:
    return coded_layout(
        code,
        handles.MergedChannelHandle,
        HandleKind.CHANNEL,
        subtask=Part.INDEX,
        size=Part.I8,
        delegate=Part.STREAM,
        channels=Part.CHANNELS,
    )


INPUTS = {1: _plain_channel(1), 3: _merged_channel(3)}
OUTPUTS = {2: _plain_channel(2), 4: _merged_channel(4)}
INPUTS_1_11 = {1: coded_layout(1, handles.ChannelHandle, HandleKind.CHANNEL, **_CHANNEL)}
OUTPUTS_1_11 = {2: coded_layout(2, handles.ChannelHandle, HandleKind.CHANNEL, **_CHANNEL)}

RECORD_LISTS = {
    Part.NAMED_STREAMS: layout_of(handles.NamedHandle, name=Part.UTF, handle=Part.STREAM),
    Part.CHANGES: layout_of(handles.ChangelogChange, key_group=Part.I4, change=Part.BLOB),
    Part.CHANGELOG_FILES: layout_of(handles.ChangelogFile, offset=Part.I8, handle=Part.STREAM),
    Part.STATES: layout_of(
        handles.OperatorState, name=Part.UTF, mode=Part.MODE, offsets=Part.LONGS
    ),
    Part.CHANNELS: layout_of(
        handles.Channel, gate=Part.INDEX, channel=Part.INDEX, size=Part.I8, offsets=Part.LONGS
    ),
}
"""Lists whose elements are plain records, each by its element's layout."""
