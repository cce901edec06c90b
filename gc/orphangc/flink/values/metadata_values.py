"""What a Flink ``_metadata`` file says, as values; enough to write the same bytes again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orphangc.flink.values.handles import (
    BytesHandle,
    ChannelStateHandle,
    KeyedHandle,
    OperatorStateHandle,
)


class HandleKind(StrEnum):
    """The kinds of things that a handle can be, however many codes Flink gave to each."""

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
    """Which reading of a version 3 file its bytes fit; two layouts changed without a new version.

    Source: Flink 1.11 and 1.14, ``ChannelStateHandleSerializer``, ``MetadataV2V3SerializerBase``.
    """

    FINAL = "final"
    FLINK_1_11 = "1.11"
    FLINK_1_14 = "1.14"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """The state of one parallel instance; ``is_finished`` leaves everything else empty."""

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
        """Whether records that were under way are kept with it (unaligned checkpoint)."""
        return bool(self.input_channels or self.output_channels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator's state; ``subtasks`` is None when the operator has fully finished."""

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
        """Whether no subtask will ever run again."""
        return self.subtasks is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterState:
    """What a hook on the JobManager keeps; the payload is opaque."""

    version: int
    name: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointProperties:
    """How Flink treats the checkpoint; ``block`` is the Java stream that says so.

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
        """Whether the user asked for it, so that Flink never discards it."""
        return self.type_class == "SavepointType"

    @property
    def is_of_a_stop(self) -> bool:
        """Whether the job was stopped with this savepoint, and did not merely write it.

        Source: Flink 1.16-2.3, ``SavepointType.PostCheckpointAction``.
        """
        return self.post_action in {"SUSPEND", "TERMINATE"}

    @property
    def deleted_on(self) -> tuple[str, ...]:
        """Return the ends of its job upon which Flink deletes it, and ``SUBSUMED``.

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
class Metadata:
    """One whole ``_metadata`` file.

    ``properties`` is None below version 4, and where the file holds a Java null instead.
    """

    format_version: int
    checkpoint_id: int
    master_states: tuple[MasterState, ...]
    operators: tuple[Operator, ...]
    properties: CheckpointProperties | None = None
    variant: LayoutVariant = LayoutVariant.FINAL
