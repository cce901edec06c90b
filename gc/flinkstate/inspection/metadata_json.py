"""The JSON document of ``orphangc inspect`` for a metadata file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flinkstate.metadata.writer import channel_table_bytes
from flinkstate.state.referenced_files import absolute_path, directories_of, files_of
from flinkstate.values import handles
from flinkstate.values import metadata_values as model

_Document = dict[str, Any]
_KEY_GROUPS_SAVEPOINT = 7
_INPUT_CODES = (1, 3)
_DEFAULT_STORAGE = "filesystem"  # Flink's meaning of code 10, which names no storage


def describe(metadata: model.Metadata, *, directory: str) -> _Document:
    """Return the document: the content of the file, and the files and directories it names.

    Values equal those of Flink's own reader. Values that Flink invents because the file does not
    hold them (``state_handle_id`` and ``checkpointed_size`` of old handles) are null. ``files``
    holds each physical file once; its size is null if no handle states it, as for merged files
    with known segment sizes only. A state name that occurs twice in one operator handle shows its
    last entry, as in Flink's own map.

    Texts may hold lone surrogates: ``json.dumps`` can write them with ``ensure_ascii`` only.

    Args:
        directory: The directory of the metadata file, as the reader addresses it.

    Source: Flink 1.8-2.3, getters of ``CheckpointMetadata`` and the state handles.
    """
    scribe = _Scribe(directory)
    return {
        "format_version": metadata.format_version,
        "checkpoint_id": metadata.checkpoint_id,
        "directory": directory,
        "master_states": [
            {"name": state.name, "version": state.version, "bytes": state.payload.hex()}
            for state in metadata.master_states
        ],
        "operators": [scribe.operator(operator) for operator in metadata.operators],
        "properties": _properties(metadata.properties),
        "files": [
            {"path": file.path, "size": file.size, "kind": file.kind.value}
            for file in files_of(metadata, directory=directory)
        ],
        "directories": directories_of(metadata),
    }


def _properties(properties: model.CheckpointProperties | None) -> _Document | None:
    if properties is None:
        return None
    document = {
        "discardCancelled": properties.discard_cancelled,
        "discardFailed": properties.discard_failed,
        "discardFinished": properties.discard_finished,
        "discardSubsumed": properties.discard_subsumed,
        "discardSuspended": properties.discard_suspended,
        "forced": properties.forced,
        "unclaimed": properties.unclaimed,
        "type_class": properties.type_class,
        "type_name": properties.type_name,
    }
    if properties.is_savepoint:
        return document | {
            "formatType": properties.savepoint_format,
            "postCheckpointAction": properties.post_action,
        }
    return document | {"sharingFilesStrategy": properties.sharing_strategy}


@dataclass(frozen=True, slots=True)
class _Scribe:
    directory: str

    def operator(self, operator: model.Operator) -> _Document:
        coordinator = operator.coordinator
        return {
            "name": operator.name,
            "uid": operator.uid,
            "id": operator.id,
            "parallelism": operator.parallelism,
            "max_parallelism": operator.max_parallelism,
            "coordinator": self.handle(coordinator),
            "coordinator_state_bytes": 0 if coordinator is None else len(coordinator.data),
            "fully_finished": operator.is_fully_finished,
            "subtasks": [self.subtask(subtask) for subtask in operator.subtasks or ()],
        }

    def subtask(self, subtask: model.Subtask) -> _Document:
        if subtask.is_finished:
            return {"index": subtask.index, "finished": True}
        return {
            "index": subtask.index,
            "finished": False,
            "managed_operator": self.handle(subtask.managed_operator),
            "raw_operator": self.handle(subtask.raw_operator),
            "managed_keyed": self.handle(subtask.managed_keyed),
            "raw_keyed": self.handle(subtask.raw_keyed),
            "input_channel": [self.handle(handle) for handle in subtask.input_channels],
            "result_subpartition": [self.handle(handle) for handle in subtask.output_channels],
            "ref_checkpoint_id": subtask.ref_checkpoint_id,
        }

    def handle(self, handle: handles.Handle | None) -> _Document | None:
        return None if handle is None else _WRITERS[type(handle)](self, handle)

    def named(self, entries: tuple[handles.NamedHandle, ...]) -> list[list[Any]]:
        return [[entry.name, self.handle(entry.handle)] for entry in entries]


def _relative(scribe: _Scribe, handle: handles.RelativeHandle) -> _Document:
    return {
        "type": "relative",
        "relative": handle.name,
        "path": absolute_path(scribe.directory, handle.name),
        "size": handle.size,
    }


def _segment(_scribe: _Scribe, handle: handles.SegmentHandle) -> _Document:
    return {
        "type": "segment",
        "path": handle.path,
        "start": handle.start,
        "size": handle.size,
        "scope": handle.scope.name,
        "logical_id": handle.logical_id,
    }


def _key_groups(scribe: _Scribe, handle: handles.KeyGroupsHandle) -> _Document:
    is_savepoint = handle.code == _KEY_GROUPS_SAVEPOINT
    return {
        "type": "key-groups-savepoint" if is_savepoint else "key-groups",
        "start": handle.groups.first,
        "count": len(handle.groups.offsets),
        "offsets": list(handle.groups.offsets),
        "delegate": scribe.handle(handle.delegate),
        "state_handle_id": handle.state_handle_id,
    }


def _incremental(scribe: _Scribe, handle: handles.IncrementalHandle) -> _Document:
    return {
        "type": "incremental",
        "checkpoint_id": handle.checkpoint_id,
        "backend_id": handle.backend_id,
        "start": handle.groups.first,
        "count": handle.groups.count,
        "checkpointed_size": handle.checkpointed_size,
        "meta": scribe.handle(handle.meta),
        "shared": scribe.named(handle.shared),
        "private": scribe.named(handle.private),
        "state_handle_id": handle.state_handle_id,
    }


def _changelog(scribe: _Scribe, handle: handles.ChangelogHandle) -> _Document:
    return {
        "type": "changelog",
        "start": handle.groups.first,
        "count": handle.groups.count,
        "checkpointed_size": handle.checkpointed_size,
        "materialized": [scribe.handle(each) for each in handle.materialized],
        "non_materialized": [scribe.handle(each) for each in handle.increments],
        "materialization_id": handle.materialization_id,
        "checkpoint_id": handle.checkpoint_id,
        "state_handle_id": handle.state_handle_id,
    }


def _changelog_bytes(_scribe: _Scribe, handle: handles.ChangelogBytesHandle) -> _Document:
    return {
        "type": "changelog-bytes",
        "start": handle.groups.first,
        "count": handle.groups.count,
        "from": handle.from_sequence,
        "to": handle.to_sequence,
        "changes": [[each.key_group, each.change.hex()] for each in handle.changes],
        "state_handle_id": handle.state_handle_id,
    }


def _changelog_files(scribe: _Scribe, handle: handles.ChangelogFilesHandle) -> _Document:
    return {
        "type": "changelog-files",
        "start": handle.groups.first,
        "count": handle.groups.count,
        "handles": [[each.offset, scribe.handle(each.handle)] for each in handle.files],
        "size": handle.size,
        "checkpointed_size": handle.checkpointed_size,
        "state_handle_id": handle.state_handle_id,
        "storage": _DEFAULT_STORAGE if handle.storage is None else handle.storage,
    }


def _states(states: tuple[handles.OperatorState, ...]) -> _Document:
    return {
        state.name: {"mode": state.mode.name, "offsets": list(state.offsets)} for state in states
    }


def _merged_operator(scribe: _Scribe, handle: handles.MergedOperatorHandle) -> _Document:
    return {
        "type": "operator-merged",
        "states": _states(handle.states),
        "taskowned_dir": handle.taskowned_directory,
        "shared_dir": handle.shared_directory,
        "empty": handle.is_empty,
        "delegate": scribe.handle(handle.delegate),
    }


def _direction(code: int) -> str:
    return "input-channel" if code in _INPUT_CODES else "output-channel"


def _channel(scribe: _Scribe, handle: handles.ChannelHandle) -> _Document:
    return {
        "type": _direction(handle.code),
        "subtask": handle.subtask,
        "info": [handle.gate, handle.channel],
        "offsets": list(handle.offsets),
        "size": handle.size,
        "delegate": scribe.handle(handle.delegate),
    }


def _merged_channel(scribe: _Scribe, handle: handles.MergedChannelHandle) -> _Document:
    return {
        "type": f"{_direction(handle.code)}-merged",
        "subtask": handle.subtask,
        "size": handle.size,
        "delegate": scribe.handle(handle.delegate),
        "offsets_blob": channel_table_bytes(handle.channels).hex(),
        "infos": [
            [each.gate, each.channel, each.size, list(each.offsets)] for each in handle.channels
        ],
    }


_WRITERS: dict[type, Callable[[_Scribe, Any], _Document]] = {
    handles.BytesHandle: lambda _scribe, handle: {
        "type": "bytes",
        "name": handle.name,
        "data": handle.data.hex(),
    },
    handles.FileHandle: lambda _scribe, handle: {
        "type": "file",
        "path": handle.path,
        "size": handle.size,
    },
    handles.RelativeHandle: _relative,
    handles.SegmentHandle: _segment,
    handles.EmptySegmentHandle: lambda _scribe, _handle: {"type": "empty-segment"},
    handles.KeyGroupsHandle: _key_groups,
    handles.IncrementalHandle: _incremental,
    handles.ChangelogHandle: _changelog,
    handles.ChangelogBytesHandle: _changelog_bytes,
    handles.ChangelogFilesHandle: _changelog_files,
    handles.OperatorHandle: lambda scribe, handle: {
        "type": "operator",
        "states": _states(handle.states),
        "delegate": scribe.handle(handle.delegate),
    },
    handles.MergedOperatorHandle: _merged_operator,
    handles.ChannelHandle: _channel,
    handles.MergedChannelHandle: _merged_channel,
}
