"""Content of a Flink ``_metadata`` file as values, complete enough to write the same bytes."""

from dataclasses import dataclass
from enum import StrEnum

from flinkstate.values.handles import (
    BytesHandle,
    ChannelStateHandle,
    KeyedHandle,
    OperatorStateHandle,
)


class HandleKind(StrEnum):
    """Kinds of handles; Flink uses several codes for some of them."""

    BYTES = "bytes"
    FILE = "file"
    RELATIVE = "relative"
    SEGMENT = "segment"
    EMPTY_SEGMENT = "empty-segment"
    KEY_GROUPS = "key-groups"
    KEY_GROUPS_SAVEPOINT = "key-groups-savepoint"
    INCREMENTAL = "incremental"
    CHANGELOG = "changelog"
    CHANGELOG_BYTES = "changelog-bytes"
    CHANGELOG_FILES = "changelog-files"
    OPERATOR = "operator"
    DIRECTORY = "directory"
    CHANNEL = "channel"


class LayoutVariant(StrEnum):
    """Layout variants of version 3, in which two layouts changed without a new version.

    Source: Flink 1.11 and 1.14, ``ChannelStateHandleSerializer``, ``MetadataV2V3SerializerBase``.
    """

    FINAL = "final"
    FLINK_1_11 = "1.11"
    FLINK_1_14 = "1.14"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """State of one subtask; a finished subtask has no other state."""

    index: int
    is_finished: bool = False
    duration: int | None = None
    managed_operator: OperatorStateHandle | None = None
    raw_operator: OperatorStateHandle | None = None
    managed_keyed: KeyedHandle | None = None
    raw_keyed: KeyedHandle | None = None
    input_channels: tuple[ChannelStateHandle, ...] = ()
    output_channels: tuple[ChannelStateHandle, ...] = ()
    ref_checkpoint_id: int | None = None

    @property
    def has_in_flight_data(self) -> bool:
        """Return whether it holds in-flight records (unaligned checkpoint)."""
        return bool(self.input_channels or self.output_channels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """State of one operator; ``subtasks`` is None if the operator has fully finished."""

    name: str | None = None
    uid: str | None = None
    id: str
    parallelism: int
    max_parallelism: int
    chain_length: int | None = None
    coordinator: BytesHandle | None = None
    subtasks: tuple[Subtask, ...] | None

    @property
    def is_fully_finished(self) -> bool:
        """Return whether all subtasks have finished for ever."""
        return self.subtasks is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterState:
    """State of a hook on the JobManager, with an opaque payload."""

    version: int
    name: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointProperties:
    """How Flink treats the checkpoint; ``block`` is the original Java stream.

    ``type_class`` is ``CheckpointType`` (then ``sharing_strategy`` is set) or ``SavepointType``
    (then ``savepoint_format`` and ``post_action`` are).

    Source: Flink 1.16-2.3, ``CheckpointProperties``, ``CheckpointType``, ``SavepointType``.
    """

    discard_cancelled: bool
    discard_failed: bool
    discard_finished: bool
    discard_subsumed: bool
    discard_suspended: bool
    forced: bool
    unclaimed: bool
    type_class: str
    type_name: str
    sharing_strategy: str | None = None
    savepoint_format: str | None = None
    post_action: str | None = None
    block: bytes

    @property
    def is_savepoint(self) -> bool:
        """Return whether it is a savepoint: the user requested it, and Flink never discards it."""
        return self.type_class == "SavepointType"

    @property
    def is_of_a_stop(self) -> bool:
        """Return whether the job was stopped with this savepoint.

        Source: Flink 1.16-2.3, ``SavepointType.PostCheckpointAction``.
        """
        return self.post_action in {"SUSPEND", "TERMINATE"}

    @property
    def deleted_on(self) -> tuple[str, ...]:
        """Return the ends of the job upon which Flink deletes the checkpoint, and ``SUBSUMED``.

        Source: Flink 1.16-2.3, ``CheckpointProperties.discardOnJob*``.
        """
        flags = {
            "CANCELED": self.discard_cancelled,
            "FAILED": self.discard_failed,
            "FINISHED": self.discard_finished,
            "SUBSUMED": self.discard_subsumed,
            "SUSPENDED": self.discard_suspended,
        }
        return tuple(name for name, is_set in flags.items() if is_set)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFacts:
    """What one metadata file says of itself, its state aside.

    Attributes:
        format_version: Format version of the file, 2 to 7.
        is_savepoint: Whether it is a savepoint; None if the file has no properties.
        deleted_on: Ends of the job upon which Flink deletes the checkpoint, and ``SUBSUMED``; None
            if the file has no properties.
        is_of_a_stop: Whether the properties say that the job was stopped with this savepoint.
        is_unclaimed: Whether the properties say that Flink does not own it.
        operators: Ids of the operators of its job.
        stateful: Ids of those that have state in it.
    """

    checkpoint_id: int
    format_version: int
    is_savepoint: bool | None
    deleted_on: tuple[str, ...] | None = None
    is_of_a_stop: bool = False
    is_unclaimed: bool = False
    operators: frozenset[str] = frozenset()
    stateful: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """One whole ``_metadata`` file.

    ``properties`` is None below version 4, and if the file holds a Java null.
    """

    format_version: int
    checkpoint_id: int
    master_states: tuple[MasterState, ...]
    operators: tuple[Operator, ...]
    properties: CheckpointProperties | None = None
    variant: LayoutVariant = LayoutVariant.FINAL
