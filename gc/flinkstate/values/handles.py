"""The state handles of a ``_metadata`` file as values, with Flink's codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class StateMode(IntEnum):
    """How Flink redistributes an operator state when the parallelism changes.

    Source: Flink 1.8-2.3, ``OperatorStateHandle.Mode``.
    """

    SPLIT_DISTRIBUTE = 0
    UNION = 1
    BROADCAST = 2


class SegmentScope(IntEnum):
    """Whether a merged file belongs to one checkpoint or to many.

    Source: Flink 1.20-2.3, ``CheckpointedStateScope``.
    """

    EXCLUSIVE = 0
    SHARED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesHandle:
    """State inside the metadata file; its name looks like a path but is no file."""

    name: str
    data: bytes
    code: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHandle:
    """A file by its absolute path; size in bytes, negative if unknown."""

    path: str
    size: int
    code: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeHandle:
    """A file in the directory that holds the metadata file; size in bytes."""

    name: str
    size: int
    code: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentHandle:
    """A segment of a merged file; start and size in bytes."""

    path: str
    start: int
    size: int
    scope: SegmentScope
    logical_id: str
    code: int = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptySegmentHandle:
    """An empty segment, which refers to no file."""

    code: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroupRange:
    """Consecutive key groups: the first one and their number."""

    first: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroupOffsets:
    """Consecutive key groups, with the byte offset of each into the delegate."""

    first: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroupsHandle:
    """Keyed state laid out by key group; codes 3, 7 (savepoint) and 12 (with id)."""

    groups: KeyGroupOffsets
    delegate: StreamHandle
    state_handle_id: str | None = None
    code: int


StreamHandle = (
    BytesHandle | FileHandle | RelativeHandle | SegmentHandle | EmptySegmentHandle | KeyGroupsHandle
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedHandle:
    """A file with the name that the state backend gives it on restore; the name is no reference."""

    name: str
    handle: StreamHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalHandle:
    """An incremental snapshot; codes 5 and 11 (with size and id).

    ``shared`` and ``private`` are sequences, because local names may repeat.
    """

    checkpoint_id: int
    backend_id: str
    groups: KeyGroupRange
    checkpointed_size: int | None = None
    meta: StreamHandle
    shared: tuple[NamedHandle, ...]
    private: tuple[NamedHandle, ...]
    state_handle_id: str | None = None
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogChange:
    """Changes of one key group; -1 is a change of the state's own metadata."""

    key_group: int
    change: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogBytesHandle:
    """Changes between two sequence numbers, inside the metadata file."""

    groups: KeyGroupRange
    from_sequence: int
    to_sequence: int
    changes: tuple[ChangelogChange, ...]
    state_handle_id: str | None = None
    code: int = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogFile:
    """A byte offset into a file of changes."""

    offset: int
    handle: StreamHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogFilesHandle:
    """Changes in files; codes 10 and 13 (with the storage's name)."""

    groups: KeyGroupRange
    files: tuple[ChangelogFile, ...]
    size: int
    checkpointed_size: int | None = None
    state_handle_id: str | None = None
    storage: str | None = None
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogHandle:
    """A materialized snapshot and later changes; codes 8 and 14 (with checkpoint id)."""

    groups: KeyGroupRange
    checkpointed_size: int | None = None
    materialized: tuple[KeyedHandle | None, ...]
    increments: tuple[ChangelogBytesHandle | ChangelogFilesHandle, ...]
    materialization_id: int | None = None
    checkpoint_id: int | None = None
    state_handle_id: str | None = None
    code: int


KeyedHandle = (
    KeyGroupsHandle
    | IncrementalHandle
    | ChangelogHandle
    | ChangelogBytesHandle
    | ChangelogFilesHandle
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """One operator state: byte offsets of its partitions in the delegate."""

    name: str
    mode: StateMode
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorHandle:
    """The operator states of a subtask."""

    states: tuple[OperatorState, ...]
    delegate: StreamHandle
    code: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedOperatorHandle:
    """Operator states in merged files; keeps two directories alive, even when empty."""

    states: tuple[OperatorState, ...]
    taskowned_directory: str
    shared_directory: str
    is_empty: bool
    delegate: StreamHandle
    code: int = 17


OperatorStateHandle = OperatorHandle | MergedOperatorHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHandle:
    """In-flight data of one channel; code 1 input, 2 output. No subtask in files of 1.11."""

    subtask: int | None = None
    gate: int
    channel: int
    offsets: tuple[int, ...]
    size: int
    delegate: StreamHandle
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The part of one channel in a merged channel handle; size in bytes."""

    gate: int
    channel: int
    size: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedChannelHandle:
    """In-flight data of many channels; code 3 input, 4 output."""

    subtask: int
    size: int
    delegate: StreamHandle
    channels: tuple[Channel, ...]
    code: int


ChannelStateHandle = ChannelHandle | MergedChannelHandle

Handle = StreamHandle | KeyedHandle | OperatorStateHandle | ChannelStateHandle
